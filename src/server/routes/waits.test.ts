import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import type { WaitRequest } from '../../engine/settle/waits.ts';
import { VirtualWorld } from '../../testing.ts';

const APPROVALS = '/api/v1/approvals';
const SIGNALS = '/api/v1/signals';

/** A node, and tasks that wait on it. */
async function scene(t: TestContext): Promise<{ node: NodeScene; parked: (wait: WaitRequest) => Promise<string> }> {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9 });
  const parked = async (wait: WaitRequest): Promise<string> => {
    const { task, id } = await engine.push({ queue: 'q', handler: 'h' });
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    assert.equal((await engine.turn(grant, { then: { go: 'park', ...wait } })).went, 'parked');
    return id;
  };
  return { node, parked };
}

/** What a task was woken with. */
async function wokenWith({ engine }: NodeScene, id: string): Promise<unknown> {
  const wait = await engine.waits.of(engine.parseId(id));
  return wait?.body === undefined ? undefined : JSON.parse(wait.body);
}

test('a signal wakes the one that has waited longest, a broadcast all, and one for nobody is kept', async (t) => {
  const { node, parked } = await scene(t);
  const send = (body: object): Promise<object> => node.call('sendSignal', SIGNALS, { body });
  const [first, second, third] = [
    await parked({ key: 'k', channel: 'go' }),
    await parked({ key: 'k', channel: 'go' }),
    await parked({ key: 'k', channel: 'go' }),
  ];
  assert.deepEqual(await send({ channel: 'go', body: { n: 1 } }), { channel: 'go', woken: [first], kept: false });
  assert.deepEqual(await wokenWith(node, first), { n: 1 });
  assert.deepEqual(await send({ channel: 'go', broadcast: true }), {
    channel: 'go',
    woken: [second, third],
    kept: false,
  });
  assert.deepEqual(await send({ channel: 'go', broadcast: true }), { channel: 'go', woken: [], kept: false });
  assert.deepEqual(await send({ channel: 'go' }), { channel: 'go', woken: [], kept: true });
  assert.equal((await node.call('getTask', `/api/v1/tasks/${first}`)).state, 'ready');
});

test('a signal that is none is refused', async (t) => {
  const { node } = await scene(t);
  for (const body of [
    {},
    { channel: '' },
    { channel: 7 },
    { channel: 'x'.repeat(256) },
    { channel: 'a\u0000' },
    { channel: 'a', broadcast: 'yes' },
    { channel: 'a', by: 'me' },
    { channel: 'a', body: 'half \ud800' },
  ]) {
    assert.equal((await node.ask(SIGNALS, { body })).status, 400, JSON.stringify(body));
  }
  assert.equal((await node.ask(SIGNALS, { body: { channel: 'a', body: 'x'.repeat(1_100_000) } })).status, 413);
});

test('a decision is made by who has the token, and the task hears who that was', async (t) => {
  const { node, parked } = await scene(t);
  const { token } = await node.token('operator');
  const id = await parked({
    key: 'k',
    form: { title: 'Ship it?', actions: ['ship', 'wait'], context: { n: 5 } },
  });
  const { approvals } = await node.call('listApprovals', APPROVALS);
  const since = node.engine.world.clock.wall();
  const shown = { title: 'Ship it?', actions: ['ship', 'wait'], context: { n: 5 } };
  assert.deepEqual(approvals, [{ id, key: 'k', ...shown, queue: 'q', handler: 'h', since }]);
  const { wait } = await node.call('getTask', `/api/v1/tasks/${id}`);
  assert.deepEqual(wait, { kind: 'approval', title: 'Ship it?', actions: ['ship', 'wait'] });
  const decided = await node.call('decideApproval', `${APPROVALS}/${id}`, {
    body: { action: 'ship', value: [1] },
    token,
  });
  assert.deepEqual(decided, { id, action: 'ship', value: [1], by: 'a operator' });
  assert.deepEqual(await wokenWith(node, id), { action: 'ship', value: [1], by: 'a operator' });
  assert.deepEqual((await node.call('listApprovals', APPROVALS)).approvals, []);
});

