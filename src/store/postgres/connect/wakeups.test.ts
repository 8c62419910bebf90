import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { deafProxy, socketFolder } from '../../../../test/support/deaf-proxy.ts';
import { freshDatabase } from '../../../../test/support/postgres.ts';
import { adminOf } from '../../../../test/support/postgres-contract.ts';
import { realWorld } from '../../../app/world.ts';
import type { World } from '../../../core/world.ts';
import { open as openApp, task } from '../../../index.ts';
import { openPostgres } from '../open.ts';
import type { PostgresStore } from '../store.ts';

const url = await freshDatabase('wakeups');
const admin = await adminOf(url);
const real = realWorld();
let schemas = 0;
/** Shorter timers are over in a moment. */
const LONG_MS = 100;

const newSchema = (): string => `w${schemas++}`;

async function open(t: TestContext, schema: string, more = '', world: World = real, at = url): Promise<PostgresStore> {
  const store = await openPostgres({ url: `${at}&schema=${schema}${more}`, world });
  t.after(() => store.close());
  return store;
}

/** The notices that a store receives, and a way to wait for them. */
function ears(
  t: TestContext,
  store: PostgresStore,
): { heard: (readonly number[] | undefined)[]; next: (n: number) => Promise<void> } {
  const heard: (readonly number[] | undefined)[] = [];
  t.after(store.watch({ wanted: () => true, onChange: (lanes) => void heard.push(lanes) }));
  const next = async (n: number): Promise<void> => {
    for (const until = performance.now() + 10_000; heard.length < n; await pause(5)) {
      assert.ok(performance.now() < until, `heard ${JSON.stringify(heard)} only`);
    }
  };
  return { heard, next };
}

async function push(store: PostgresStore, queue = 'mail', count = 1): Promise<number> {
  const [lane] = await store.laneIntern({ lanes: [{ queue, handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const id = (lane as { id: number }).id;
  const item = { lane: id, spec: spec as number, priority: 0, maxTries: 3, payload: '1' };
  for (let i = 0; i < count; i++) await store.taskPush({ items: [item] });
  return id;
}

test('a push in one process wakes a worker in another, long before it would have looked', async (t) => {
  const at = `${url}&schema=${newSchema()}`;
  const [pusher, worker] = [await openApp(at, { duties: false }), await openApp(at, { duties: false })];
  t.after(() => Promise.all([pusher.close(), worker.close()]));
  const ran = new Map<number, number>();
  const mail = task('mail', {
    run: async (n: unknown) => {
      ran.set(n as number, performance.now());
    },
  });
  await worker.worker({ tasks: [mail], slots: 1 }).start();
  await pause(300);
  const waits: number[] = [];
  for (let n = 0; n < 10; n++) {
    // Long enough for the worker to be at rest again; the polls come once a second.
    await pause(120);
    const pushed = performance.now();
    await pusher.push(mail, n as never);
    while (!ran.has(n)) await pause(1);
    waits.push((ran.get(n) as number) - pushed);
  }
  const middle = waits.toSorted((a, b) => a - b)[5] as number;
  t.diagnostic(`started ${Math.round(middle)} ms after the push was begun`);
  assert.ok(middle < 300, waits.map(Math.round).join(' '));
});

test('a store hears others and not itself, and which lanes it is about', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema)];
  const [own, others] = [ears(t, one), ears(t, two)];
  // The first notice of each is the general hint after it has begun to listen.
  await Promise.all([own.next(1), others.next(1)]);
  const lane = await push(one);
  await others.next(2);
  assert.deepEqual(others.heard, [undefined, [lane]]);
  await push(two);
  await own.next(2);
  assert.deepEqual(own.heard, [undefined, [lane]], 'nothing of what it did itself');
});

test('a task that is pushed alone is told with its own commit', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema)];
  const { heard, next } = ears(t, two);
  await next(1);
  await push(one);
  await next(2);
  const transactions = async (): Promise<number> => {
    const { rows } = await admin.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next');
    return Number(rows[0].next);
  };
  // The fewest of some: other tests use the server too.
  let fewest = Number.POSITIVE_INFINITY;
  for (let n = 3; n < 8; n++) {
    await pause(50); // The last notice is old.
    const before = await transactions();
    const lane = await push(one);
    await next(n);
    assert.deepEqual(heard[n - 1], [lane]);
    fewest = Math.min(fewest, (await transactions()) - before);
  }
  assert.equal(fewest, 1);
});

