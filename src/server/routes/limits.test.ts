import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { VirtualWorld } from '../../testing.ts';

const LIMITS = '/api/v1/limits';

const create = (node: NodeScene, body: object): Promise<Answer['body']> => node.call('createLimit', LIMITS, { body });
const edit = (node: NodeScene, name: string, body: object): Promise<Answer['body']> =>
  node.call('editLimit', `${LIMITS}/${name}`, { body });
const refused = async (node: NodeScene, path: string, ask: object): Promise<string> => {
  const { status, body } = await node.ask(path, ask);
  return `${status} ${body.error?.code}`;
};

test('a limit is made, shown, listed and taken away', async (t) => {
  const node = await nodeScene(t);
  const rate = { max: 100, window: '1m' };
  const made = await create(node, {
    name: 'api',
    concurrent: 4,
    perKey: 2,
    rate,
    cost: { max: 9, window: 1000 },
    backlog: 50,
  });
  assert.deepEqual(
    [
      made.name,
      made.concurrent,
      made.perKey,
      made.rate.max,
      made.rate.window,
      made.cost.window,
      made.strategy,
      made.backlog,
    ],
    ['api', 4, 2, 100, '1m', '1s', 'queue', 50],
  );
  assert.deepEqual([made.active, made.waiting, made.changedBy], [0, 0, 'admin']);
  await node.engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  const { limits } = await node.call('listLimits', LIMITS);
  assert.deepEqual(limits, [{ ...made, waiting: 1 }]);
  const detail = await node.call('getLimit', `${LIMITS}/api`);
  assert.deepEqual([detail.used, detail.cap, detail.history.length, detail.moreKeys], [0, 4, 1, false]);
  const removed = await node.call('removeLimit', `${LIMITS}/api`);
  assert.equal(removed.concurrent, 4);
  assert.deepEqual((await node.call('listLimits', LIMITS)).limits, []);
});

test('who changed what is in the history, by the name of the token', async (t) => {
  const node = await nodeScene(t);
  const { token } = await node.token('operator');
  await create(node, { name: 'api', concurrent: 1 });
  await node.call('editLimit', `${LIMITS}/api`, { body: { concurrent: 2 }, token });
  await edit(node, 'api', { concurrent: 2 });
  const { history } = await node.call('getLimit', `${LIMITS}/api`);
  assert.deepEqual(
    history.map(({ by, limit }: { by: string; limit: { concurrent: number } }) => [by, limit.concurrent]),
    [
      ['a operator', 2],
      ['admin', 1],
    ],
  );
});

test('a change keeps the rest, and null takes a bound away', async (t) => {
  const node = await nodeScene(t);
  await create(node, {
    name: 'api',
    concurrent: 4,
    perKey: 2,
    rate: { max: 100, window: '1m' },
    backlog: 5,
    strategy: 'refuse',
  });
  const more = await edit(node, 'api', { concurrent: 8 });
  assert.deepEqual(
    [more.concurrent, more.perKey, more.rate.max, more.backlog, more.strategy],
    [8, 2, 100, 5, 'refuse'],
  );
  const less = await edit(node, 'api', { perKey: null, rate: null, backlog: null });
  assert.deepEqual([less.concurrent, less.perKey, less.rate, less.backlog], [8, undefined, undefined, undefined]);
  assert.equal((await edit(node, 'api', {})).revision, less.revision, 'nothing to change is no change');
});

test('who names the revision that was read changes nothing that somebody else has changed', async (t) => {
  const node = await nodeScene(t);
  const { revision } = await create(node, { name: 'api', concurrent: 4 });
  const first = await edit(node, 'api', { concurrent: 5, ifRevision: revision });
  assert.deepEqual([first.concurrent, first.before.concurrent], [5, 4]);
  const late = await node.ask(`${LIMITS}/api`, { method: 'PATCH', body: { concurrent: 6, ifRevision: revision } });
  assert.deepEqual([late.status, late.body.error.code], [409, 'CONFLICT']);
  assert.match(late.body.error.message, /somebody has changed the limit api meanwhile: it has revision 2, not 1/);
  const { concurrent, history } = await node.call('getLimit', `${LIMITS}/api`);
  assert.deepEqual([concurrent, history.length], [5, 2]);
  const same = await edit(node, 'api', { concurrent: 5, ifRevision: first.revision });
  assert.deepEqual([same.revision, same.before], [2, undefined], 'nothing to change');
});

test('a part of a rate is changed alone, and refused where there is none', async (t) => {
  const node = await nodeScene(t);
  await create(node, { name: 'api', rate: { max: 100, window: '1m' } });
  const { rate } = await edit(node, 'api', { rate: { burst: 30 } });
  assert.deepEqual(rate, { max: 100, window: '1m', burst: 30, perKey: false });
  for (const body of [{ rate: { max: 20 } }, { cost: { burst: 1 } }, { cost: { max: 1 } }]) {
    assert.equal(await refused(node, `${LIMITS}/api`, { body, method: 'PATCH' }), '400 INVALID_INPUT');
  }
  assert.equal(await refused(node, LIMITS, { body: { name: 'db', rate: { max: 5 } } }), '400 INVALID_INPUT');
});

test('limit is another word for concurrent, and only one of them is taken', async (t) => {
  const node = await nodeScene(t);
  assert.equal((await create(node, { name: 'api', limit: 3 })).concurrent, 3);
  assert.equal((await edit(node, 'api', { limit: 5 })).concurrent, 5);
  assert.equal((await edit(node, 'api', { limit: null, perKey: 1 })).concurrent, undefined);
  for (const both of [
    { limit: 1, concurrent: 1 },
    { limit: null, concurrent: 1 },
    { limit: 1, concurrent: null },
  ]) {
    assert.equal(await refused(node, `${LIMITS}/api`, { body: both, method: 'PATCH' }), '400 INVALID_INPUT');
  }
});

