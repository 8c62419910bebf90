import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { scaled } from '../../../test/support/scale.ts';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { checkBooks, lookAt, type Snapshot } from '../../store/conformance/kit/snapshot.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { type ParkItem, parkAll, rememberAll } from '../../store/conformance/kit/turning.ts';
import { MoveOut } from '../../store/sqlite/upkeep/move-out.ts';
import { type Node, openNode } from '../node.ts';
import { realWorld } from '../world.ts';
import { upkeepOf } from './upkeep.ts';
import { moveBetween } from './upkeep-move.ts';

const folder = tempFolder('move');
const database = await freshDatabase('move');
let made = 0;

function places(): { readonly file: string; readonly from: string; readonly to: string } {
  const file = join(folder, `${made}.db`);
  return { file, from: `sqlite:${file}`, to: `${database}&schema=v${made++}` };
}

const quiet = { duties: false, housekeeping: false } as const;
const LONG = { text: 'ä\u0001"\\'.repeat(2000) };

/** One of everything that a store can hold. */
async function furnish({ engine }: Node): Promise<void> {
  const worker = await engine.workers.register({
    name: 'w',
    incarnation: 'i',
    slots: 9,
    tags: ['gpu'],
    handlers: ['h'],
  });
  await engine.workers.register({ name: 'idle', incarnation: 'j', slots: 1 });
  await engine.workers.beat({ worker, status: 'busy', metadata: { disk: '{"quoted"}' } });
  for (const priority of [-32_768, -1, 0, 1, 32_767]) await engine.push({ queue: 'ranks', handler: 'h', priority });
  await engine.push({ queue: 'later', handler: 'h', input: 1, delay: '1h', waitTimeout: '2h' });
  await engine.push({ queue: 'later', handler: 'h', waitTimeout: '2h' });
  await engine.push({ queue: 'mail', handler: 'send', input: LONG, unique: 'key "1"', op: 'op-1' });
  await engine.pause('held');
  const claim = async (queue: string, input: unknown = { n: 1 }) => {
    await engine.push({
      queue,
      handler: queue,
      input,
      unique: { key: `${queue}-key`, window: '1h' },
      retry: { baseMs: '1h' },
    });
    const [grant] = await engine.claim({ worker, max: 1, queues: [queue] });
    assert.ok(grant, queue);
    await engine.logs.append(grant, [
      { seq: 1, at: Date.now(), stream: 'stdout', text: 'a line\twith\\signs "and" ☃' },
      { seq: 2, at: Date.now(), stream: 'progress', text: '{"done":0.5}' },
    ]);
    return grant;
  };
  await engine.complete(await claim('completed', LONG), LONG);
  await engine.complete(await claim('short'), { fine: true });
  await engine.fail(await claim('failed'), new Error('gone\u0001 wrong'), { giveUp: true });
  await engine.fail(await claim('retried'), new Error('again'));
  await engine.release(await claim('released'));
  await engine.cancel((await claim('asked')).task);
  await claim('running');
  const { task } = await engine.push({ queue: 'cancelled', handler: 'h' });
  await engine.cancel(task);
  const again = await claim('revived');
  await engine.complete(again);
  await engine.retry(again.task);
  const { store } = engine;
  const { task: sleeper, attempt } = await claim('sleeping');
  const remember = (key: string, value: unknown) => ({ task: sleeper, attempt, key, value: JSON.stringify(value) });
  await rememberAll(store, [remember('short', 1), remember('long "1"', LONG)]);
  for (const body of ['1', '2']) await store.signalSend({ items: [{ channel: 'early', body, op: `signal-${body}` }] });
  const { task: taker, attempt: n } = await claim('taking');
  await parkAll(store, [
    { task: sleeper, attempt, key: 'approval', channel: 'a "channel"', form: '{"q":"?"}', timeoutMs: 1e9 },
    { task: taker, attempt: n, key: 'k', channel: 'early' },
  ]);
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'cron', handler: 'tick' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  await store.triggerPut({
    trigger: {
      name: 'nightly',
      lane: lane?.id ?? 0,
      spec: spec ?? 0,
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      missed: 'latest',
      priority: -7,
      maxTries: 2,
      payload: '{"x":1}',
      nextAt: 2e12,
    },
  });
  for (const name of ['reaper', 'pruner']) {
    const duty = await store.dutyTake({ name, holder: 'a', ttlMs: 1e9 });
    assert.ok(duty);
  }
}

