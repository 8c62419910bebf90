import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Answer, messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { scaled } from '../../../test/support/scale.ts';
import { DirectLink } from '../../app/link/direct-link.ts';
import type { ServeOptions } from '../../app/serve.ts';
import { ROUTES } from '../../protocol/routes.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';

const EVENTS = '/api/v1/events';

/** Without polls: whatever arrives came by a wake-up. */
function scene(t: TestContext, options: Partial<ServeOptions> = {}): Promise<NodeScene> {
  return nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false, ...options });
}

const happen = async (
  { engine }: NodeScene,
  count: number,
  queue = 'q',
): Promise<readonly { id: string; task: number }[]> =>
  engine.pushMany(Array.from({ length: count }, () => ({ queue, handler: 'h' })));

type Messages = ReturnType<typeof messagesOf>;

async function stream(scene: NodeScene, query = '', lastEventId?: string): Promise<Messages> {
  const headers = scene.headers(lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } });
  const response = await fetch(scene.url(`${EVENTS}${query}`), { headers });
  assert.equal(response.status, 200);
  assert.match(String(response.headers.get('content-type')), /^text\/event-stream/);
  return messagesOf(response);
}

/** The next so many; each must have the form that the table says. */
async function next(messages: Messages, count: number): Promise<{ id: number; event: string; task: string }[]> {
  const seen: { id: number; event: string; task: string }[] = [];
  while (seen.length < count) {
    const { value } = await messages.next();
    assert.ok(value, `the stream ended after ${seen.length} of ${count}`);
    const data = ROUTES.streamEvents.answer.parse(value.data);
    assert.deepEqual([value.id, value.event], [String(data.seq), data.kind]);
    seen.push({ id: data.seq, event: data.kind, task: data.task ?? '' });
  }
  return seen;
}

const idsOf = async (messages: Messages, count: number): Promise<number[]> =>
  (await next(messages, count)).map(({ id }) => id);
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('without a position the stream begins now, and tells what happens to a task in order', async (t) => {
  const node = await scene(t);
  await happen(node, 5);
  const messages = await stream(node);
  const [pushed] = await happen(node, 1);
  assert.ok(pushed);
  await node.engine.cancel(pushed.task);
  const seen = await next(messages, 2);
  assert.deepEqual(seen, [
    { id: 6, event: 'created', task: pushed.id },
    { id: 7, event: 'cancelled', task: pushed.id },
  ]);
});

test('behind a position comes everything since, and what a browser says is newer than its address', async (t) => {
  const node = await scene(t);
  await happen(node, 20);
  assert.deepEqual(await idsOf(await stream(node, '?after=0'), 20), range(1, 20));
  assert.deepEqual(await idsOf(await stream(node, '?after=15'), 5), range(16, 20));
  assert.deepEqual(await idsOf(await stream(node, '', '17'), 3), range(18, 20));
  assert.deepEqual(await idsOf(await stream(node, '?after=3', '18'), 2), [19, 20]);
  assert.deepEqual(await idsOf(await stream(node, '?after=15', ''), 5), range(16, 20));
});

test('a position that is none is refused, and so is a filter that nothing can pass', async (t) => {
  const node = await scene(t);
  for (const query of [
    'after=-1',
    'after=x',
    'after=1.5',
    'after=',
    'after=1&after=2',
    'after=99999999999999999999',
    'task=nonsense',
    'task=7',
    'kind=complete',
    'queue=NO NAME',
    'limit=5',
  ]) {
    const answer = await node.ask(`${EVENTS}?${query}`);
    assert.equal(answer.status, 400, query);
  }
  for (const id of ['x', '-1', '1.5', '9'.repeat(16)]) {
    const answer = await node.ask(EVENTS, { headers: { 'last-event-id': id } });
    assert.equal(answer.status, 400, id);
    assert.match(answer.body.error.message, /Last-Event-ID/);
  }
});

test('many readers who come, leave and come back anywhere hear every event once while they are written', async (t) => {
  const node = await scene(t);
  const total = scaled(1000, 10_000);
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  let written = 0;
  /** Reads from a random place to the end, leaving and coming back at random. */
  const reader = async (): Promise<void> => {
    const from = random(written + 1);
    const seen: number[] = [];
    while (from + seen.length < total) {
      const at = String(from + seen.length);
      const messages = random(2) === 0 ? await stream(node, `?after=${at}`) : await stream(node, '?after=0', at);
      const stay = Math.min(1 + random(total / 3), total - from - seen.length);
      seen.push(...(await idsOf(messages, stay)));
      await messages.return(undefined);
    }
    assert.deepEqual(seen, range(from + 1, total));
  };
  const readers: Promise<void>[] = [];
  while (written < total) {
    const count = Math.min(1 + random(40), total - written);
    if (readers.length < 12) readers.push(reader());
    await happen(node, count);
    written += count;
  }
  await Promise.all(readers);
  assert.equal(readers.length, 12);
});

