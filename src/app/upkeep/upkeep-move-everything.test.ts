import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Client } from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { ticketOf } from '../../engine/pools.ts';
import type { WaitRequest } from '../../engine/settle/waits.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { LEFT_BEHIND, TRANSFERS } from '../../store/postgres/migrate/move-in-tables.ts';
import { task } from '../../worker/define/task.ts';
import { type App, open } from '../open.ts';
import { realWorld } from '../world.ts';
import { moveBetween } from './upkeep-move.ts';

// A store with a row in every table is moved: nothing is lost, nothing is changed, and the work goes on to its end.

const quiet = { duties: false, housekeeping: false } as const;
const HOUR = 3_600_000;
const LONG = 'ä"\\'.repeat(2000);

const file = join(tempFolder('move-everything'), 'work.db');
const [from, to] = [`sqlite:${file}`, `${await freshDatabase('move_everything')}&schema=moved`];

// Tasks that run on both sides.
const step = task('step', { run: (input) => input });
const fragile = task('fragile', { maxAttempts: 1, run: () => Promise.reject(new Error('gone wrong')) });
const limited = task('limited', { run: (input) => input });
const shy = task('shy', { run: () => 'here' });
const child = task('child', { run: () => 'grown up' });
const pair = task('pair', {
  run: async (_, ctx) => (await ctx.dependencies()).map(({ state, result }) => [state, result]),
});
const agent = task('agent', {
  async run(_, ctx) {
    const first = await ctx.step('think', () => LONG);
    const second = await ctx.step('count', () => 1);
    const { value: word } = await ctx.wait<string>('word', { signal: 'word' });
    const kept = await ctx.spawn(child, undefined);
    const { value } = await ctx.wait('children', { children: [kept] });
    const { value: verdict } = await ctx.wait('review', { approval: { title: 'Send "it"?', actions: ['go', 'stop'] } });
    return [first.length, second, word, value.map(({ result }) => result), verdict.action];
  },
});
const TASKS = [step, fragile, limited, shy, child, pair, agent];

interface Scene {
  /** Public ids. */
  readonly ids: Readonly<Record<string, string>>;
}