/** Without what depends on the clock of the store. */
function comparable(snapshot: Snapshot): unknown {
  return {
    ...snapshot,
    tasks: snapshot.tasks.map(({ leaseUntil, log, attempts, payload, result, ...task }) => ({
      ...task,
      payload: JSON.parse(payload) as unknown,
      result: result === undefined ? undefined : (JSON.parse(result) as unknown),
      running: leaseUntil !== undefined,
      log,
      attempts,
    })),
    workers: snapshot.workers.map(({ seenAt: _seenAt, ...worker }) => worker),
  };
}

test('everything that the port shows is the same after the move, and the work goes on there', async () => {
  const { from, to } = places();
  const before = await openNode(from, quiet);
  await furnish(before);
  const snapshot = await lookAt(before.engine.store);
  checkBooks(snapshot);
  const ids = snapshot.tasks.map((task) => before.engine.idOf(task));
  const [last] = (await before.engine.list({ limit: 1 })) as readonly { readonly task: number }[];
  await before.close();

  const move = moveBetween(from, to);
  await move.rehearse();
  assert.deepEqual([move.view.tasks.running, move.view.tasks.waiting], [3, 1]);
  const steps: { done: number; total: number }[] = [];
  assert.equal(await move.run({ onMoved: (step) => steps.push(step) }), 'moved');
  assert.equal(steps.at(-1)?.done, steps.at(-1)?.total);

  const after = await openNode(to, quiet);
  const { engine } = after;
  const seen = await lookAt(engine.store);
  checkBooks(seen);
  assert.deepEqual(comparable(seen), comparable(snapshot));
  assert.deepEqual(
    seen.tasks.map((task) => engine.idOf(task)),
    ids,
    'public ids stay valid',
  );
  assert.deepEqual(
    ids.map((id) => engine.parseId(id)),
    snapshot.tasks.map(({ task }) => task),
  );

  const { lease } = await engine.store.clock();
  for (const { state, leaseUntil = 0, queue } of seen.tasks) {
    if (state !== 'running') continue;
    assert.ok(
      leaseUntil - lease > 20_000 && leaseUntil - lease <= 60_000,
      `${queue} has ${leaseUntil - lease} ms left`,
    );
  }
  const running = seen.tasks.find(({ queue }) => queue === 'running');
  assert.ok(running);
  assert.equal((await engine.renew(running)).held, true, 'nobody is robbed');
  await engine.complete({ task: running.task, attempt: running.attempt, spec: running.spec });
  // A waiting task is woken, and a kept signal is there for the next one.
  const sleeper = seen.tasks.find(({ queue }) => queue === 'sleeping')?.task;
  const send = (channel: string, body: string) => engine.store.signalSend({ items: [{ channel, body }] });
  assert.deepEqual(await send('a "channel"', '"yes"'), [{ woken: [sleeper] }]);
  assert.deepEqual(await send('early', '3'), [{ woken: [] }]);
  const taker = seen.tasks.find(({ queue }) => queue === 'taking');
  assert.ok(taker);
  for (const body of ['2', '3']) {
    const item: ParkItem = { task: taker.task, attempt: taker.attempt, key: body, channel: 'early' };
    assert.deepEqual(await parkAll(engine.store, [item]), [{ kind: 'woken', body }]);
  }
  // Keys and operation ids still work, and new numbers come after all old ones.
  const same = await engine.push({ queue: 'mail', handler: 'send', input: LONG, unique: 'key "1"', op: 'op-1' });
  assert.equal(same.fresh, false);
  const held = await engine.push({ queue: 'mail', handler: 'send', input: LONG, unique: 'key "1"' });
  assert.equal(held.task, same.task);
  const fresh = await engine.push({ queue: 'mail', handler: 'send' });
  assert.ok(fresh.task > (last?.task ?? Number.POSITIVE_INFINITY));
  const worker = await engine.workers.register({ name: 'new', incarnation: 'k', slots: 1 });
  assert.ok(worker > Math.max(...snapshot.workers.map((one) => one.worker)));
  const duty = await engine.store.dutyTake({ name: 'reaper', holder: 'b', ttlMs: 1000 });
  assert.equal(duty?.epoch, 2, 'the epoch of a duty grows on');
  const [first] = await engine.claim({ worker, max: 1, queues: ['ranks'] });
  assert.equal((await engine.get(first?.task ?? 0))?.priority, 32_767, 'in the same order');
  checkBooks(await lookAt(engine.store));
  await after.close();
});