test('a push takes along what waits to be told', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema)];
  const { heard, next } = ears(t, two);
  await next(1);
  const last = await push(one, 'mail', 200);
  await push(one, 'post');
  await pause(100);
  assert.ok(heard.length < 150, `${heard.length} notices of 201 pushes`);
  const lanes = new Set(heard.flatMap((told) => told ?? []));
  assert.ok(lanes.has(last));
  assert.equal(lanes.size, 2);
});

test('a thousand pushes make few notices', async (t) => {
  const schema = newSchema();
  const store = await open(t, schema, '&pool=4');
  const client = await adminOf(url);
  t.after(() => client.end());
  let notices = 0;
  client.on('notification', () => notices++);
  await client.query(`LISTEN leasehold_${schema}`);
  const started = performance.now();
  await Promise.all(Array.from({ length: 10 }, () => push(store, 'mail', 100)));
  const ms = performance.now() - started;
  await pause(100);
  t.diagnostic(`${notices} notices for 1,000 pushes in ${Math.round(ms)} ms`);
  assert.ok(notices > 0);
  assert.ok(notices <= ms / 5 + 10, 'not more than one every 5 ms');
  assert.ok(notices < 600);
});

test('more lanes than a notice can name are told as any', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema)];
  const { heard, next } = ears(t, two);
  await next(1);
  const names = Array.from({ length: 300 }, (_, i) => ({ queue: `q${i}`, handler: 'send' }));
  const lanes = await one.laneIntern({ lanes: names });
  const [spec] = await one.specIntern({ specs: ['{}'] });
  const items = lanes.map(({ id }) => ({ lane: id, spec: spec as number, priority: 0, maxTries: 3, payload: '1' }));
  await one.taskPush({ items });
  await next(2);
  assert.equal(heard[1], undefined);
});

test('a listener whose session is ended listens again, and passes a general hint', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema, '&application_name=ended')];
  const { heard, next } = ears(t, two);
  await next(1);
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ended' AND query LIKE 'LISTEN%'`;
  assert.equal((await admin.query(sql)).rows.length, 1);
  await next(2);
  assert.deepEqual(heard, [undefined, undefined]);
  const lane = await push(one);
  await next(3);
  assert.deepEqual(heard[2], [lane]);
});

test('a listener whose network swallows everything notices, and listens again', { timeout: 60_000 }, async (t) => {
  const folder = socketFolder(url);
  if (folder === undefined) return t.skip('the server has no socket here');
  const proxy = await deafProxy(folder);
  t.after(() => proxy.close());
  const schema = newSchema();
  // Its timers run twenty times as fast: it probes the connection after half a second, and waits 5 s for an answer.
  const world: World = {
    ...real,
    timers: { ...real.timers, after: (ms, fn, how) => real.timers.after(ms / 20, fn, how) },
  };
  const direct = await open(t, schema);
  const through = url.replace(/host=[^&]*/, `host=${encodeURIComponent(proxy.folder)}`);
  const deaf = await open(t, schema, '&pool=1', world, through);
  const { heard, next } = ears(t, deaf);
  await next(1);
  proxy.goDeaf();
  const since = performance.now();
  await push(direct);
  await next(2);
  t.diagnostic(`noticed after ${Math.round(performance.now() - since)} ms`);
  assert.equal(heard[1], undefined, 'what was told meanwhile is unknown');
  const lane = await push(direct, 'other');
  await next(3);
  assert.deepEqual(heard[2], [lane]);
});

