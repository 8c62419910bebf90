/** Unacknowledged ends and logs, with a real node behind a test proxy. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import { makeWorker } from '../../app/worker.ts';
import { realWorld } from '../../app/world.ts';
import { fault } from '../../core/errors.ts';
import type { LogEntry } from '../../core/task/log.ts';
import { SILENT } from '../../engine/log.ts';
import type { Assignment, Hello, Link, Session, TurnEntry } from '../../protocol/link.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';
import { task } from '../define/task.ts';
import { HttpLink } from '../links/http-link.ts';
import { WsLink } from '../links/ws-link.ts';
import { TaskLog } from '../logs/task-log.ts';
import { Outbox } from './outbox.ts';
import { Spool } from './spool.ts';

const FOLDER = tempFolder('outbox');
let folders = 0;
const HELLO: Hello = { name: 'a', incarnation: 'one', slots: 8, tags: [], handlers: ['echo'], queues: undefined };
const LINKS = { WebSocket: WsLink, HTTP: HttpLink };

interface Rig {
  readonly node: NodeScene;
  readonly proxy: TcpProxy;
  readonly folder: string;
  readonly warnings: string[];
  readonly link: (kind: keyof typeof LINKS) => Link;
}

async function rig(t: TestContext, leaseMs = 30_000): Promise<Rig> {
  const node = await nodeScene(t, { leaseMs });
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const permissions = { handlers: ['play'], queues: ['children'], channels: ['heard'] };
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a', permissions } });
  const folder = join(FOLDER, String(++folders));
  const warnings: string[] = [];
  const warn = (message: string, fields?: object): void => void warnings.push(`${message} ${JSON.stringify(fields)}`);
  const options = { url: proxy.address, secret, world: realWorld(), log: { ...SILENT, warn }, spool: folder };
  return { node, proxy, folder, warnings, link: (kind) => new LINKS[kind](options) };
}

async function claimed(session: Session, { node }: Rig, count = 1): Promise<readonly Assignment[]> {
  for (let i = 0; i < count; i++) await node.engine.push({ queue: 'work', handler: 'echo', maxAttempts: 5 });
  return session.claim({ max: count, waitMs: 20_000, signal: new AbortController().signal });
}

const line = (seq: number, text = `line ${seq}`) => ({ seq, at: 5, stream: 'stdout', text }) as const;
const words = async ({ node }: Rig, { task: number }: Assignment): Promise<readonly string[]> =>
  (await node.engine.logs.read(number)).map(({ text }) => text);

/** Out of reach: connections break, and new ones get no answer. */
function sever({ proxy }: Rig): void {
  proxy.goDeaf();
  proxy.cut();
}