test('a moved file refuses every process and names the new address; old programs refuse it too', async () => {
  const { file, from, to } = places();
  await (await openNode(from, quiet)).close();
  await moveBetween(from, to.replace('leasehold@', 'leasehold:geheim@')).run({});
  const moved = (error: unknown): boolean => {
    assert.ok(isEngineError(error, 'STORE_MOVED'), String(error));
    assert.match(error.message, /^The store was moved to postgres:\/\/leasehold@\S+&schema=v1, and/);
    assert.doesNotMatch(JSON.stringify(error), /geheim/);
    return true;
  };
  await assert.rejects(openNode(from, quiet), moved);
  await assert.rejects(upkeepOf(from).schema(), moved);
  await assert.rejects(
    upkeepOf(from).migrate(() => {}),
    moved,
  );
  await assert.rejects(upkeepOf(from).backup(join(folder, 'copy.db'), { force: false }), moved);
  assert.throws(() => moveBetween(from, to).view, moved);
  await assert.rejects(moveBetween(from, to).run({}), moved);
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT key, value FROM meta WHERE key IN ('compatible_from', 'cluster_key')").all();
  db.close();
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ key: 'compatible_from', value: '1000000' }],
  );
});

test('nothing moves while a process has the file open', async () => {
  const { from, to } = places();
  const node = await openNode(from, quiet);
  await node.engine.push({ queue: 'q', handler: 'h' });
  await moveBetween(from, to).rehearse();
  assert.equal(moveBetween(from, to).view.tasks.ready, 1, 'a rehearsal stops nobody');
  assert.equal(await refusal(moveBetween(from, to).run({})), 'STORE_BUSY');
  await node.engine.push({ queue: 'q', handler: 'h' });
  await node.close();
  assert.equal(await moveBetween(from, to).run({}), 'moved');
});

test('a target that is not empty is refused, and the file stays a store', async () => {
  const { from, to } = places();
  await (await openNode(from, quiet)).close();
  const other = await openNode(to, quiet);
  await other.engine.push({ queue: 'theirs', handler: 'h' });
  await other.close();
  assert.equal(await refusal(moveBetween(from, to).rehearse()), 'CONFLICT');
  assert.equal(await refusal(moveBetween(from, to).run({})), 'CONFLICT');
  await (await openNode(from, quiet)).close();
  const theirs = await openNode(to, quiet);
  assert.equal((await theirs.engine.stats('theirs')).ready, 1);
  await theirs.close();
});

test('a schema that a node works on is refused, one that was only opened is not', async () => {
  const { from, to } = places();
  await (await openNode(from, quiet)).close();
  const node = await openNode(to, { housekeeping: false });
  await node.roster.tick('reaper');
  assert.equal(await refusal(moveBetween(from, to).run({})), 'CONFLICT');
  await node.close();
  assert.equal(await moveBetween(from, to).run({}), 'moved');
});

