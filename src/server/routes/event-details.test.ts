/** Events say who had the attempt, where, until when, and why it ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messagesOf, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { DirectLink } from '../../app/link/direct-link.ts';

const LEASE_MS = 30_000;

test('the stream and the page name worker, host, expiry and details, and a word that is asked for names its messages', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  const hello = {
    name: 'box',
    incarnation: 'i',
    slots: 2,
    tags: [],
    queues: undefined,
    handlers: ['h'],
    host: 'far-1',
    address: '10.0.0.9',
  };
  const session = await new DirectLink(engine, undefined).open(hello);
  const claim = async () =>
    (await session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal }))[0] as Wire;
  await engine.push({ queue: 'q', handler: 'h', maxAttempts: 2 });
  await session.fail(await claim(), new Error('it broke'), { retryAfterMs: 0 });
  await session.fail(await claim(), { message: 'for good' }, { giveUp: true });
  const words = ['LEASE_GRANTED', 'WORKER_REGISTERED', 'reassigned', 'failed'];
  const query = words.map((word) => `&kind=${word}`).join('');
  const response = await fetch(node.url(`/api/v1/events?after=0${query}`), { headers: node.headers({}) });
  const seen: Wire[] = [];
  for await (const message of messagesOf(response)) {
    seen.push(message);
    if (seen.length === 5) break;
  }
  const who = { worker: 'box', host: 'far-1' };
  const facts = seen.map(({ event, data: { worker, host, kind, attempt, details, leaseExpiresAt, at } }) => ({
    event,
    kind,
    worker,
    host,
    ...(attempt === undefined ? {} : { attempt }),
    ...(details === undefined ? {} : { details }),
    ...(leaseExpiresAt === undefined ? {} : { lease: leaseExpiresAt - at }),
  }));
  assert.deepEqual(facts, [
    { event: 'WORKER_REGISTERED', kind: 'registered', ...who },
    { event: 'LEASE_GRANTED', kind: 'claimed', ...who, attempt: 1, lease: LEASE_MS },
    { event: 'reassigned', kind: 'retried', ...who, attempt: 1, details: { error: 'it broke' } },
    { event: 'LEASE_GRANTED', kind: 'claimed', ...who, attempt: 2, lease: LEASE_MS },
    { event: 'failed', kind: 'failed', ...who, attempt: 2, details: { reason: 'gave_up', error: 'for good' } },
  ]);
  const { events } = await node.call('readEvents', '/api/v1/events/page?after=0');
  const paged = events.filter(({ seq }: Wire) => seen.some(({ data }) => data.seq === seq));
  assert.deepEqual(
    paged,
    seen.map(({ data }) => data),
  );
});

test('an expired lease is told with the worker that had it', async (t) => {
  const node = await nodeScene(t, { leaseMs: 300 });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'gone', incarnation: 'i', slots: 1, host: 'h-9' });
  await engine.push({ queue: 'q', handler: 'h' });
  await engine.claim({ worker, max: 1, waitMs: 0 });
  const url = node.url('/api/v1/events?after=0&kind=LEASE_EXPIRED');
  const response = await fetch(url, { headers: node.headers({}) });
  const { value } = await messagesOf(response).next();
  const { worker: name, host, leaseExpiresAt, at } = value?.data ?? {};
  assert.deepEqual([value?.event, name, host, leaseExpiresAt], ['LEASE_EXPIRED', 'gone', 'h-9', at]);
});

test('many readers at the end of the feed ask the store once for each attempt', async (t) => {
  const node = await nodeScene(t);
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const reads = t.mock.method(engine.store, 'attemptWorkers');
  const after = await engine.newestEvent();
  const { task } = await engine.push({ queue: 'q', handler: 'h' });
  await engine.claim({ worker, max: 1, waitMs: 0 });
  await engine.complete({ task, attempt: 1 });
  for (let i = 0; i < 10; i++) {
    const response = await fetch(node.url(`/api/v1/events?after=${after}&kind=completed`), {
      headers: node.headers({}),
    });
    const messages = messagesOf(response);
    assert.equal((await messages.next()).value?.data.worker, 'w');
    await messages.return(undefined);
  }
  assert.equal(reads.mock.callCount(), 1);
});