// At once, each with a node and a folder of its own: over HTTP they wait for requests that nobody answers.
describe('over each link', { concurrency: true }, () => {
  for (const kind of ['WebSocket', 'HTTP'] as const) {
    test(`${kind}: an end is on disk until it is answered, and then nothing is`, async (t) => {
      const it = await rig(t);
      const session = await it.link(kind).open(HELLO);
      t.after(() => session.close());
      const [lease] = (await claimed(session, it)) as [Assignment];
      const told = session.complete(lease, { secret: 'sesame' });
      assert.ok(readFileSync(join(it.folder, 'one', 'ends'), 'utf8').includes('sesame'), 'before it is said');
      await told;
      await session.close();
      assert.equal(existsSync(it.folder), false);
      assert.deepEqual(it.warnings, []);
    });

    test(`${kind}: what is said and ended while the node is out of reach is there when it is back, in order and once`, async (t) => {
      const it = await rig(t);
      const session = await it.link(kind).open(HELLO);
      t.after(() => session.close());
      const [lease, other] = (await claimed(session, it, 2)) as [Assignment, Assignment];
      await session.log(lease, [line(1)]);
      sever(it);
      // Each is taken without a word from the node, as many as there are.
      for (let seq = 2; seq <= 40; seq++) await session.log(lease, [line(seq)]);
      await session.log(other, [line(1, 'of the other')]);
      const told = Promise.all([session.complete(lease, 'done'), session.fail(other, 'no', { giveUp: true })]);
      assert.deepEqual(readdirSync(join(it.folder, 'one')).toSorted(), [
        'ends',
        `log-${lease.task}-1`,
        `log-${other.task}-1`,
      ]);
      it.proxy.heal();
      it.proxy.cut();
      assert.deepEqual(await told, [undefined, 'failed']);
      assert.deepEqual(
        await words(it, lease),
        Array.from({ length: 40 }, (_, i) => `line ${i + 1}`),
      );
      assert.deepEqual(await words(it, other), ['of the other']);
      assert.equal((await it.node.engine.get(lease.task))?.state, 'completed');
      await session.close();
      assert.equal(existsSync(it.folder), false);
    });

    test(`${kind}: what a process could not say the next one says for it, and the task does not run again`, async (t) => {
      const it = await rig(t);
      const first = await it.link(kind).open(HELLO);
      const [done, failed, spoke] = (await claimed(first, it, 3)) as [Assignment, Assignment, Assignment];
      sever(it);
      for (const lease of [done, spoke]) await first.log(lease, [line(1), line(2)]);
      const unheard = Promise.allSettled([first.complete(done, 'done'), first.fail(failed, 'no', { giveUp: true })]);
      await first.close();
      for (const { status } of await unheard) assert.equal(status, 'rejected');
      assert.match(it.warnings.at(-1) as string, /kept for the next start .*"ends":2/);
      it.proxy.heal();
      it.proxy.cut();
      const second = await it.link(kind).open({ ...HELLO, incarnation: 'two' });
      t.after(() => second.close());
      assert.match(it.warnings.at(-1) as string, /"delivered":2,"late":0/);
      const records = await Promise.all([done, failed, spoke].map((one) => it.node.engine.get(one.task)));
      assert.deepEqual(
        records.map((record) => [record?.state, record?.attempt, record?.result]),
        [
          ['completed', 1, '"done"'],
          ['failed', 1, '"no"'],
          ['running', 1, undefined],
        ],
      );
      for (const lease of [done, spoke]) assert.deepEqual(await words(it, lease), ['line 1', 'line 2']);
      assert.deepEqual(await second.renew([spoke]), ['lost'], 'leases are not inherited');
      await second.close();
      assert.equal(existsSync(it.folder), false);
    });
  }

  for (const kind of ['WebSocket', 'HTTP'] as const) {
    test(`${kind}: a turn that ends an attempt while the node is away is said by the next process, with all that it writes`, async (t) => {
      const it = await rig(t);
      const first = await it.link(kind).open(HELLO);
      const [done, failed, going] = (await claimed(first, it, 3)) as [Assignment, Assignment, Assignment];
      sever(it);
      const entries: readonly TurnEntry[] = [
        { key: 'v', kind: 'value', value: { n: 'ü' }, usage: { tokens: 7 } },
        { key: 'c', kind: 'child', child: { queue: 'children', handler: 'play', input: 1 } },
        { key: 's', kind: 'signal', channel: 'heard', body: 1 },
      ];
      const unheard = Promise.allSettled([
        first.turn(done, { entries, then: { go: 'complete', result: 'done' } }),
        first.turn(failed, { entries, then: { go: 'fail', error: 'no', giveUp: true } }),
        // Requests that end no attempt are not kept on disk.
        first.turn(going, { entries, then: { go: 'on' } }),
      ]);
      await first.close();
      for (const { status } of await unheard) assert.equal(status, 'rejected');
      assert.match(it.warnings.at(-1) as string, /kept for the next start .*"ends":2/);
      it.proxy.heal();
      it.proxy.cut();
      const second = await it.link(kind).open({ ...HELLO, incarnation: 'two' });
      t.after(() => second.close());
      assert.match(it.warnings.at(-1) as string, /"delivered":2,"late":0/);
      const { engine } = it.node;
      const records = await Promise.all([done, failed, going].map((one) => engine.get(one.task)));
      assert.deepEqual(
        records.map((record) => [record?.state, record?.attempt, record?.result]),
        [
          ['completed', 1, '"done"'],
          ['failed', 1, '"no"'],
          ['running', 1, undefined],
        ],
      );
      for (const { task: number } of [done, failed]) {
        // Entries of the same millisecond are listed by key.
        const written = (await engine.journal(number)).map(({ key, value, usage }) => [key, value, usage]);
        assert.deepEqual(written.at(-1), ['v', '{"n":"ü"}', '{"tokens":7}']);
        assert.deepEqual(
          written.map(([key]) => key),
          ['c', 's', 'v'],
        );
      }
      assert.deepEqual(await engine.journal(going.task), []);
      assert.equal((await engine.list({ queue: 'children', limit: 10 })).length, 2);
      await second.close();
      assert.equal(existsSync(it.folder), false);
    });
  }
});