test('an aborted move leaves the store as it was, and an empty target', async () => {
  const { from, to } = places();
  const node = await openNode(from, quiet);
  for (let i = 0; i < 3; i++)
    await node.engine.pushMany(Array.from({ length: 1000 }, () => ({ queue: 'q', handler: 'h' })));
  await node.close();
  const stop = new AbortController();
  const why = new Error('enough');
  const running = moveBetween(from, to).run({ signal: stop.signal, onMoved: () => stop.abort(why) });
  await assert.rejects(running, (error) => error === why);
  const again = await openNode(from, quiet);
  assert.equal((await again.engine.stats('q')).ready, 3000);
  await again.close();
  assert.equal(await moveBetween(from, to).run({}), 'moved');
});

test('a move that was killed before its end is done again, and one that had arrived is recognised', async () => {
  const { file, from, to } = places();
  const node = await openNode(from, quiet);
  await node.engine.push({ queue: 'q', handler: 'h' });
  await node.close();
  // Killed after the mark was written.
  MoveOut.begin(file, to, realWorld().clock).close();
  assert.equal(await refusal(openNode(from, quiet)), 'STORE_MOVED');
  assert.equal(await refusal(moveBetween(from, `${to}x`).run({})), 'STORE_MOVED');
  assert.equal(moveBetween(from, to).view.tasks.ready, 1);
  assert.equal(await moveBetween(from, to).run({}), 'moved');
  // Killed between the commit and the last mark.
  const db = new DatabaseSync(file);
  db.exec("DELETE FROM meta WHERE key = 'move_ended'");
  db.close();
  const used = await openNode(to, quiet);
  await used.engine.push({ queue: 'q', handler: 'h' });
  await used.close();
  assert.equal(await moveBetween(from, to).run({}), 'arrived');
  const after = await openNode(to, quiet);
  assert.equal((await after.engine.stats('q')).ready, 2);
  await after.close();
  assert.equal(await refusal(openNode(from, quiet)), 'STORE_MOVED');
});

test('a move that cannot work is refused before anything is touched', async () => {
  const { from, to } = places();
  for (const [a, b] of [
    ['memory:', to],
    ['work.db', to],
    [to, to],
    [from, from],
  ] as const) {
    assert.throws(
      () => moveBetween(a, b),
      (error) => isEngineError(error, 'INVALID_INPUT'),
    );
  }
  assert.throws(
    () => moveBetween(from, to),
    (error) => isEngineError(error, 'NOT_FOUND'),
  );
  await (await openNode(from, quiet)).close();
  const nowhere = 'postgres://me:geheim@127.0.0.1:1/none';
  assert.equal(await refusal(moveBetween(from, nowhere).run({})), 'STORE_UNAVAILABLE');
  await (await openNode(from, quiet)).close();
});

test('a restored store, whose attempts are beyond 32 bits, moves with them', async () => {
  const { from, to } = places();
  const node = await openNode(from, quiet);
  const { task } = await node.engine.push({ queue: 'q', handler: 'h' });
  await node.close();
  const copy = join(folder, 'restored-from.db');
  await upkeepOf(from).backup(copy, { force: false });
  await upkeepOf(from).restore(copy, { force: true });
  await moveBetween(from, to).run({});
  const after = await openNode(to, quiet);
  const worker = await after.engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const [grant] = await after.engine.claim({ worker, max: 1 });
  assert.ok(grant !== undefined && grant.task === task && grant.attempt > 2 ** 31);
  await after.engine.complete({ task: grant.task, attempt: grant.attempt });
  await after.close();
});

