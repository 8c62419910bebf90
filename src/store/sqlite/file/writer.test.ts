import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { World } from '../../../core/world.ts';
import { refusal } from '../../conformance/kit/scene.ts';
import { checkBooks, lookAt } from '../../conformance/kit/snapshot.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import type { ClaimAnswer, Grant } from '../../store.ts';
import { openSqlite } from '../open.ts';
import { migrate } from '../upkeep/migrate.ts';
import { type Connection, connect } from './connection.ts';
import { NamedFile } from './named-file.ts';
import { Writer } from './writer.ts';

const folder = tempFolder('writer');
let files = 0;

interface Rig {
  readonly file: string;
  readonly world: VirtualWorld;
  readonly writer: Writer;
  /** What was executed directly, such as BEGIN IMMEDIATE and COMMIT, in order. */
  readonly executed: string[];
  /** Everything in the table of the tests. */
  readonly rows: () => readonly string[];
  readonly put: (text: string) => (tx: { sql: unknown }) => string;
  readonly opened: () => number;
  /** Planned errors, each with the statement that fails. */
  readonly faults: { readonly at: 'BEGIN IMMEDIATE' | 'COMMIT'; readonly error: Error }[];
}

const sqliteError = (message: string, errcode: number): Error => Object.assign(new Error(message), { errcode });

/** A writer on a real file with one small table. */
function rig(t: TestContext, options: { busyDeadlineMs?: number } = {}): Rig {
  const file = join(folder, `${files++}.db`);
  const setup = new DatabaseSync(file);
  setup.exec('PRAGMA journal_mode = WAL; CREATE TABLE note (text TEXT)');
  migrate(setup);
  setup.close();
  const executed: string[] = [];
  const faults: Rig['faults'] = [];
  const world = new VirtualWorld();
  let opened = 0;
  const watched = (): Connection => {
    opened++;
    const connection = connect(file, 'full');
    const seen = (sql: string): void => {
      executed.push(sql);
      const fault = faults.findIndex(({ at }) => at === sql);
      if (fault !== -1) throw faults.splice(fault, 1)[0]?.error;
    };
    const exec = connection.db.exec.bind(connection.db);
    connection.db.exec = (sql: string) => {
      seen(sql);
      exec(sql);
    };
    const begin = (): void => {
      seen('BEGIN IMMEDIATE');
      connection.begin();
    };
    const commit = (): void => {
      seen('COMMIT');
      connection.commit();
    };
    return { ...connection, begin, commit };
  };
  const writer = new Writer({ file, world, connect: watched, busyDeadlineMs: options.busyDeadlineMs ?? 5000 });
  const steps = { wasSet: () => false, follow: () => false, forget: () => {} };
  writer.clock = { lease: () => 0, calendar: () => 0, steps };
  t.after(() => writer.close());
  const reader = new DatabaseSync(file);
  t.after(() => reader.close());
  return {
    file,
    world,
    writer,
    executed,
    rows: () =>
      reader
        .prepare('SELECT text FROM note ORDER BY rowid')
        .all()
        .map((row) => row.text as string),
    put: (text) => () => {
      writer.connection.db.prepare('INSERT INTO note VALUES (?)').run(text);
      return text;
    },
    opened: () => opened,
    faults,
  };
}

function otherWriter(t: TestContext, file: string): { begin(): void; commit(): void } {
  const db = new DatabaseSync(file, { timeout: 0 });
  t.after(() => db.close());
  return { begin: () => db.exec('BEGIN IMMEDIATE'), commit: () => db.exec('COMMIT') };
}

function first([answer]: readonly (ClaimAnswer | undefined)[]): Grant {
  const grant = answer?.grants[0];
  assert.ok(grant, 'there was nothing to claim');
  return grant;
}

const count = (texts: readonly string[], wanted: string): number => texts.filter((text) => text === wanted).length;

