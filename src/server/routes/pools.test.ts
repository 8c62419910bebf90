import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { ticketOf } from '../../engine/pools.ts';

const POOLS = '/api/v1/pools';
const quiet = { duties: false, housekeeping: false } as const;
const TICKET = `tk-${'a'.repeat(16)}.${'b'.repeat(32)}`;

test('a pool is put, read, listed and removed', async (t) => {
  const node = await nodeScene(t, quiet);
  assert.deepEqual(await node.call('listPools', POOLS), { pools: [] });
  const body = { name: 'papers', policy: { max: 3, idleMs: '5m', targetWaitMs: '30s' }, worker: { life: 'stay' } };
  const put = await node.call('putPool', POOLS, { body });
  const { policy, worker, launcher, queues, enabled } = put;
  assert.deepEqual([policy.max, policy.idleMs, policy.targetWaitMs, policy.min], [3, 300_000, 30_000, 0]);
  assert.deepEqual([worker.life, launcher, queues, enabled], ['stay', { kind: 'subprocess' }, ['papers'], true]);
  const { now, failures, ...same } = await node.call('getPool', `${POOLS}/papers`);
  assert.deepEqual(same, put);
  assert.equal(failures, 0);
  assert.deepEqual([now.want, now.launch, now.reasons], [0, 0, []]);
  assert.equal((await node.call('listPools', POOLS)).pools.length, 1);
  assert.deepEqual(await node.call('removePool', `${POOLS}/papers`, { method: 'DELETE' }), put);
  assert.equal((await node.ask(`${POOLS}/papers`)).status, 404);
});

test('a pool that somebody has changed since it was read is not replaced', async (t) => {
  const node = await nodeScene(t, quiet);
  const { revision } = await node.call('putPool', POOLS, { body: { name: 'p', ifRevision: 0 } });
  await node.call('putPool', POOLS, { body: { name: 'p', policy: { max: 4 } } });
  for (const ifRevision of [revision, 0]) {
    const late = await node.ask(POOLS, { body: { name: 'p', policy: { max: 9 }, ifRevision } });
    assert.deepEqual([late.status, late.body.error.code], [409, 'CONFLICT']);
  }
  assert.equal((await node.call('getPool', `${POOLS}/p`)).policy.max, 4);
});

test('what makes no sense is refused with its place, and makes no pool', async (t) => {
  const node = await nodeScene(t, quiet);
  for (const [body, place] of [
    [{ name: 'P' }, /pool name/],
    [{ name: 'p', policy: { min: 5, max: 2 } }, /policy\.min/],
    [{ name: 'p', policy: { colour: 'red' } }, /colour/],
    [{ name: 'p', queues: [] }, /queues/],
    [{ name: 'p', launcher: { kind: 'subproces' } }, /launcher\.kind/],
    [{ name: 'p', launcher: { kind: 'subprocess', shell: 'rm' } }, /launcher\.shell/],
    [{ name: 'p', launcher: { kind: 'subprocess', allow: ['all'] } }, /launcher\.allow/],
    [{ name: 'p', launcher: { kind: 'in-process', slots: 4 } }, /launcher\.slots/],
  ] as const) {
    const answer = await node.ask(POOLS, { body });
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(answer.body.error.message, place);
  }
  assert.deepEqual(await node.call('listPools', POOLS), { pools: [] });
});

test('a dry run says what a check would do and does nothing; a check says why nothing was started', async (t) => {
  const node = await nodeScene(t, quiet);
  await node.call('putPool', POOLS, { body: { name: 'p', policy: { max: 2 }, launcher: { kind: 'in-process' } } });
  await node.engine.pushMany(Array.from({ length: 5 }, () => ({ queue: 'p', handler: 'h' })));
  const dry = await node.call('checkPool', `${POOLS}/p/check`, { body: { dryRun: true } });
  assert.deepEqual([dry.dryRun, dry.launch, dry.launched, dry.reasons], [true, 2, 0, ['work', 'at_max']]);
  assert.deepEqual((await node.call('listPoolTickets', `${POOLS}/p/tickets`)).tickets, []);
  // This node has not said what workers of its own are made of.
  const real = await node.call('checkPool', `${POOLS}/p/check`, { body: {} });
  assert.deepEqual(
    [real.launched, real.launches.map((one: { readonly outcome: string }) => one.outcome)],
    [2, ['failed', 'failed']],
  );
  const { tickets } = await node.call('listPoolTickets', `${POOLS}/p/tickets?limit=1`);
  assert.deepEqual([tickets.length, tickets[0]?.state], [1, 'failed']);
  const { decisions } = await node.call('listPoolDecisions', `${POOLS}/p/decisions`);
  assert.deepEqual([decisions[0]?.launched, decisions[0]?.runnable], [2, 5]);
});