test('many tasks move quickly', async (t) => {
  const { from, to } = places();
  const count = 2000 * scaled(10, 50);
  const node = await openNode(from, { ...quiet, durability: 'normal' });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1000 });
  for (let i = 0; i < count; i += 1000) {
    await engine.pushMany(Array.from({ length: 1000 }, (_, n) => ({ queue: 'q', handler: 'h', input: { n: i + n } })));
  }
  for (let i = 0; i < count / 2; i += 1000) {
    const grants = await engine.claim({ worker, max: 1000 });
    await Promise.all(grants.map((grant) => engine.complete(grant, { fine: true })));
  }
  await node.close();
  const startedAt = performance.now();
  await moveBetween(from, to).run({});
  const tookMs = performance.now() - startedAt;
  t.diagnostic(`${count} tasks, half of them finished, moved in ${Math.round(tookMs)} ms`);
  assert.ok(tookMs < 60_000);
  const after = await openNode(to, quiet);
  assert.deepEqual((await after.engine.stats('q')).ready, count / 2);
  await after.close();
});

/** What a proxy does when the last COMMIT passes. */
type Mischief =
  | 'none'
  | 'swallow it'
  | 'swallow the answer'
  | 'swallow it and go down'
  | 'swallow the answer and go down';

/** A proxy between the move and the server. */
async function meddler(t: TestContext) {
  const { pathname, searchParams, hostname, port } = new URL(database.replace('@/', '@socket/'));
  const socket = searchParams.get('host');
  const target = socket === null ? { host: hostname, port: Number(port || 5432) } : { path: `${socket}/.s.PGSQL.5432` };
  const meddling = { mischief: 'none' as Mischief, down: false };
  const server = createServer((client) => {
    if (meddling.down) return void client.destroy();
    const upstream = connect(target);
    const end = (): void => void [client, upstream].map((one) => one.destroy());
    for (const one of [client, upstream]) one.on('error', end).on('close', end);
    upstream.pipe(client);
    client.on('data', (chunk) => {
      const { mischief } = meddling;
      if (mischief === 'none' || !chunk.includes('COMMIT')) return void upstream.write(chunk);
      meddling.mischief = 'none';
      meddling.down = mischief.endsWith('down');
      if (mischief.startsWith('swallow it')) return end();
      upstream.unpipe(client).once('data', end).resume();
      upstream.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const at = (server.address() as AddressInfo).port;
  return { meddling, url: `postgres://leasehold@127.0.0.1:${at}${pathname}` };
}

for (const [mischief, outcome] of [
  ['swallow the answer', 'moved'],
  ['swallow it', 'a store again'],
  ['swallow the answer and go down', 'arrived'],
  ['swallow it and go down', 'moved later'],
] as const) {
  test(`when the connection is lost at the last moment (${mischief}), there is one store and not two: ${outcome}`, async (t) => {
    const { from } = places();
    const node = await openNode(from, quiet);
    await node.engine.push({ queue: 'q', handler: 'h' });
    await node.close();
    const { meddling, url } = await meddler(t);
    const to = `${url}?schema=v${made - 1}`;
    const onMoved = ({ done, total }: { done: number; total: number }): void => {
      if (done === total) meddling.mischief = mischief;
    };
    const first = moveBetween(from, to).run({ onMoved });
    if (outcome === 'moved') assert.equal(await first, 'moved');
    else assert.equal(await refusal(first), 'STORE_UNAVAILABLE');
    if (outcome === 'a store again') await (await openNode(from, quiet)).close();
    else assert.equal(await refusal(openNode(from, quiet)), 'STORE_MOVED');
    meddling.down = false;
    if (outcome !== 'moved')
      assert.equal(await moveBetween(from, to).run({}), outcome === 'arrived' ? 'arrived' : 'moved');
    assert.equal(await refusal(openNode(from, quiet)), 'STORE_MOVED');
    const after = await openNode(to, quiet);
    assert.equal((await after.engine.stats('q')).ready, 1);
    await after.close();
  });
}