test('ends that are said together are each on disk before, and what no node answered the next process says', async (t) => {
  const it = await rig(t);
  const first = await it.link('WebSocket').open(HELLO);
  const leases = await claimed(first, it, 4);
  const [one, two, ...unheard] = leases as [Assignment, Assignment, ...Assignment[]];
  const ends = join(it.folder, 'one', 'ends');
  const told = first.completeMany?.([one, two].map((lease, i) => ({ lease, result: `heard ${i}` })));
  assert.deepEqual(readFileSync(ends, 'utf8').match(/heard \d/g), ['heard 0', 'heard 1'], 'before they are said');
  assert.deepEqual(await told, [undefined, undefined]);
  assert.ok(!readFileSync(ends, 'utf8').includes('heard'), 'what was answered is not kept');
  sever(it);
  const lost = first.completeMany?.(unheard.map((lease, i) => ({ lease, result: i })));
  const refused = assert.rejects(lost as Promise<unknown>);
  await first.close();
  await refused;
  assert.match(it.warnings.at(-1) as string, /kept for the next start .*"ends":2/);
  it.proxy.heal();
  it.proxy.cut();
  const second = await it.link('WebSocket').open({ ...HELLO, incarnation: 'two' });
  t.after(() => second.close());
  assert.match(it.warnings.at(-1) as string, /"delivered":2,"late":0/);
  const records = await Promise.all(leases.map((lease) => it.node.engine.get(lease.task)));
  assert.deepEqual(
    records.map((record) => [record?.state, record?.attempt, record?.result]),
    ['"heard 0"', '"heard 1"', '0', '1'].map((result) => ['completed', 1, result]),
  );
});

test('what comes after its lease was taken back is refused, told of, and not kept', async (t) => {
  const it = await rig(t, 1000);
  const first = await it.link('WebSocket').open(HELLO);
  const [lease] = (await claimed(first, it)) as [Assignment];
  sever(it);
  first.complete(lease, 'late').catch(() => {});
  await first.close();
  // The reaper takes it back, and another worker has it.
  const worker = await it.node.engine.workers.register({ name: 'b', incarnation: 'b', slots: 1 });
  const [grant] = await it.node.engine.claim({ worker, max: 1, waitMs: 60_000 });
  assert.deepEqual([grant?.task, grant?.attempt], [lease.task, 2]);
  it.proxy.heal();
  it.proxy.cut();
  const second = await it.link('WebSocket').open({ ...HELLO, incarnation: 'two' });
  assert.match(it.warnings.at(-1) as string, new RegExp(`the end of ${lease.id}.* comes too late`));
  assert.deepEqual((await it.node.engine.get(lease.task))?.attempt, 2);
  assert.notEqual((await it.node.engine.get(lease.task))?.state, 'completed');
  await second.close();
  assert.equal(existsSync(it.folder), false);
});

test('a result of a task that reuses is kept for those like it by the next process too', async (t) => {
  const it = await rig(t);
  const first = await it.link('WebSocket').open(HELLO);
  const like = { queue: 'work', handler: 'echo', input: 7, reuse: true } as const;
  await it.node.engine.push(like);
  const [lease] = (await first.claim({ max: 1, waitMs: 20_000, signal: new AbortController().signal })) as [Assignment];
  sever(it);
  first.keep(lease, 'made').catch(() => {});
  await first.close();
  it.proxy.heal();
  it.proxy.cut();
  const second = await it.link('WebSocket').open({ ...HELLO, incarnation: 'two' });
  t.after(() => second.close());
  await it.node.engine.push(like);
  const [next] = (await second.claim({ max: 1, waitMs: 20_000, signal: new AbortController().signal })) as [Assignment];
  assert.equal((await second.reusable(next))?.result, '"made"');
});