test('writes of one turn share one transaction, and each gets its own answer', async (t) => {
  const { writer, put, executed, rows } = rig(t);
  const answers = await Promise.all([writer.write('push', put('a')), writer.write('push', put('b'))]);
  assert.deepEqual(answers, ['a', 'b']);
  assert.deepEqual([count(executed, 'BEGIN IMMEDIATE'), count(executed, 'COMMIT')], [1, 1]);
  assert.deepEqual(rows(), ['a', 'b']);
});

test('a write is answered after its commit, when everybody can see it', async (t) => {
  const { writer, put, rows } = rig(t);
  const seen = writer.write('push', put('a')).then(() => rows());
  assert.deepEqual(await seen, ['a']);
});

test('within a transaction what frees comes before what takes, equals in the order of their calls', async (t) => {
  const { writer, put, rows } = rig(t);
  await Promise.all([
    writer.write('claim', put('claim 1')),
    writer.write('stage', put('stage')),
    writer.write('push', put('push 1')),
    writer.write('rest', put('rest')),
    writer.write('claim', put('claim 2')),
    writer.write('push', put('push 2')),
    writer.write('settle', put('settle')),
  ]);
  assert.deepEqual(rows(), ['settle', 'rest', 'push 1', 'push 2', 'stage', 'claim 1', 'claim 2']);
});

test('while another process writes, a write is tried again from the loop and never waits inside SQLite', async (t) => {
  const { file, writer, put, world, executed, rows } = rig(t);
  const other = otherWriter(t, file);
  other.begin();
  let answer: string | undefined;
  const started = performance.now();
  const write = writer.write('push', put('a')).then((text) => {
    answer = text;
  });
  await world.settle();
  assert.equal(count(executed, 'BEGIN IMMEDIATE'), 1, 'it was not tried at once');
  for (let tries = 2; tries <= 40; tries++) {
    const [wait] = world.waits;
    // 1 + random * min(8, 1 + i): short waits at first, and never longer ones than 9 ms.
    assert.ok(wait !== undefined && wait >= 1 && wait <= Math.min(9, tries), `a wait of ${wait} ms`);
    await world.advance(wait);
    assert.equal(count(executed, 'BEGIN IMMEDIATE'), tries);
  }
  assert.equal(answer, undefined);
  // 40 tries with SQLite's own busy timeout would have taken far longer.
  assert.ok(performance.now() - started < 2000);
  other.commit();
  await world.advance(9);
  await write;
  assert.equal(answer, 'a');
  assert.deepEqual(rows(), ['a']);
});

test('the wait between tries begins small again after a success', async (t) => {
  const { file, writer, put, world } = rig(t);
  const other = otherWriter(t, file);
  for (let round = 0; round < 2; round++) {
    other.begin();
    const write = writer.write('push', put('a'));
    await world.settle();
    assert.ok((world.waits[0] ?? 99) <= 2);
    await world.advance(200);
    other.commit();
    await world.advance(9);
    await write;
  }
});

test('a write that has waited until its deadline is refused as busy, and a younger one goes on', async (t) => {
  const { file, writer, put, world, rows } = rig(t, { busyDeadlineMs: 100 });
  const other = otherWriter(t, file);
  other.begin();
  const old = refusal(writer.write('push', put('old')));
  await world.advance(60);
  const young = writer.write('push', put('young'));
  await world.advance(60);
  assert.equal(await old, 'STORE_BUSY');
  other.commit();
  await world.advance(9);
  assert.equal(await young, 'young');
  assert.deepEqual(rows(), ['young']);
  assert.deepEqual(world.waits, []);
});