/** A row in every table of the schema, and of each kind. */
async function furnish(app: App): Promise<Scene> {
  const { engine } = app;
  const { store } = engine;
  const ids: Record<string, string> = {};
  const keep = (name: string, handle: { readonly id: string }): void => void (ids[name] = handle.id);
  await app.setLimit('pool', { concurrent: 9 }, 'ada');
  await app.setLimit('pool', { concurrent: 3, perKey: 1 }, 'bob');
  await app.setLimit('rated', { rate: { max: 1, window: '1h' }, cost: { max: 10, window: '1h', burst: 10 } });
  await app.setLimit('paused', { concurrent: 5 });
  await app.setLimit('removed', { concurrent: 1 });
  await app.removeLimit('removed', 'ada');
  await app.setWorker({ name: 'w', priority: 7, tags: ['gpu', 'site=berlin'] });
  await app.setWorker({ name: 'off', enabled: false });
  const worker = await engine.workers.register({
    takes: { holder: 'w of old', process: 'that has ended' },
    name: 'w',
    incarnation: 'i',
    slots: 99,
    tags: ['own'],
    version: '1.2.3',
    queues: TASKS.map(({ name }) => name),
    handlers: TASKS.map(({ name }) => name),
    priority: 1,
    address: '10.1.2.3',
    told: true,
  });
  await engine.workers.beat({ worker, ended: 7 });
  const claim = async (queue: string) => {
    const [grant] = await engine.claim({ worker, max: 1, queues: [queue] });
    assert.ok(grant, `nothing to claim in ${queue}`);
    return grant;
  };
  // One of each key runs, and one waits behind it.
  for (const n of [1, 2]) {
    for (const key of ['a', 'b "c"']) {
      keep(`${key} ${n}`, await app.push(limited, `${key} ${n}`, { limits: [{ name: 'pool', key }] }));
    }
  }
  await claim('limited');
  await claim('limited');
  for (const n of [1, 2]) {
    keep(`rated ${n}`, await app.push(step, n, { queue: 'limited', limits: [{ name: 'rated', cost: 4 }] }));
  }
  await engine.complete(await claim('limited'), 'before');
  keep('paused', await app.push(limited, 'later', { limits: ['paused'] }));
  await store.counterPause({ name: 'paused', key: '', forMs: HOUR });
  // Placed, and with a worker that is known.
  const placement = { requires: ['gpu'], only: ['w', 'other'], maxPerWorker: 9, affinity: 'home' };
  for (const n of [1, 2])
    keep(`shy ${n}`, await app.push(shy, undefined, { placement, fairness: { key: 'f', weight: 3 } }));
  await engine.complete(await claim('shy'), 'before');
  // Half done: one branch has ended, one runs, one has not begun.
  const graph = await app.pushGraph([
    { name: 'one', task: step, input: 1, queue: 'child' },
    { name: 'two', task: step, input: { LONG } },
    { name: 'both', task: pair, after: ['one', 'two'] },
    { name: 'later', task: pair, after: [{ on: 'both', optional: true }], afterFailure: 'run' },
    { name: 'bad', task: fragile },
    { name: 'skipped', task: step, after: ['bad'], afterFailure: 'fail' },
  ]);
  for (const [name, handle] of Object.entries(graph)) keep(name, handle);
  await engine.complete(await claim('child'), 1);
  await engine.fail(await claim('fragile'), new Error('gone wrong'));
  // More dependents than one settle handles, so that some are left to the stager.
  const many = await engine.pushGraph([
    { queue: 'step', handler: 'step', name: 'many' },
    ...Array.from({ length: 505 }, (_, n) => ({ queue: 'step', handler: 'step', input: n, after: ['many'] })),
  ]);
  const [first] = await engine.claim({ worker, max: 1, task: many[0]?.task ?? 0 });
  assert.ok(first);
  await engine.complete(first);
  // Writes a journal, and waits: once for a signal, once for a decision, once for a time.
  const parked = async (name: string, wait: WaitRequest) => {
    const handle = await app.push(agent, undefined);
    keep(name, handle);
    const grant = await claim('agent');
    assert.equal(grant.task, handle.task);
    const entries = [
      { key: 'think#0', value: LONG },
      { key: 'count#0', value: 1 },
    ];
    await engine.budgets.set(grant.task, { tokens: { soft: 5, hard: 100 }, calls: { hard: 9 } });
    const used = await engine.turn(grant, { entries, spend: [{ unit: 'tokens', amount: 7 }] });
    assert.deepEqual(used.budget, { soft: true });
    const { task: number, attempt } = grant;
    await store.resultKeep({
      items: [{ task: number, attempt, key: `of ${name}`, value: JSON.stringify(LONG), maxAgeMs: HOUR }],
    });
    assert.equal((await engine.turn(grant, { then: { go: 'park', ...wait } })).went, 'parked');
  };
  await parked('signalled', { key: 'word#0', channel: 'word' });
  await parked('asked', { key: 'other', form: { title: 'Send "it"?', actions: ['go', 'stop'] } });
  await parked('slept', { key: 'nap', timeout: '2h' });
  await app.signal('kept', { for: 'later' });
  // One token of each kind and end; the newest number is that of one that is gone.
  const token = { kind: 'secret', role: 'worker', name: 'w', prefix: 'lh_', by: 'ada "b"' } as const;
  const bearer = { ...token, kind: 'bearer', role: 'admin' } as const;
  const good = await store.tokenAdd({ token: { ...bearer, hash: 'of a bearer', ttlMs: HOUR } });
  await store.browserSessionAdd({ hash: 'of a session', began: { token: good.id }, ttlMs: HOUR, most: 9 });
  await store.browserSessionAdd({ hash: 'of an admin', began: { admin: 'mark' }, ttlMs: HOUR, most: 9 });
  await store.secretPin({ fingerprint: 'f00' });
  await store.settingSwap({ name: 'upgrade', before: undefined, value: '{"target":"0.2.0"}' });
  const { id } = await store.tokenAdd({ token: { ...bearer, hash: 'of a revoked one' } });
  await store.tokenRevoke({ id });
  await store.tokenAdd({ token: { ...token, kind: 'code', hash: 'of a code' } });
  await store.tokenAdd({ token: { ...token, kind: 'code', hash: 'of a used one' } });
  await store.tokenExchange({ hash: 'of a used one', token: { ...token, hash: 'of a secret' } });
  await store.nodeBeat({ id: 'n', incarnation: 'that vanished', first: true, wish: 'auto', stand: 'leader' });
  const document = { parent: undefined, user: 'ada "b"', body: '{"name":"Ä \\"x\\""}' };
  await store.documentWrite({ root: 'doc', version: 0, add: [{ id: 'doc', ...document }] });
  await store.viewPut({ view: { name: 'Ä "view"', screen: 'tasks', query: 'state=failed', by: 'ada' }, most: 500 });
  await store.schemaPut({ worker: 'box', schemas: [{ handler: 'send', schema: '{"title":"Ä"}' }] });
  await store.documentWrite({ root: 'doc', version: 1, change: [{ id: 'doc', dropped: true, ...document }] });
  // Plain tasks, a trigger and duties.
  keep('scheduled', await app.push(step, 1, { delay: '1h' }));
  keep('unique', await app.push(step, LONG, { unique: 'key "1"', op: 'op-1' }));
  const again = await app.push(fragile, 'again', { maxAttempts: 9 });
  keep('again', again);
  const failing = await claim('fragile');
  await engine.logs.append(failing, [{ seq: 1, at: Date.now(), stream: 'stdout', text: 'a line' }]);
  const file = { type: 'text/plain', size: 7, sha256: 'ab'.repeat(32) } as const;
  await engine.artifacts.begin(failing, { ...file, name: 'begun' });
  for (const name of ['Ä 1', 'two']) {
    const { id } = await engine.artifacts.begin(failing, { ...file, name, kind: 'log' }, { own: name === 'two' });
    await engine.artifacts.end(failing, id);
    if (name === 'two') await engine.artifacts.remove([id]);
  }
  await engine.fail(failing, new Error('once more'));
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'step', handler: 'step' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const payload = { payload: '1', nextAt: Date.now() + HOUR, priority: -7, maxTries: 2 };
  const cron = { cron: '0 3 * * *', timezone: 'Europe/Berlin', missed: 'latest' } as const;
  const what = { lane: lane?.id ?? 0, spec: spec ?? 0 };
  await store.triggerPut({ trigger: { name: 'nightly', ...what, ...cron, ...payload } });
  await store.triggerRun({ name: 'nightly', item: { ...what, payload: '1', priority: 0, maxTries: 2, delayMs: HOUR } });
  await store.triggerPause({ name: 'nightly' });
  const revision = await store.reactionPut({ name: 'hook', kind: 'webhook', body: '{"a":"Ä"}', cursor: 7 });
  const delivery = { key: 'd1', version: '1', keepMs: HOUR, about: 'one', detail: 'more', outcome: 'pushed' } as const;
  const pushed = { ...what, payload: '1', priority: 0, maxTries: 2, delayMs: HOUR };
  await store.reactionFire({ name: 'hook', revision, deliveries: [{ ...delivery, item: pushed, links: 2 }] });
  const audited = { actor: 'ada "b"', role: 'admin', token: 3, action: 'editLimit', target: 'Ä' } as const;
  const from = { face: 'ui', address: '10.0.0.1', request: 'r', before: '{"a":1}', by: 'someone' } as const;
  await store.auditEnd({
    id: await store.auditAdd({ ...audited, ...from, outcome: 'began' }),
    outcome: 'refused',
    status: 409,
    code: 'CONFLICT',
    after: '{"a":2}',
  });
  await store.tagAdd({ name: 'Ä=1', by: 'ada' });
  const sealed = { version: 1, sealed: 'Ä "s"', kind: 'fields', type: 'login' } as const;
  await store.credentialPut({ name: 'db', value: sealed, addWorkers: ['box'], addTags: ['gpu'], level: 'keyring' });
  const failed = { version: 1, status: 'failed', level: 'keyring', error: 'no "room"' } as const;
  assert.equal(await store.credentialAck({ worker: 'box', credential: 'db', ...failed }), true);
  await store.credentialSigner({ signer: { public: 'p', sealed: 's' } });
  await store.workerRegister({ name: 'gone', incarnation: 'gone', slots: 1, tags: [], host: 'box', staleMs: 1 });
  const reaper = await store.dutyTake({ name: 'test', holder: 'test', ttlMs: HOUR });
  assert.ok(reaper);
  for (let lost = 0, look = 0; lost === 0 && look < 1000; look++) {
    await new Promise(setImmediate);
    lost = (await store.workerReap({ duty: reaper, staleMs: HOUR })).length;
  }
  const own = { name: 'flow.start', ...what, ...cron, ...payload };
  const ran = { kind: 'graph', title: 'Ä', definition: 'w', labels: {} };
  await store.workflowPut({
    name: 'flow',
    revision: 0,
    enabled: true,
    triggers: [{ ...own, run: ran }],
    next: { definition: { hash: 'w', kind: 'graph', body: '{}' }, by: 'ada "b"', restored: undefined },
  });
  await engine.pools.put('papers', { policy: { max: 3 } });
  const tickets = ['a', 'b'].map((letter) => `tk-${letter.repeat(16)}.${letter.repeat(32)}`);
  const reserving = { name: 'papers', staleMs: HOUR, upTo: 3, ttlMs: HOUR, drain: [] };
  const decision = { course: '3 "work"', body: '{"want":3}' };
  await store.poolAct({ ...reserving, tickets: tickets.map(ticketOf), decision });
  const hired = { name: 'hired', incarnation: 'hired', slots: 1, ticket: tickets[0] as string };
  const drain = [await engine.workers.register(hired)];
  await store.poolAct({ ...reserving, tickets: [], decision: undefined });
  await store.poolAct({ ...reserving, tickets: [], drain, decision: undefined });
  await store.ticketNote({ id: 'tk-bbbbbbbbbbbbbbbb', error: 'no "host"' });
  const run = { name: 'Ä "run"', kind: 'machine', title: 't', fingerprint: 'f', definition: 'h', labels: { a: '"' } };
  const push = {
    task: { lane: lane?.id ?? 0, spec: spec ?? 0, priority: 0, maxTries: 1, payload: '1', delayMs: HOUR },
    run: { ...run, forkedFrom: 1 },
    definition: { hash: 'h', kind: 'machine', body: LONG },
  };
  const [made] = await store.runPush({ runs: [push] });
  assert.ok(made?.kind === 'made');
  await store.runNoteCancel({ task: made.task, why: 'no "use"', by: 'ada' });
  for (const name of ['reaper', 'pruner', 'feed']) await store.dutyTake({ name, holder: 'a', ttlMs: HOUR });
  return { ids };
}