test('a limit is made once, and what is not there is not found', async (t) => {
  const node = await nodeScene(t);
  await create(node, { name: 'api', concurrent: 3 });
  assert.equal(await refused(node, LIMITS, { body: { name: 'api', concurrent: 9 } }), '409 CONFLICT');
  assert.equal((await node.call('getLimit', `${LIMITS}/api`)).concurrent, 3);
  for (const [path, ask] of [
    ['', {}],
    ['', { body: { concurrent: 1 }, method: 'PATCH' }],
    ['', { method: 'DELETE' }],
    ['/pause', { body: { for: '1m' } }],
  ] as const) {
    assert.equal(await refused(node, `${LIMITS}/none${path}`, ask), '404 NOT_FOUND', JSON.stringify(ask));
  }
  await node.call('removeLimit', `${LIMITS}/api`);
  const gone = await node.ask(`${LIMITS}/api`);
  assert.match(gone.body.error.hint, /removed by admin/);
  assert.equal((await create(node, { name: 'api', concurrent: 2 })).concurrent, 2, 'its name is free again');
});

test('what a limit cannot be is refused and changes nothing', async (t) => {
  const node = await nodeScene(t);
  await create(node, { name: 'api', concurrent: 3 });
  for (const body of [
    {},
    { name: 'NO NAME', concurrent: 1 },
    { name: 'x', concurrent: -1 },
    { name: 'x', concurrent: 1.5 },
    { name: 'x', concurrent: 1e99 },
    { name: 'x', concurrent: '5' },
    { name: 'x', rate: { max: 5 } },
    { name: 'x', rate: { max: 5, window: 'often' } },
    { name: 'x', rate: { max: 5, window: 0 } },
    { name: 'x', rate: { max: 5, window: '1m', burst: 9 } },
    { name: 'x', strategy: 'hope' },
    { name: 'x', colour: 'red' },
  ]) {
    assert.equal(await refused(node, LIMITS, { body }), '400 INVALID_INPUT', JSON.stringify(body));
  }
  for (const name of ['%00', 'a%2Fb', 'UPPER', '%F0%9F%98%80']) {
    assert.equal(await refused(node, `${LIMITS}/${name}`, {}), '400 INVALID_INPUT', name);
    assert.equal(await refused(node, `${LIMITS}/${name}/pause`, { body: { for: 1 } }), '400 INVALID_INPUT', name);
  }
  const wrong = await node.ask(`${LIMITS}/api`, {
    body: { rate: null, cost: { max: 1, window: '' } },
    method: 'PATCH',
  });
  assert.equal(wrong.status, 400);
  assert.equal((await node.call('listLimits', LIMITS)).limits.length, 1);
  assert.equal((await node.call('getLimit', `${LIMITS}/api`)).revision, 1);
});

test('a pause holds all of it or one key, 0 resumes it, and who waits for work hears of it at once', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  const pause = (body: object): Promise<Answer['body']> => node.call('pauseLimit', `${LIMITS}/api/pause`, { body });
  await create(node, { name: 'api', concurrent: 5 });
  assert.equal(await refused(node, `${LIMITS}/api/pause`, { body: { key: 'ada', for: '1m' } }), '404 NOT_FOUND');
  for (const key of ['ada', 'bob']) await engine.push({ queue: 'q', handler: 'h', limits: [{ name: 'api', key }] });
  const paused = await pause({ key: 'ada', for: '5m' });
  assert.equal(paused.pausedUntil, undefined);
  const [{ key, pausedUntil }] = paused.keys;
  assert.deepEqual([key, pausedUntil], ['ada', engine.world.clock.wall() + 300_000]);
  assert.equal((await engine.claim({ worker, max: 9 })).length, 1, 'the other key');
  assert.ok((await pause({ for: '1h' })).pausedUntil);
  assert.equal((await pause({ for: 0 })).pausedUntil, undefined);
  const waiting = engine.claim({ worker, max: 9, waitMs: 60_000 });
  const open = await pause({ key: 'ada', for: 0 });
  assert.ok(open.keys.every((one: { pausedUntil?: number }) => one.pausedUntil === undefined));
  assert.equal((await waiting).length, 1);
  for (const body of [{}, { for: 'ever' }, { for: -1 }, { for: '1m', until: 5 }, { for: '1m', key: 7 }]) {
    assert.equal(await refused(node, `${LIMITS}/api/pause`, { body }), '400 INVALID_INPUT', JSON.stringify(body));
  }
});

test('a pause is ended before its time, of all of it or of one key', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  await create(node, { name: 'api', concurrent: 5 });
  await engine.push({ queue: 'q', handler: 'h', limits: [{ name: 'api', key: 'ada' }] });
  const act = (verb: 'pause' | 'resume', body: object): Promise<Answer['body']> =>
    node.call(`${verb}Limit`, `${LIMITS}/api/${verb}`, { body });
  await act('pause', { for: '1h' });
  await act('pause', { key: 'ada', for: '1h' });
  const one = await act('resume', { key: 'ada' });
  assert.deepEqual([one.pausedUntil !== undefined, one.keys[0].pausedUntil], [true, undefined]);
  assert.equal((await act('resume', {})).pausedUntil, undefined);
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  assert.equal((await engine.claim({ worker, max: 9 })).length, 1);
  assert.equal(await refused(node, `${LIMITS}/api/resume`, { body: { key: 'bob' } }), '404 NOT_FOUND');
  assert.equal(await refused(node, `${LIMITS}/none/resume`, { body: {} }), '404 NOT_FOUND');
  assert.equal(await refused(node, `${LIMITS}/api/resume`, { body: { for: 1 } }), '400 INVALID_INPUT');
});