test('a write that throws fails alone: its neighbours commit, and none of them twice', async (t) => {
  const { writer, put, rows } = rig(t);
  const broken = (tx: { sql: unknown }): never => {
    put('half done')(tx);
    throw new Error('no');
  };
  const outcomes = await Promise.allSettled([
    writer.write('push', put('a')),
    writer.write('push', broken),
    writer.write('push', put('b')),
    writer.write('push', broken),
    writer.write('push', put('c')),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(rows(), ['a', 'b', 'c']);
});

test('a lone write that throws is told so, and leaves nothing', async (t) => {
  const { writer, put, rows } = rig(t);
  const broken = (tx: { sql: unknown }): never => {
    put('half done')(tx);
    throw new Error('no');
  };
  assert.equal(await refusal(writer.write('push', broken)), 'INTERNAL');
  await writer.write('push', put('next'));
  assert.deepEqual(rows(), ['next']);
});

test('a long transaction ends after its turn, and those that missed it go first in the next one', async (t) => {
  const { writer, put, world, rows, executed } = rig(t);
  const slow = (text: string) => (tx: { sql: unknown }) => {
    world.elapse(10);
    return put(text)(tx);
  };
  const order: string[] = [];
  const note = (text: string): void => void order.push(text);
  const first = writer.write('push', slow('slow')).then((text) => {
    note(text);
    // Arrives between the turns, and would be first by its rank.
    return writer.write('settle', put('settle')).then(note);
  });
  const late = [writer.write('stage', put('stage')).then(note), writer.write('claim', put('claim')).then(note)];
  await Promise.all([first, ...late]);
  assert.deepEqual(rows(), ['slow', 'stage', 'claim', 'settle']);
  assert.deepEqual(order, ['slow', 'stage', 'claim', 'settle']);
  assert.equal(count(executed, 'COMMIT'), 2);
});

test('a stream of writes that each use up a turn starves nobody', async (t) => {
  const { writer, put, world, rows } = rig(t);
  const stream: Promise<unknown>[] = [];
  const slow = (tx: { sql: unknown }): string => {
    world.elapse(10);
    if (stream.length < 20) stream.push(writer.write('settle', slow));
    return put('settle')(tx);
  };
  stream.push(writer.write('settle', slow));
  await writer.write('claim', put('claim'));
  assert.equal(rows().indexOf('claim'), 1);
  for (const write of stream) await write;
});

test('a fault of the file is tried on a new handle next time', async (t) => {
  const { writer, put, rows, opened } = rig(t);
  const readonly = (): never => {
    throw Object.assign(new Error('attempt to write a readonly database'), { errcode: 8 });
  };
  assert.equal(await refusal(writer.write('push', readonly)), 'STORE_READONLY');
  assert.equal(opened(), 2);
  await writer.write('push', put('a'));
  assert.deepEqual(rows(), ['a']);
});

test('a fault at the beginning of a transaction is tried once more, on a new handle', async (t) => {
  const { writer, put, rows, opened, faults } = rig(t);
  faults.push({ at: 'BEGIN IMMEDIATE', error: sqliteError('disk I/O error', 10) });
  assert.deepEqual(await Promise.all([writer.write('push', put('a')), writer.write('claim', put('b'))]), ['a', 'b']);
  assert.equal(opened(), 2);
  assert.deepEqual(rows(), ['a', 'b']);
});

test('a fault that stays is told to everybody who waits, and the next write tries anew', async (t) => {
  const { writer, put, rows, faults } = rig(t);
  const fault = { at: 'BEGIN IMMEDIATE', error: sqliteError('disk I/O error', 10) } as const;
  faults.push(fault, fault);
  const writes = [writer.write('push', put('a')), writer.write('claim', put('b'))].map(refusal);
  assert.deepEqual(await Promise.all(writes), ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
  assert.equal(await writer.write('push', put('c')), 'c');
  assert.deepEqual(rows(), ['c']);
});

test('a commit that fails leaves nothing, and those who shared it run again one by one', async (t) => {
  const { writer, put, rows, executed, faults } = rig(t);
  faults.push({ at: 'COMMIT', error: sqliteError('constraint failed', 19) });
  assert.deepEqual(await Promise.all([writer.write('push', put('a')), writer.write('push', put('b'))]), ['a', 'b']);
  assert.deepEqual(rows(), ['a', 'b']);
  assert.equal(count(executed, 'COMMIT'), 3);
});

test('a full disk refuses the write, keeps what was acknowledged, and takes writes again when there is room', async (t) => {
  const { writer, put, rows } = rig(t);
  await writer.write('push', put('kept'));
  const { db } = writer.connection;
  const pages = (db.prepare('PRAGMA page_count').get() as { page_count: number }).page_count;
  db.exec(`PRAGMA max_page_count = ${pages}`);
  const large = 'x'.repeat(100_000);
  const outcomes = await Promise.allSettled([writer.write('push', put(large)), writer.write('push', put('small'))]);
  assert.equal(outcomes[0].status === 'rejected' && outcomes[0].reason.code, 'STORE_FULL');
  assert.equal(outcomes[1].status, 'fulfilled', 'the small one was drawn into it');
  db.exec('PRAGMA max_page_count = 1000000');
  await writer.write('push', put(large));
  assert.deepEqual(rows(), ['kept', 'small', large]);
});

test('a read that meets a busy file is tried again, until its deadline', async (t) => {
  const { writer, world } = rig(t, { busyDeadlineMs: 100 });
  const busy = (): never => {
    throw Object.assign(new Error('database is locked'), { errcode: 261 });
  };
  let tries = 0;
  const read = writer.read(() => (++tries < 4 ? busy() : 'read'));
  await world.advance(50);
  assert.equal(await read, 'read');
  const hopeless = refusal(writer.read(busy));
  await world.advance(150);
  assert.equal(await hopeless, 'STORE_BUSY');
});

test('closing refuses what waits and what comes, takes its timer back, and may be done twice', async (t) => {
  const { file, writer, put, world, rows } = rig(t);
  const other = otherWriter(t, file);
  other.begin();
  const waiting = [refusal(writer.write('push', put('a'))), refusal(writer.write('claim', put('b')))];
  await world.advance(20);
  writer.close();
  writer.close();
  assert.deepEqual(await Promise.all(waiting), ['STORE_CLOSED', 'STORE_CLOSED']);
  assert.equal(await refusal(writer.write('push', put('c'))), 'STORE_CLOSED');
  assert.equal(await refusal(writer.read(() => 1)), 'STORE_CLOSED');
  assert.deepEqual(world.waits, []);
  other.commit();
  assert.deepEqual(rows(), []);
});

test('the longest time that a transaction kept the thread is known', async (t) => {
  const { writer, put, world } = rig(t);
  await writer.write('push', (tx) => {
    world.elapse(7);
    return put('a')(tx);
  });
  assert.equal(writer.longestMs, 7);
});

test('a task that is given back and claimed again in one transaction is told in that order, also behind late claims', async () => {
  // Each read of the clock takes 5 ms while `slow` is set, so that only one job fits into a turn.
  const virtual = new VirtualWorld();
  let slow = false;
  const world: World = {
    random: virtual.random,
    timers: virtual.timers,
    clock: {
      wall: virtual.clock.wall,
      monotonic: () => {
        if (slow) virtual.elapse(5);
        return virtual.clock.monotonic();
      },
    },
  };
  const store = await openSqlite({ file: 'memory:', world });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  assert.ok(lane && spec);
  const holder = await store.workerRegister({ name: 'w', incarnation: 'i', slots: 1, tags: [] });
  const item = { lane: lane.id, spec, priority: 0, maxTries: 9, payload: '1' };
  const claim = (): ReturnType<typeof store.taskClaim> =>
    store.taskClaim({ claims: [{ holder, ttlMs: 1000, max: 1, lanes: [{ lane: lane.id, max: 1 }] }] });
  await store.taskPush({ items: [item] });
  const grant = first(await claim());
  await store.taskPush({ items: [item] });

  slow = true;
  const push = store.taskPush({ items: [{ ...item, priority: -1 }] });
  const late = claim();
  await push;
  slow = false;
  const { task, attempt } = grant;
  const back = store.taskReturn({
    items: [{ task, attempt, change: 'retried', delayMs: 0, refund: false, bounced: false }],
  });
  const again = claim();
  await Promise.all([late, back]);
  const newer = first(await again);
  assert.deepEqual([newer.task, newer.attempt], [task, 2], 'the given-back task was not claimed again');
  checkBooks(await lookAt(store));
  await store.close();
});

test('signs of life that come by several timers of one turn share a commit, and go with whatever is written before', async (t) => {
  const { writer, executed, put, rows } = rig(t);
  const quiet = { quiet: true };
  // Between two timers microtasks run, as here.
  const first = writer.write('rest', put('one'), quiet);
  await Promise.resolve();
  const second = writer.write('rest', put('two'), quiet);
  await Promise.resolve();
  assert.deepEqual(executed, []);
  assert.deepEqual(await Promise.all([first, second]), ['one', 'two']);
  assert.deepEqual(executed, ['BEGIN IMMEDIATE', 'COMMIT']);
  const third = writer.write('rest', put('three'), quiet);
  await writer.write('rest', put('four'));
  assert.equal(await third, 'three');
  assert.equal(executed.length, 4);
  assert.deepEqual(rows(), ['one', 'two', 'three', 'four']);
});

test('a sign of life that was given before the close is written', async (t) => {
  const { writer, put, rows } = rig(t);
  const given = writer.write('rest', put('last'), { quiet: true });
  writer.close();
  assert.equal(await given, 'last');
  assert.deepEqual(rows(), ['last']);
});

test('only signs of life count as no change', async (t) => {
  const { writer, put } = rig(t);
  await writer.write('rest', put('one'), { quiet: true });
  assert.equal(writer.changes, 0);
  const quiet = writer.write('rest', put('two'), { quiet: true });
  await writer.write('rest', put('three'));
  await quiet;
  assert.equal(writer.changes, 1);
  assert.equal(writer.commits, 2);
});

test('a file is opened again when no older handle has it open, and once more if that fails', async (t) => {
  const { file, world } = rig(t);
  const handles: Connection[] = [];
  /** How many others were open at each try. */
  const openBefore: number[] = [];
  const open = (): Connection => {
    openBefore.push(handles.filter(({ db }) => db.isOpen).length);
    if ([5, 6].includes(openBefore.length)) throw sqliteError('unable to open database file', 14);
    const connection = connect(file, 'full');
    handles.push(connection);
    return connection;
  };
  const writer = new Writer({
    file,
    world,
    connect: open,
    named: (bytes) => new NamedFile(file, bytes),
    busyDeadlineMs: 5000,
  });
  t.after(() => writer.close());
  writer.clock = {
    lease: () => 0,
    calendar: () => 0,
    steps: { wasSet: () => false, follow: () => false, forget: () => {} },
  };
  const put = (text: string) => (): string => {
    writer.connection.db.prepare('INSERT INTO note VALUES (?)').run(text);
    return text;
  };
  const turnReadOnly = (): void => {
    const begin = (): void => {
      throw sqliteError('attempt to write a readonly database', 8);
    };
    Object.assign(handles.at(-1) as Connection, { begin });
  };
  turnReadOnly();
  assert.equal(await writer.write('rest', put('one')), 'one');
  assert.deepEqual(openBefore, [0, 1, 0]);
  // The last step fails: no handle is left, and the next write opens one.
  turnReadOnly();
  assert.equal(await refusal(writer.write('rest', put('two'))), 'STORE_READONLY');
  assert.equal(await refusal(writer.read(({ db }) => db.prepare('SELECT 1').get())), 'STORE_UNAVAILABLE');
  assert.equal(await writer.write('rest', put('three')), 'three');
  assert.deepEqual(openBefore, [0, 1, 0, 1, 0, 0, 0, 0]);
});