type Cell = string | number | boolean | null;
type Row = Readonly<Record<string, Cell>>;

/** Reads both sides directly, without the code that moves them. */
async function tablesOf(side: 'sqlite' | 'postgres'): Promise<ReadonlyMap<string, readonly Row[]>> {
  const tables = new Map<string, readonly Row[]>();
  if (side === 'sqlite') {
    const db = new DatabaseSync(file, { readOnly: true });
    const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
    for (const { name } of names as { name: string }[]) {
      tables.set(name, db.prepare(`SELECT * FROM ${name}`).all() as unknown as Row[]);
    }
    db.close();
    return tables;
  }
  const client = new Client({ connectionString: to.replace(/[?&]schema=\w+/, '') });
  await client.connect();
  // Days are partitions of `done`.
  const { rows } = await client.query<{ relname: string }>(`SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'moved'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`);
  for (const { relname } of rows) {
    tables.set(relname, (await client.query<Row>(`SELECT * FROM moved.${relname}`)).rows);
  }
  await client.end();
  return tables;
}

const columnsOf = (rows: readonly Row[] | undefined): readonly string[] => Object.keys(rows?.[0] ?? {});

/** The same value has the same text: numbers come as texts from one side, booleans as numbers from the other. */
function plain(value: Cell | readonly Cell[] | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (Array.isArray(value)) return `[${value.join(',')}]`;
  return String(value);
}