test('a stream is narrowed by tasks, queues and kinds', async (t) => {
  const node = await scene(t);
  const [a, b] = [await happen(node, 3, 'a'), await happen(node, 3, 'b')];
  for (const { task } of [...a, ...b]) await node.engine.cancel(task);
  const seen = async (query: string, count: number): Promise<string> =>
    (await next(await stream(node, `?after=0&${query}`), count))
      .map(({ id, event }) => `${id}${event.slice(0, 2)}`)
      .join(' ');
  assert.equal(await seen('queue=a', 6), '1cr 2cr 3cr 7ca 8ca 9ca');
  assert.equal(await seen('queue=b&kind=cancelled', 3), '10ca 11ca 12ca');
  assert.equal(await seen('queue=a&queue=b&kind=created', 6), '1cr 2cr 3cr 4cr 5cr 6cr');
  assert.equal(await seen(`task=${a[0]?.id}&task=${b[2]?.id}`, 4), '1cr 6cr 7ca 12ca');
});

test('who is below what is kept, or ahead of everything, is told to start over and hears the rest', async (t) => {
  const node = await scene(t);
  await happen(node, 3);
  const ahead = await stream(node, '?after=424242');
  assert.deepEqual((await ahead.next()).value, { id: '3', event: 'reset', data: { last: 3 } });
  await happen(node, 1);
  assert.deepEqual(await idsOf(ahead, 1), [4]);
});

test('after a pruning a stream from before it says reset, whatever it is narrowed to', async (t) => {
  const [world, store] = [new VirtualWorld(), `sqlite:${join(tempFolder('events'), 'pruned.db')}`];
  const first = await scene(t, { world, store });
  const { engine } = first;
  for (const { task } of await happen(first, 20)) await engine.cancel(task);
  world.elapse(2 * 3_600_000);
  await happen(first, 4);
  const duty = await engine.store.dutyTake({ name: 'pruner', holder: 'test', ttlMs: 60_000 });
  assert.ok(duty);
  while (!(await engine.store.taskPrune({ duty, retentionMs: 3_600_000, limit: 100 })).done);
  // Another node on the same file, which has read nothing yet.
  const node = await scene(t, { world, store });
  for (const query of ['?after=5', '?after=5&queue=q', '?after=5&kind=created']) {
    const messages = await stream(node, query);
    assert.deepEqual((await messages.next()).value, { id: '40', event: 'reset', data: { last: 40 } }, query);
    assert.deepEqual(await idsOf(messages, 4), range(41, 44));
  }
});