test('a process listens only while somebody in it waits', async (t) => {
  const schema = newSchema();
  // Its timers run two hundred times as fast: it checks every 50 ms whether a claim still waits.
  const world: World = {
    ...real,
    timers: { ...real.timers, after: (ms, fn, how) => real.timers.after(ms / 200, fn, how) },
  };
  const [one, two] = [await open(t, schema), await open(t, schema, '&application_name=lazy', world)];
  const listening = async (): Promise<boolean> => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'lazy' AND query ~ '^(LISTEN|SELECT 1$)'`;
    return (await admin.query(sql)).rows.length > 0;
  };
  const until = async (wanted: boolean): Promise<void> => {
    for (const end = performance.now() + 10_000; (await listening()) !== wanted; await pause(5)) {
      assert.ok(performance.now() < end, wanted ? 'it does not listen' : 'it still listens');
    }
  };
  let waits = false;
  const heard: (readonly number[] | undefined)[] = [];
  t.after(two.watch({ wanted: () => waits, onChange: (lanes) => void heard.push(lanes) }));
  await push(two);
  assert.equal(await listening(), false);
  waits = true;
  await push(two);
  await until(true);
  const lane = await push(one);
  for (const end = performance.now() + 10_000; !heard.some((lanes) => lanes?.includes(lane)); await pause(5)) {
    assert.ok(performance.now() < end, 'it hears nothing');
  }
  waits = false;
  await until(false);
  waits = true;
  await push(two);
  await until(true);
});

test('closing while it connects, listens or tells leaves nothing behind', async (t) => {
  const schema = newSchema();
  for (const wait of [0, 1, 5, 20]) {
    const store = await openPostgres({ url: `${url}&schema=${schema}&application_name=brief`, world: real });
    ears(t, store);
    void push(store).catch(() => {});
    await pause(wait);
    await store.close();
  }
  for (const until = performance.now() + 5000; ; await pause(20)) {
    const { rows } = await admin.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'brief'`);
    if (rows.length === 0) break;
    assert.ok(performance.now() < until, `${rows.length} sessions are left`);
  }
});

test('a store that is closed while it tells leaves no timer that keeps its process alive', async (t) => {
  const kept = new Set<unknown>();
  const world: World = {
    ...real,
    timers: {
      ...real.timers,
      after: (ms, run, options) => {
        const key = {};
        if (options?.unref !== true && ms >= LONG_MS) kept.add(key);
        const done = (): void => void kept.delete(key);
        const cancel = real.timers.after(
          ms,
          () => {
            done();
            run();
          },
          options,
        );
        return () => {
          done();
          cancel();
        };
      },
    },
  };
  const schema = newSchema();
  // Its last notice may have gone out before.
  for (let waited = false, tries = 1; !waited; tries++) {
    const store = await open(t, schema, '', world);
    await push(store, 'mail', 3);
    const closed = store.close();
    waited = kept.size > 0;
    await closed;
    assert.equal(kept.size, 0);
    assert.ok(tries < 50, 'it never waits for its last notice');
  }
});

test('dependents that one process has left for the stager are told to the others', async (t) => {
  const schema = newSchema();
  const [one, two] = [await open(t, schema), await open(t, schema)];
  const { next } = ears(t, two);
  let carried = 0;
  t.after(two.watch({ wanted: () => true, onChange: () => {}, onCarried: () => void carried++ }));
  // It tells of everything when it begins to listen.
  await next(1);
  const before = carried;
  const lane = await push(one);
  await next(2);
  assert.equal(carried, before, 'nothing was left');
  const [spec] = await one.specIntern({ specs: ['{}'] });
  const item = { lane, spec: spec as number, priority: 0, maxTries: 3, payload: '1', afterFailure: 'cancel' as const };
  const after = [{ item: 0, optional: false }];
  const dependents = Array.from({ length: 501 }, () => ({ ...item, after }));
  const answer = await one.graphPush({ items: [{ ...item, after: [] }, ...dependents] });
  assert.ok(answer.ok);
  await one.taskCancel({ tasks: [answer.tasks[0]?.task as number] });
  for (const until = performance.now() + 10_000; carried === before; await pause(5)) {
    assert.ok(performance.now() < until, 'it was not told');
  }
});