test('nobody decides in the name of another, twice, or what is not offered', async (t) => {
  const { node, parked } = await scene(t);
  const id = await parked({ key: 'k', form: { title: 'Go?' } });
  const decide = async (which: string, body: object): Promise<string> => {
    const answer = await node.ask(`${APPROVALS}/${which}`, { body });
    return `${answer.status} ${answer.body.error?.code}`;
  };
  assert.equal(await decide(id, { action: 'approve', by: 'the boss' }), '400 INVALID_INPUT');
  assert.equal(await decide(id, {}), '400 INVALID_INPUT');
  assert.equal(await decide(id, { action: 'ship' }), '400 INVALID_INPUT');
  assert.equal(await decide('4242', { action: 'approve' }), '404 NOT_FOUND');
  assert.equal(await decide('task_elsewhere', { action: 'approve' }), '400 INVALID_ID');
  const read = await node.token('read');
  assert.equal((await node.ask(`${APPROVALS}/${id}`, { body: { action: 'approve' }, token: read.token })).status, 403);
  const answers = await Promise.all(Array.from({ length: 8 }, () => decide(id, { action: 'reject' })));
  assert.deepEqual(answers.toSorted(), ['200 undefined', ...Array.from({ length: 7 }, () => '409 CONFLICT')]);
  assert.equal(await decide(await parked({ key: 'k', channel: 'b' }), { action: 'approve' }), '409 CONFLICT');
});

test('approvals come oldest first, as many as are asked for', async (t) => {
  const { node, parked } = await scene(t);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await parked({ key: 'k', form: {}, timeout: '1h' }));
  const listed = async (query: string): Promise<string[]> =>
    (await node.call('listApprovals', APPROVALS + query)).approvals.map(({ id }: { id: string }) => id);
  assert.deepEqual(await listed(''), ids);
  assert.deepEqual(await listed('?limit=2'), ids.slice(0, 2));
  for (const query of ['?limit=0', '?limit=501', '?limit=', '?cursor=x']) {
    assert.equal((await node.ask(APPROVALS + query)).status, 400, query);
  }
});

test('a task may show anything to who decides, and neither hides another one nor is taken for it', async (t) => {
  const { node, parked } = await scene(t);
  const honest = await parked({ key: 'k', form: { title: 'Pay 5?' } });
  const forms = [
    { id: honest, title: 'Pay 5?' },
    { id: 'nonsense' },
    { key: 1, since: 'x', queue: 7 },
    { title: 5, actions: 'all' },
  ];
  const hostile: string[] = [];
  for (const form of forms) hostile.push(await parked({ key: 'k', form }));
  const { approvals } = await node.call('listApprovals', APPROVALS);
  assert.deepEqual(
    approvals.map(({ id }: { id: string }) => id),
    [honest, ...hostile],
  );
});

test('an approval is decided by deciding only: its channel cannot be signalled, neither before anybody asks nor after', async (t) => {
  const { node, parked } = await scene(t);
  const signal = async (channel: string): Promise<string> => {
    const { status, body } = await node.ask('/api/v1/signals', { body: { channel, body: { action: 'approve' } } });
    return `${status} ${body.error?.code}`;
  };
  const pushed = await node.engine.push({ queue: 'later', handler: 'h' });
  assert.equal(await signal(`approval:${pushed.task}:k`), '400 INVALID_INPUT');
  const id = await parked({ key: 'k', form: { title: 'Pay?' } });
  const wait = await node.engine.waits.of(node.engine.parseId(id));
  assert.equal(wait?.channel, `approval:${node.engine.parseId(id)}:k`, 'the engine itself names the channel');
  assert.equal(await signal(wait.channel), '400 INVALID_INPUT');
  assert.equal(await signal('approval:'), '400 INVALID_INPUT');
  assert.equal(await signal('leasehold:anything'), '400 INVALID_INPUT');
  assert.equal((await node.call('listApprovals', APPROVALS)).approvals.length, 1);
  await assert.rejects(parked({ key: 'k', channel: 'plain', form: { title: 'Pay?' } }), /channel of its own/);
});