test('a worker that speaks more than its memory holds while its node is away has all of it stored in the end', async (t) => {
  const it = await rig(t);
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const COUNT = 2000;
  const chatty = task('echo', {
    run: async (_input, ctx) => {
      started.resolve();
      await go.promise;
      // Four times the most that waits in memory, with a turn of the loop between the lines, so that the disk keeps up.
      for (let i = 0; i < COUNT; i++) {
        ctx.log(`${i} `.padEnd(500, 'x'));
        if (i % 100 === 99) await new Promise((resolve) => void setTimeout(resolve, 20));
      }
      return COUNT;
    },
  });
  const world = realWorld();
  const parts = { link: it.link('WebSocket'), world, log: SILENT, name: 'a' };
  const worker = makeWorker({ tasks: [chatty], name: 'a' }, parts);
  await worker.start();
  const pushed = await it.node.engine.push({ queue: 'work', handler: 'echo' });
  await started.promise;
  sever(it);
  go.resolve();
  const spilled = (): number => readdirSync(it.folder, { recursive: true }).length;
  const ended = async (): Promise<boolean> =>
    readdirSync(it.folder).some((name) =>
      readFileSync(join(it.folder, name, 'ends'), 'utf8').includes('task_complete'),
    );
  while (!existsSync(it.folder) || spilled() < 3 || !(await ended())) await new Promise(setImmediate);
  it.proxy.heal();
  it.proxy.cut();
  await worker.stop();
  const log: string[] = [];
  for (let after: { attempt: number; seq: number } | undefined; ; ) {
    const page = await it.node.engine.logs.read(pushed.task, { ...(after === undefined ? {} : { after }), limit: 500 });
    if (page.length === 0) break;
    log.push(...page.map(({ text }) => text));
    after = page.at(-1);
  }
  assert.deepEqual(
    log.map((text) => text.split(' ', 1)[0]),
    Array.from({ length: COUNT }, (_, i) => String(i)),
  );
  const record = await it.node.engine.get(pushed.task);
  assert.deepEqual([record?.state, record?.attempt], ['completed', 1]);
});

test('what does not fit on disk waits in memory, and all of it is stored in order when the node is back', async () => {
  const world = new VirtualWorld();
  const owner = { url: 'http://node', name: 'a', incarnation: 'one' };
  const spool = new Spool({ folder: join(FOLDER, String(++folders)), owner, maxLogBytes: 300_000 });
  let isUp = false;
  const stored: LogEntry[] = [];
  const outbox = new Outbox({
    spool,
    world,
    connected: () => isUp,
    send: async (ask) => {
      if (!isUp) throw fault('STORE_UNAVAILABLE');
      assert.ok(ask.type === 'task_progress');
      stored.push(...ask.logs);
    },
  });
  const lease = { task: 1, attempt: 1, token: 't' };
  const ship = (logs: readonly LogEntry[]): Promise<void> =>
    outbox.log({ type: 'task_progress', lease, logs: [...logs] });
  const log = new TaskLog({ ship, timers: world.timers, now: world.clock.wall, paceMs: 500 });
  const COUNT = 5000;
  const text = 'x'.repeat(200);
  for (let i = 0; i < COUNT; i++) {
    log.line('stdout', `${i} ${text}`);
    if (i % 100 === 99) await world.advance(100);
  }
  await world.advance(60_000);
  assert.equal(stored.length, 0, 'nobody was there');
  isUp = true;
  await world.advance(60_000);
  log.line('stdout', 'after');
  await world.advance(1000);
  outbox.close();
  assert.deepEqual(
    stored.map(({ seq }) => seq),
    stored.map((_, i) => i + 1),
  );
  const said = stored.filter(({ stream }) => stream === 'stdout').map((one) => one.text.split(' ', 1)[0]);
  assert.deepEqual([said.length - 1, said[0], said.at(-1)], [COUNT, '0', 'after']);
  const numbers = said.slice(0, -1).map(Number);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
});