/** A reader that takes the beginning of its stream and nothing more. */
async function stalledReader(t: TestContext, node: NodeScene): Promise<Socket> {
  const { hostname, port } = new URL(node.service.address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  socket.write(`GET ${EVENTS}?after=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${node.admin}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

test('readers that take nothing cost no memory and hold nobody up', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const used = (): number => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const node = await scene(t);
  const [rounds, perRound, queue] = [scaled(20, 100), 5000, 'q'.repeat(63)];
  await happen(node, perRound, queue);
  for (let i = 0; i < 10; i++) await stalledReader(t, node);
  const healthy = await fetch(node.url(`${EVENTS}?after=${perRound}`), { headers: node.headers({}) });
  const bytes = (healthy.body as ReadableStream<Uint8Array>)[Symbol.asyncIterator]();
  const before = used();
  let taken = 0;
  for (let round = 1; round <= rounds; round++) {
    await happen(node, perRound, queue);
    const last = Buffer.from(`id: ${(round + 1) * perRound}\n`);
    // What the healthy one hears of this round, up to its last event.
    for (let tail = Buffer.alloc(0); !tail.includes(last); ) {
      const { value = new Uint8Array() } = await bytes.next();
      taken += value.length;
      tail = Buffer.concat([tail.subarray(-500), value]);
    }
  }
  assert.ok(taken > rounds * 1_000_000, `only ${taken} bytes went past them`);
  const grown = used() - before;
  assert.ok(grown < 20_000_000, `${Math.round(grown / 1e6)} MB more after ${Math.round(taken / 1e6)} MB of events`);
  await bytes.return?.();
});

test('when the node closes its streams end at once, also one that takes nothing', async (t) => {
  const node = await scene(t);
  await happen(node, 5000);
  const messages = await stream(node, '?after=5000');
  const socket = await stalledReader(t, node);
  const closed = once(socket, 'close');
  const ended = assert.rejects(async () => messages.next());
  await node.service.close({ force: true });
  socket.resume();
  await Promise.all([ended, closed]);
});

test('what has happened so far is read by the page, and without a number only where the feed stands', async (t) => {
  const node = await nodeScene(t);
  const read = (query: string): Promise<Answer['body']> => node.call('readEvents', `/api/v1/events/page${query}`);
  assert.deepEqual(await read(''), { events: [], last: 0, reset: false });
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await node.engine.push({ queue: 'q', handler: 'h' })).id);
  assert.deepEqual(await read(''), { events: [], last: 3, reset: false });
  const first = await read('?after=0&limit=2');
  assert.deepEqual(
    first.events.map(({ seq, task, kind }: Answer['body']) => [seq, task, kind]),
    [
      [1, ids[0], 'created'],
      [2, ids[1], 'created'],
    ],
  );
  const next = await read(`?after=${first.last}`);
  assert.deepEqual([next.events.length, next.last, next.events[0].task], [1, 3, ids[2]]);
  assert.deepEqual(await read('?after=3'), { events: [], last: 3, reset: false });
  assert.equal((await read('?after=900')).reset, true);
});

test('events have the words of documents, workers are told of, and both are filters', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const link = new DirectLink(engine, undefined);
  const hello = { slots: 4, tags: [], handlers: ['h'], queues: undefined };
  const ada = await link.open({ ...hello, name: 'ada', incarnation: 'a', address: '10.0.0.1' });
  const bob = await link.open({ ...hello, name: 'bob', incarnation: 'b' });
  const { signal } = new AbortController();
  const claim = async (session: typeof ada) => {
    await engine.push({ queue: 'q', handler: 'h', maxAttempts: 1 });
    const [one] = await session.claim({ max: 1, waitMs: 0, signal });
    assert.ok(one);
    return one;
  };
  await ada.beat('online');
  await ada.complete(await claim(ada), 1);
  await bob.fail(await claim(bob), 'no');
  await ada.release(await claim(ada));
  const { last } = await node.call('readEvents', '/api/v1/events/page');
  const read = async (query: string): Promise<string[]> => {
    const stream = await fetch(node.url(`/api/v1/events?after=0&${query}`), { headers: node.headers({}) });
    const seen: string[] = [];
    const page = await node.call('readEvents', '/api/v1/events/page?after=0');
    const all = new Map<number, Answer['body']>(page.events.map((event: Answer['body']) => [event.seq, event]));
    const end = await engine.push({ queue: 'end', handler: 'h' });
    await engine.cancel(end.task);
    for await (const { data } of messagesOf(stream)) {
      if (data.task === end.id || data.seq > last) break;
      const { worker: _, ...plain } = data;
      const { worker: __, ...known } = all.get(data.seq);
      assert.deepEqual(plain, known, 'a page and the stream tell the same');
      seen.push(`${data.kind}:${data.words.join('+')}${data.worker === undefined ? '' : `@${data.worker}`}`);
    }
    await stream.body?.cancel().catch(() => {});
    return seen;
  };
  const everything = await read('queue=q&queue=end');
  assert.deepEqual(everything, [
    'created:created',
    'claimed:assigned+started+LEASE_GRANTED@ada',
    'completed:completed@ada',
    'created:created',
    'claimed:assigned+started+LEASE_GRANTED@bob',
    'failed:failed@bob',
    'created:created',
    'claimed:assigned+started+LEASE_GRANTED@ada',
    'released:reassigned@ada',
  ]);
  // A queue names no worker; what ends the reading is a task that was cancelled.
  const words = await read('kind=WORKER_REGISTERED&kind=WORKER_HEARTBEAT&kind=LEASE_GRANTED&kind=cancelled');
  assert.deepEqual(words, [
    'registered:WORKER_REGISTERED@ada',
    'registered:WORKER_REGISTERED@bob',
    'beat:WORKER_HEARTBEAT@ada',
    'claimed:assigned+started+LEASE_GRANTED@ada',
    'claimed:assigned+started+LEASE_GRANTED@bob',
    'claimed:assigned+started+LEASE_GRANTED@ada',
  ]);
  assert.equal((await node.ask('/api/v1/events?worker=-x')).status, 400);
  assert.equal((await node.ask('/api/v1/events?kind=LEASE_LOST')).status, 400);
  const mine = await fetch(node.url('/api/v1/events?after=0&worker=ada'), { headers: node.headers({}) });
  const told: string[] = [];
  for await (const { data } of messagesOf(mine)) {
    assert.equal(data.worker, 'ada');
    told.push(data.kind);
    if (told.length === 6) break;
  }
  assert.deepEqual(told, ['registered', 'beat', 'claimed', 'completed', 'claimed', 'released']);
});