test('tickets are shown by their ids, with the worker that came, and never with what is secret of them', async (t) => {
  const node = await nodeScene(t, quiet);
  await node.call('putPool', POOLS, { body: { name: 'p' } });
  await node.engine.pools.reserve('p', [ticketOf(TICKET)]);
  await node.engine.workers.register({ name: 'box', incarnation: 'i', slots: 1, ticket: TICKET });
  const { tickets } = await node.call('listPoolTickets', `${POOLS}/p/tickets`);
  const [{ at, endedAt = 0, expiresAt } = { at: 0, expiresAt: 0 }] = tickets;
  assert.ok(endedAt >= at - 50 && endedAt < expiresAt, 'it tells when its worker came');
  assert.equal(tickets[0]?.leftAt, undefined, 'it is there');
  const text = JSON.stringify((await node.ask(`${POOLS}/p/tickets`)).body);
  assert.ok(text.includes('"worker":"box"') && text.includes(ticketOf(TICKET).id), text);
  assert.ok(!text.includes('b'.repeat(32)) && !text.includes(ticketOf(TICKET).hash), text);
  const [record] = await node.engine.workers.list();
  await node.engine.workers.beat({ worker: record?.worker as number, state: 'offline' });
  const [left] = (await node.call('listPoolTickets', `${POOLS}/p/tickets`)).tickets;
  assert.ok((left?.leftAt ?? 0) >= endedAt, 'it tells when its worker was last heard of');
});

test('a dry run takes another policy than the pool has, and changes nothing; a check does not take one', async (t) => {
  const node = await nodeScene(t, quiet);
  await node.call('putPool', POOLS, { body: { name: 'p', policy: { max: 2 }, launcher: { kind: 'in-process' } } });
  await node.engine.pushMany(Array.from({ length: 5 }, () => ({ queue: 'p', handler: 'h' })));
  const dry = (policy: object) => node.call('checkPool', `${POOLS}/p/check`, { body: { dryRun: true, policy } });
  const wide = await dry({ max: 9 });
  assert.deepEqual([wide.launch, wide.want, wide.reasons], [5, 5, ['work']]);
  assert.equal((await dry({ max: 9, tasksPerWorker: 4, burst: 1 })).launch, 1);
  const check = (body: object) => node.ask(`${POOLS}/p/check`, { body });
  for (const body of [
    { policy: { max: 9 } },
    { dryRun: true, policy: { min: 3, max: 2 } },
    { dryRun: true, policy: 1 },
  ])
    assert.equal((await check(body)).status, 400, JSON.stringify(body));
  assert.equal((await node.call('getPool', `${POOLS}/p`)).policy.max, 2);
  assert.deepEqual((await node.call('listPoolTickets', `${POOLS}/p/tickets`)).tickets, []);
});

test('a pool tells the newest start that came to nothing, until a worker has come', async (t) => {
  const node = await nodeScene(t, quiet);
  await node.call('putPool', POOLS, { body: { name: 'p' } });
  const ticket = (letter: string): string => `tk-${letter.repeat(16)}.${'b'.repeat(32)}`;
  const get = () => node.call('getPool', `${POOLS}/p`);
  await node.engine.pools.reserve('p', [ticketOf(ticket('a'))]);
  assert.equal((await get()).problem, undefined, 'its launcher may still answer');
  await node.engine.pools.failed(ticketOf(ticket('a')).id, 'no room');
  const { problem, failures } = await get();
  assert.deepEqual([problem?.state, problem?.error, failures], ['failed', 'no room', 1]);
  assert.equal((await node.call('listPools', POOLS)).pools[0]?.problem?.error, 'no room');
  await node.engine.pools.reserve('p', [ticketOf(ticket('c'))]);
  assert.equal((await get()).problem?.error, 'no room', 'one that is starting proves nothing');
  await node.engine.workers.register({ name: 'box', incarnation: 'i', slots: 1, ticket: ticket('c') });
  const after = await get();
  assert.deepEqual([after.problem, after.failures, after.now.idle], [undefined, 0, 1]);
});