/** Columns that use another clock or another form on the other side; the tests below and beside check them. */
const RETOLD: Readonly<Record<string, readonly string[]>> = {
  task: ['prio', 'lease_until', 'queue'],
  done: ['prio', 'queue'],
  trigger_def: ['prio'],
  worker: ['beat_at', 'leaving_at'],
  pools: ['up_at', 'down_at'],
  pool_tickets: ['made_at', 'expires_at', 'ended_at', 'idle_since'],
  duty: ['until', 'holder', 'epoch', 'cursor'],
  slot: ['tat', 'cost_tat', 'paused_until'],
  lane: ['slots'],
  journal: ['value'],
};

test('a store with a row of every kind moves whole, and its work goes on to the end', async (t) => {
  // Made under a clock that was set back later: lease time and calendar time differ.
  const { clock } = realWorld();
  const ahead = { monotonic: () => clock.monotonic(), wall: () => clock.wall() + 5 * HOUR };
  await (await open(from, { ...quiet, clock: ahead })).close();
  const before = await open(from, quiet);
  const { ids } = await furnish(before);
  const { lease: leaseBefore, calendar } = await before.engine.store.clock();
  assert.ok(leaseBefore - calendar > 4 * HOUR);
  const rated = await before.engine.limits.use('rated');
  await before.close();
  const here = await tablesOf('sqlite');
  for (const [table, rows] of here) {
    // Older programs write the last one.
    if (table !== 'meta' && table !== 'handler_schema')
      assert.notEqual(rows.length, 0, `the scene of this test has nothing in ${table}`);
  }
  assert.equal(await moveBetween(from, to).run({}), 'moved');
  const there = await tablesOf('postgres');

  await t.test('every table and column of both schemas is moved, or left behind for a reason', () => {
    const moved = new Set(TRANSFERS.map(({ table }) => table));
    for (const table of here.keys()) {
      assert.ok(moved.has(table) || LEFT_BEHIND.sqlite[table], `${table} of SQLite is neither moved nor left behind`);
    }
    for (const [table, rows] of here) {
      if (LEFT_BEHIND.sqlite[table] !== undefined) continue;
      const reads = TRANSFERS.filter(({ select }) => new RegExp(`FROM ${table}\\b`).test(select)).map(
        (one) => one.select,
      );
      for (const column of columnsOf(rows)) {
        const read = reads.some((select) => new RegExp(`\\b${column}\\b`).test(select));
        assert.ok(read || LEFT_BEHIND.sqlite[`${table}.${column}`], `nobody reads ${table}.${column} of SQLite`);
      }
    }
    for (const [table, rows] of there) {
      const own = TRANSFERS.filter((one) => one.table === table);
      if (LEFT_BEHIND.postgres[table] !== undefined) continue;
      assert.equal(own.length, 1, `${table} of Postgres is neither moved nor left behind`);
      const names = new Set(own[0]?.columns.map(({ name }) => name));
      assert.notEqual(columnsOf(rows).length, 0, `nothing arrived in ${table}`);
      for (const column of columnsOf(rows)) {
        const known = names.has(column) || LEFT_BEHIND.postgres[`${table}.${column}`];
        assert.ok(known, `nobody writes ${table}.${column} of Postgres`);
      }
    }
    for (const [side, tables] of [
      ['sqlite', here],
      ['postgres', there],
    ] as const) {
      for (const name of Object.keys(LEFT_BEHIND[side])) {
        const [table = '', column] = name.split('.');
        const found = column === undefined ? tables.has(table) : columnsOf(tables.get(table)).includes(column);
        assert.ok(found, `${name} is said to be left behind, but ${side} has none`);
      }
    }
  });

  await t.test('every row that both sides can have is the same on both', () => {
    for (const [table, rows] of there) {
      const source = table === 'done' ? 'task' : table;
      if (LEFT_BEHIND.postgres[table] !== undefined || !here.has(source)) continue;
      const both = columnsOf(rows).filter(
        (column) => columnsOf(here.get(source)).includes(column) && !RETOLD[table]?.includes(column),
      );
      const ended = ({ state }: Row): boolean => Number(state) >= 4;
      const own = (here.get(source) ?? []).filter(
        (row) => source !== 'task' || (Number(row.lane) > 0 && ended(row) === (table === 'done')),
      );
      const show = (some: readonly Row[]): readonly string[] =>
        some.map((row) => both.map((column) => `${column}=${plain(row[column])}`).join(' ')).sort();
      assert.deepEqual(show(rows), show(own), table);
    }
    const names = new Map((there.get('limit_def') ?? []).map(({ id, name }) => [id, plain(name)]));
    for (const row of there.get('slot') ?? []) {
      const name = names.get(row.def ?? 0);
      assert.equal(row.plain, name !== 'rated', `the slots of ${name}`);
    }
    const uses = (rows: readonly Row[] | undefined, column: string) =>
      (rows ?? []).map((row) => `${plain(row.id)} ${plain(row[column])}`).sort();
    assert.deepEqual(
      uses(there.get('lane'), 'uses'),
      uses(here.get('lane'), 'slots'),
      'what lanes take of which slots',
    );
  });

  const app = await open(to, { housekeeping: false });
  t.after(() => app.close({ drainMs: 0 }));
  const { engine } = app;

  await t.test('rates and pauses are as far from now as they were', async () => {
    const { now, counters } = await engine.store.counterGet({
      counters: (await engine.limits.use('rated')).map(({ id }) => id),
    });
    for (const [i, counter] of counters.entries()) {
      const was = rated[i];
      assert.ok(counter && was && was.tat > 0 && was.costTat > 0);
      // The move itself took some of the time.
      for (const [left, before] of [
        [counter.tat / 1000 - now, was.tat / 1000 - leaseBefore],
        [counter.costTat / 1000 - now, was.costTat / 1000 - leaseBefore],
      ] as const) {
        assert.ok(left <= before + 1 && left > before - 60_000, `${left} ms were ${before} ms`);
      }
    }
    const [paused] = await engine.limits.use('paused');
    assert.ok(paused && paused.pausedUntil > now + HOUR / 2 && paused.pausedUntil <= now + HOUR);
    assert.match((await app.explain(ids.paused ?? '')).summary, /paused/);
    assert.match((await app.explain(ids['rated 2'] ?? '')).summary, /rated/);
  });

  await t.test('limits, their history and the settings of workers hold as before', async () => {
    assert.deepEqual(
      (await app.limits()).map(({ name, active, revision, changedBy }) => [name, active, revision, changedBy]),
      [
        ['paused', 0, 1, ''],
        ['pool', 2, 2, 'bob'],
        ['rated', 0, 1, ''],
      ],
    );
    const history = await engine.limits.history('removed');
    assert.deepEqual(
      history.map(({ by, limit }) => [by, limit?.concurrent]),
      [
        ['ada', undefined],
        ['', 1],
      ],
    );
    assert.equal(await app.setLimit('fresh', { concurrent: 1 }), 1);
    assert.equal(await app.setLimit('pool', { concurrent: 3, perKey: 1 }), 3);
    const settings = await engine.store.workerSettings();
    assert.deepEqual(
      settings.map(({ name, priority, enabled }) => [name, priority, enabled]),
      [
        ['off', undefined, false],
        ['w', 7, true],
      ],
    );
    const [old] = await app.workers();
    assert.deepEqual(old?.tags, ['own', 'gpu', 'site=berlin']);
    assert.deepEqual([old?.priority, old?.version, old?.queues?.length], [7, '1.2.3', TASKS.length]);
  });

  await t.test('saved views are as they were', async () => {
    const [view] = await engine.store.viewList();
    assert.deepEqual([view?.name, view?.query, view?.by], ['Ä "view"', 'state=failed', 'ada']);
  });

  await t.test('documents are as they were, and new ones come after them', async () => {
    const { store } = engine;
    const [before] = await store.documentTree({ root: 'doc' });
    assert.deepEqual([before?.user, before?.dropped, before?.version], ['ada "b"', true, 2]);
    assert.equal(before?.body, '{"name":"Ä \\"x\\""}');
    const body = '{}';
    const add = [{ id: 'new', parent: undefined, user: undefined, body }];
    assert.equal((await store.documentWrite({ root: 'new', version: 0, add })).ok, true);
    const [after] = await store.documentTree({ root: 'new' });
    assert.ok((after?.number ?? 0) > (before?.number ?? 0));
  });

  await t.test('tokens that were good are still good, and no others are', async () => {
    const { store } = engine;
    const found = async (hash: string) => (await store.tokenFind({ hash }))?.by;
    for (const hash of ['of a bearer', 'of a secret', 'of a code']) assert.equal(await found(hash), 'ada "b"', hash);
    for (const hash of ['of a revoked one', 'of a used one']) assert.equal(await found(hash), undefined, hash);
    const token = { kind: 'secret', role: 'worker', name: 'w', hash: 'new', prefix: '', by: '' } as const;
    const next = await store.tokenExchange({ hash: 'of a code', token });
    const ids = (await store.tokenList()).map(({ id }) => id);
    assert.deepEqual([ids.length, ids[0]], [6, next?.id]);
  });

  await t.test('browsers are logged in, and nodes have the secret that they had', async () => {
    const { store } = engine;
    const began = async (hash: string) => (await store.browserSessionFind({ hash }))?.began;
    assert.deepEqual(await began('of an admin'), { admin: 'mark' });
    assert.equal('token' in ((await began('of a session')) ?? {}), true);
    assert.equal((await store.secretPin({}))?.fingerprint, 'f00');
    assert.equal(await store.settingRead({ name: 'upgrade' }), '{"target":"0.2.0"}');
    assert.ok(await store.browserSessionAdd({ hash: 'new', began: { admin: 'mark' }, ttlMs: HOUR, most: 9 }));
  });

  await t.test('runs have their names, definitions and reasons', async () => {
    const found = await engine.store.runFind({ name: 'Ä "run"' });
    assert.deepEqual([found?.labels, found?.forkedFrom, found?.cancelNote?.why], [{ a: '"' }, 1, 'no "use"']);
    assert.equal((await engine.store.definitionGet({ hash: found?.definition ?? '' }))?.body, LONG);
  });

  await t.test('results that were kept are found', async () => {
    const items = ['of asked', 'of nobody'].map((key) => ({ key, maxAgeMs: HOUR }));
    const [kept, none] = await engine.store.resultFind({ items });
    assert.deepEqual([JSON.parse(kept?.value ?? 'null'), none], [LONG, undefined]);
  });

  await t.test('the work goes on and ends', async () => {
    // The reaper gives back what ran when the old worker does not return; here it returns.
    for (const { task: number, attempt, spec, state } of await engine.list({ limit: 1000, states: ['running'] })) {
      assert.equal(state, 'running');
      await engine.complete({ task: number, attempt, spec }, 'by the old worker');
    }
    assert.deepEqual(
      (await app.limits()).map(({ active }) => active),
      [0, 0, 0, 0],
    );
    const worker = app.worker({ tasks: TASKS, slots: 20, name: 'w', tags: ['own'] });
    await worker.start();
    const of = (name: string) => app.handle(ids[name] ?? '');
    assert.deepEqual(await of('both').result(), [
      ['completed', 1],
      ['completed', { LONG }],
    ]);
    assert.equal(((await of('later').result()) as unknown[]).length, 1);
    assert.deepEqual([await of('bad').state(), await of('skipped').state()], ['failed', 'failed']);
    for (const name of ['a 2', 'b "c" 2']) assert.equal(await of(name).result(), name);
    assert.equal(await of('shy 2').result(), 'here');
    assert.equal(await of('unique').result(), LONG);
    // Parked tasks: the signal finds its task, children are made, the decision is asked for again and made.
    await app.signal('word', 'hello');
    const waitFor = async (id: string, key: string): Promise<void> => {
      for (;;) {
        if ((await app.approvals()).some((one) => one.id === id && one.key === key)) return;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await waitFor(ids.signalled ?? '', 'review#0');
    await app.decide(ids.signalled ?? '', { action: 'go', by: 'ada' });
    assert.deepEqual(await of('signalled').result(), [LONG.length, 1, 'hello', ['grown up'], 'go']);
    const asked = (await app.approvals()).find(({ id }) => id === ids.asked);
    assert.deepEqual([asked?.title, asked?.actions], ['Send "it"?', ['go', 'stop']]);
    assert.equal((await engine.waits.of(of('slept').task))?.outcome, 'open');
    assert.deepEqual((await app.signal('word', 'again')).woken, [], 'kept for the next');
    await worker.stop();
    // The dependents of the large family that its settle left are for the stager, which begins a while after the process.
    while ((await app.stats('step')).waiting > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  await t.test('budgets go on where they were', async () => {
    const { task: number } = app.handle(ids.slept ?? '');
    const none = { soft: undefined, taken: 0, spent: 0, waiting: 0 };
    assert.deepEqual(await engine.budgets.get(number), [
      { unit: 'tokens', soft: 5, hard: 100, taken: 7, spent: 7, waiting: 0 },
      { unit: 'calls', hard: 9, ...none },
    ]);
  });

  await t.test('the counters agree afterwards', async () => {
    const duty = await engine.store.dutyTake({ name: 'test', holder: 'the test', ttlMs: HOUR });
    assert.ok(duty);
    assert.deepEqual(await engine.store.counterAudit({ duty }), []);
    assert.deepEqual(await engine.store.statsAudit({ duty }), []);
  });
});
