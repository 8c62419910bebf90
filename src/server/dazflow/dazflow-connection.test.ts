import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { PlainAgent } from '../../../test/support/dazflow-agent.ts';
import { type GatewayScene, hubScene } from '../../../test/support/gateway-scene.ts';
import { DirectLink } from '../../app/link/direct-link.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { EngineOperator } from '../../operate/engine-operator.ts';
import type { DazflowNotice, DazflowTask } from '../../protocol/dazflow.ts';

/** Time passes while the agents are heard. */
async function pass(scene: GatewayScene, agents: readonly PlainAgent[], ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await scene.world.advance(Math.min(500, left));
    for (const agent of agents) await agent.quiet();
  }
}

const stateOf = async ({ engine }: GatewayScene, task: number): Promise<readonly unknown[]> => {
  const record = await engine.get(task);
  return [record?.state, record?.attempt, record?.tries];
};

async function gone(scene: GatewayScene): Promise<void> {
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  await scene.world.settle();
}

// Coming in

test('an agent is let in by its secret, and is online before it hears so', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const [worker, ...others] = await scene.engine.workers.list();
  assert.equal(others.length, 0);
  assert.deepEqual(
    [worker?.name, worker?.state, worker?.slots, worker?.handlers, worker?.version, worker?.host],
    ['a', 'online', 1, [], '1.0.0', '127.0.0.1'],
  );
  await agent.hangUp();
  await gone(scene);
  assert.equal((await scene.engine.workers.list())[0]?.state, 'offline');
});

test('an agent with a wrong secret, under an unknown name, or that is disabled, hears why and is cut off', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrolAgent('a');
  const other = await scene.enrolAgent('b');
  await scene.engine.workers.set({ name: 'b', enabled: false });
  const rejected = async (greeting: object): Promise<string> => {
    const agent = await PlainAgent.dial(scene.address);
    agent.say({ type: 'connect', version: '1', credentials: [], ...greeting });
    const { reason } = await agent.hear('connect_rejected');
    assert.equal((await agent.closed).code, 1008);
    return reason;
  };
  assert.match(await rejected({ name: 'a', secret: 'wrong' }), /none that is good/);
  assert.match(await rejected({ name: 'nobody', secret: 'wrong' }), /none that is good/);
  assert.match(await rejected({ name: 'nobody', secret }), /not that of this worker/);
  assert.match(await rejected({ name: 'a', secret: scene.admin }), /not that of this worker/);
  assert.match(await rejected({ name: 'a' }), /secret/);
  assert.match(await rejected({ name: 'b', secret: other }), /is disabled/);
  assert.deepEqual(await scene.engine.workers.list(), []);
});

test('the address with a secret in it is there only where that is asked for', async (t) => {
  const scene = await hubScene(t);
  const path = `/ws/agent/a/${await scene.enrolAgent('a')}`;
  await assert.rejects(PlainAgent.dial(scene.address, path), /404/);
  assert.deepEqual(scene.complaints, []);
});

test('who comes by the address hears connect_ok at once, and is told no version', async (t) => {
  const scene = await hubScene(t, { byPath: true });
  const agent = await PlainAgent.dial(scene.address, `/ws/agent/a/${await scene.enrolAgent('a')}`);
  await agent.hear('connect_ok');
  agent.say({ type: 'version', version: '0123456789ab' });
  agent.say({ type: 'credentials_report', credentials: ['discord'] });
  const { task } = await scene.push({ workflow: {}, node_id: 'n1', execution: {} });
  const offer = await agent.hear('task_available');
  const id = scene.engine.idOf((await scene.engine.get(task)) as never);
  assert.deepEqual(offer, {
    type: 'task_available',
    task_id: id,
    workflow_name: 'work',
    node_id: 'n1',
    execution_snapshot: { workflow: {}, node_id: 'n1', execution: {} },
  });
  agent.say({ type: 'task_claim', task_id: id });
  await agent.hear('task_claimed_ok');
  agent.say({ type: 'task_complete', task_id: id, result: { success: true, execution: {}, node_output: 7 } });
  await agent.answered();
  assert.deepEqual(await stateOf(scene, task), ['completed', 1, 1]);
  assert.deepEqual([...new Set(agent.told.map(({ type }) => type))].sort(), [
    'connect_ok',
    'task_available',
    'task_claimed_fail',
    'task_claimed_ok',
  ]);
});

test('who comes by the address in vain is closed with a code of its own, and the secret is in no log', async (t) => {
  const scene = await hubScene(t, { byPath: true });
  const secret = await scene.enrolAgent('a');
  const disabled = await scene.enrolAgent('b');
  await scene.engine.workers.set({ name: 'b', enabled: false });
  for (const [path, code] of [
    ['/ws/agent/a/wrong', 4001],
    [`/ws/agent/nobody/${secret}`, 4001],
    [`/ws/agent/b/${disabled}`, 4002],
  ] as const) {
    const agent = await PlainAgent.dial(scene.address, path);
    const { code: closed, reason } = await agent.closed;
    assert.equal(closed, code, path);
    const words = JSON.stringify([reason, agent.told, scene.complaints]);
    assert.ok(!words.includes(secret) && !words.includes(disabled) && !words.includes('wrong'), words);
  }
});

// Offers and claims

test('a task is offered to one agent alone, with its input; its claim counts once', async (t) => {
  const scene = await hubScene(t);
  const [a, b] = [await scene.agent('a'), await scene.agent('b')];
  const { task, id } = await scene.push({ n: 1 });
  const offer = await Promise.race([a.offered().then((it) => [a, b, it]), b.offered().then((it) => [b, a, it])]);
  const [mine, other, shown] = offer as [PlainAgent, PlainAgent, { id: string; input: unknown }];
  assert.deepEqual([shown.id, shown.input], [id, { n: 1 }]);
  other.say({ type: 'task_claim', task_id: id });
  const denied = await other.hear('task_claimed_fail');
  assert.equal(denied.task_id, id);
  assert.match(denied.reason, /not offered to it/);
  mine.say({ type: 'task_claim', task_id: id });
  assert.deepEqual((await mine.hear('task_claimed_ok')).task.input, { n: 1 });
  mine.say({ type: 'task_claim', task_id: id });
  assert.match((await mine.hear('task_claimed_fail')).reason, /claimed before/);
  mine.say({ type: 'task_complete', task_id: id, result: { ok: true } });
  mine.say({ type: 'task_complete', task_id: id, result: { ok: false } });
  assert.match((await mine.hear('task_claimed_fail')).reason, /not held by this agent/);
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.attempt, record?.result], ['completed', 1, '{"ok":true}']);
  assert.equal(other.told.filter(({ type }) => type === 'task_available').length, 0);
});

test('the next task is offered when the one before has ended, not with a heartbeat', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const pushed = [await scene.push(1), await scene.push(2), await scene.push(3)];
  for (const { id } of pushed) {
    const task = await agent.take();
    assert.equal(task.id, id);
    assert.equal(
      agent.told.filter(({ type }) => type === 'task_available').length,
      pushed.findIndex((one) => one.id === id) + 1,
    );
    agent.say({ type: 'task_complete', task_id: id, result: task.input });
  }
  await agent.answered();
  assert.equal((await scene.engine.stats('work')).completed, 3);
});

test('an offer that draws no claim is made again, and then goes to others with its try', async (t) => {
  const scene = await hubScene(t);
  const deaf = await scene.agent('a');
  const { task, id } = await scene.push();
  for (let i = 0; i < 3; i++) {
    assert.equal((await deaf.offered()).id, id);
    await pass(scene, [deaf], 5000);
  }
  assert.deepEqual(await stateOf(scene, task), ['ready', 1, 0]);
  const other = await scene.agent('b');
  assert.equal((await other.take()).id, id);
  deaf.say({ type: 'task_claim', task_id: id });
  assert.match((await deaf.hear('task_claimed_fail')).reason, /not held/);
  other.say({ type: 'task_complete', task_id: id });
  await other.answered();
  assert.deepEqual(await stateOf(scene, task), ['completed', 2, 1]);
  // It is asked again in the end.
  const next = await scene.push();
  await other.offered();
  await other.hangUp();
  await pass(scene, [deaf], 10_000);
  assert.equal((await deaf.take()).id, next.id);
});

test('what was only offered goes back at once when the connection ends, with its try', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  await agent.offered();
  await agent.hangUp();
  await gone(scene);
  assert.deepEqual(await stateOf(scene, task), ['ready', 1, 0]);
});

// Leases

test('the lease of a task that runs is kept by the connection, however long it runs', async (t) => {
  const scene = await hubScene(t, { leaseMs: 6000 });
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  for (let i = 0; i < 5; i++) {
    await pass(scene, [agent], 6000);
    await scene.tick('reaper');
  }
  assert.deepEqual(await stateOf(scene, task), ['running', 1, 1]);
  agent.say({ type: 'task_complete', task_id: id, result: 1 });
  await agent.answered();
  assert.deepEqual(await stateOf(scene, task), ['completed', 1, 1]);
});

test('a lease runs out when its agent is gone, and never passes to the next connection of that name', async (t) => {
  const scene = await hubScene(t, { leaseMs: 6000 });
  const secret = await scene.enrolAgent('a');
  const first = await PlainAgent.enter(scene.address, { name: 'a', secret });
  const { task } = await scene.push();
  const { id } = await first.take();
  await first.hangUp();
  await gone(scene);
  const second = await PlainAgent.enter(scene.address, { name: 'a', secret });
  second.say({ type: 'task_complete', task_id: id, result: 'not mine' });
  assert.match((await second.hear('task_claimed_fail')).reason, /not held by this agent/);
  second.say({ type: 'task_progress', task_id: id, logs: ['still here'] });
  assert.equal((await second.hear('kill_task')).task_id, id);
  assert.deepEqual(await stateOf(scene, task), ['running', 1, 1]);
  await pass(scene, [second], 6500);
  await scene.tick('reaper');
  assert.equal((await second.take()).id, id);
  assert.deepEqual(await stateOf(scene, task), ['running', 2, 2]);
  assert.deepEqual(await scene.engine.logs.read(task), []);
});

test('an agent that answers no pings loses its lease, and hears of it when it is back', async (t) => {
  const scene = await hubScene(t, { leaseMs: 6000 });
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  agent.socket.pause();
  await scene.world.advance(15_000);
  await scene.tick('reaper');
  assert.deepEqual(await stateOf(scene, task), ['ready', 1, 1]);
  agent.socket.resume();
  await agent.quiet();
  await pass(scene, [agent], 2500);
  assert.equal((await agent.hear('kill_task')).task_id, id);
  agent.say({ type: 'task_complete', task_id: id, result: 'late' });
  await agent.answered();
  assert.equal((await scene.engine.get(task))?.result, undefined);
});

test('an agent that says nothing for a minute is offline and cut off, though it answers pings', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrolAgent('a');
  const agent = await PlainAgent.enter(scene.address, { name: 'a', secret });
  await scene.world.advance(59_000);
  await agent.quiet();
  await scene.world.advance(59_000);
  assert.equal(agent.socket.readyState, agent.socket.OPEN);
  await scene.world.advance(1000);
  assert.deepEqual(await agent.closed, { code: 4408, reason: 'nothing was heard for 60 s' });
  await gone(scene);
  assert.equal((await scene.engine.workers.list())[0]?.state, 'offline');
});

test('how long that is can be set', async (t) => {
  const scene = await hubScene(t, { offlineMs: 1000 });
  const agent = await scene.agent('a');
  await scene.world.advance(1000);
  assert.equal((await agent.closed).code, 4408);
});

test('while it is heard it stays online, though it runs for long', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  for (let i = 0; i < 4; i++) {
    await pass(scene, [agent], 25_000);
    await scene.tick('reaper');
    assert.equal((await scene.engine.workers.list())[0]?.state, 'online');
  }
});

test('a second agent of a name is refused while the first answers, and takes its place when it does not', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrolAgent('a');
  const first = await PlainAgent.enter(scene.address, { name: 'a', secret });
  const second = await PlainAgent.dial(scene.address);
  second.say({ type: 'connect', name: 'a', secret, version: '1', credentials: [] });
  assert.match((await second.hear('connect_rejected')).reason, /is connected already/);
  await first.quiet();
  first.socket.pause();
  // Two pings that nobody answers.
  await scene.world.advance(10_000);
  const third = await PlainAgent.enter(scene.address, { name: 'a', secret });
  first.socket.resume();
  assert.equal((await first.closed).code, 1006);
  // The end of the old connection ends nothing of the new one.
  await scene.world.settle();
  const states = (await scene.engine.workers.list()).map(({ state }) => state);
  assert.deepEqual(states, ['offline', 'online']);
  const { id } = await scene.push();
  assert.equal((await third.take()).id, id);
});

// Ends

test('a failure is tried again as the policy of the task says, and keeps its words', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.engine.push({ queue: 'work', handler: 'echo', maxAttempts: 1 });
  const { id } = await agent.take();
  agent.say({ type: 'task_failed', task_id: id, error: 'no such file', error_details: { path: '/x' }, execution: {} });
  await agent.answered();
  const record = await scene.engine.get(task);
  assert.equal(record?.state, 'failed');
  assert.deepEqual(JSON.parse(record?.result ?? ''), { message: 'no such file', details: { path: '/x' } });
  const again = await scene.engine.push({ queue: 'work', handler: 'echo', maxAttempts: 2 });
  const next = await agent.take();
  agent.say({ type: 'task_failed', task_id: next.id });
  await agent.answered();
  assert.deepEqual(await stateOf(scene, again.task), ['scheduled', 1, 1]);
});

test('a result that cannot be kept fails the task instead of being tried for ever', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  agent.say({ type: 'task_complete', task_id: id, result: 'x'.repeat(2 * 1024 * 1024) });
  await agent.answered();
  const record = await scene.engine.get(task);
  assert.deepEqual(
    [record?.state, (JSON.parse(record?.result ?? '{}') as { code?: string }).code],
    ['failed', 'TOO_LARGE'],
  );
});

test('what is asked to stop is killed, and is cancelled once its agent has said that it ended', async (t) => {
  for (const [i, end] of ['task_complete', 'task_failed'].entries()) {
    const scene = await hubScene(t);
    const agent = await scene.agent('a');
    const { task } = await scene.push();
    const { id } = await agent.take();
    // Once by this node, which hears of it at once, and once by another process.
    if (i === 0) await scene.engine.cancel(task);
    else {
      await scene.engine.store.taskCancel({ tasks: [task] });
      await pass(scene, [agent], 1000);
    }
    assert.equal((await agent.hear('kill_task')).task_id, id);
    assert.equal((await stateOf(scene, task))[0], 'running');
    agent.say({ type: end, task_id: id, result: 1, error: 'killed' });
    await agent.answered();
    assert.deepEqual(await stateOf(scene, task), ['cancelled', 1, 1]);
  }
});

test('an agent that does not obey is believed to have, after five seconds', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  await scene.engine.cancel(task);
  await agent.hear('kill_task');
  await pass(scene, [agent], 4500);
  assert.equal((await stateOf(scene, task))[0], 'running');
  await pass(scene, [agent], 500);
  assert.equal((await stateOf(scene, task))[0], 'cancelled');
  agent.say({ type: 'task_complete', task_id: id, result: 1 });
  assert.match((await agent.hear('task_claimed_fail')).reason, /not held/);
});

test('what is cancelled before it is claimed is not started', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task, id } = await scene.push();
  await agent.offered();
  await scene.engine.cancel(task);
  await scene.world.settle();
  assert.equal((await stateOf(scene, task))[0], 'cancelled');
  agent.say({ type: 'task_claim', task_id: id });
  await agent.hear('task_claimed_fail');
});

test('a task that runs too long is killed, and fails with RUN_TIMEOUT', async (t) => {
  const scene = await hubScene(t, { runTimeoutMs: 60_000 });
  const agent = await scene.agent('a');
  const run = async (timeout: number | undefined, killedAfter: number): Promise<void> => {
    const request = { queue: 'work', handler: 'echo', maxAttempts: 1 };
    const { task } = await scene.engine.push(timeout === undefined ? request : { ...request, timeout });
    const { id, timeout_ms: told } = await agent.take();
    assert.equal(told, killedAfter);
    await pass(scene, [agent], killedAfter - 500);
    assert.ok(!agent.told.some((said) => said.type === 'kill_task' && said.task_id === id));
    await pass(scene, [agent], 500);
    assert.equal((await agent.hear('kill_task')).task_id, id);
    agent.say({ type: 'task_complete', task_id: id, result: 'too late' });
    await agent.answered();
    const record = await scene.engine.get(task);
    assert.deepEqual(
      [record?.state, (JSON.parse(record?.result ?? '{}') as { code?: string }).code],
      ['failed', 'RUN_TIMEOUT'],
    );
  };
  await run(2000, 2000);
  // And where the task says nothing, the bound of the node.
  await run(undefined, 60_000);
});

test('logs are kept in the order in which they came, before and until the end', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  for (let i = 0; i < 50; i++) {
    agent.say({ type: 'task_progress', task_id: id, logs: [`${i} a`, { line: `${i} b`, timestamp: 1_705_746_600 }] });
  }
  agent.say({ type: 'task_progress', task_id: id });
  agent.say({ type: 'task_complete', task_id: id, result: 1 });
  agent.say({ type: 'task_progress', task_id: id, logs: ['too late'] });
  await agent.hear('kill_task');
  const lines = await scene.engine.logs.read(task, { limit: 1000 });
  assert.deepEqual(
    lines.map(({ text }) => text),
    Array.from({ length: 50 }, (_, i) => [`${i} a`, `${i} b`]).flat(),
  );
  assert.equal(lines[1]?.at, 1_705_746_600_000);
});

test('what was said before a hang-up counts, to the last word', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await agent.take();
  agent.say({ type: 'task_progress', task_id: id, logs: ['one'] });
  agent.say({ type: 'task_progress', task_id: id, logs: ['two'] });
  agent.say({ type: 'task_complete', task_id: id, result: 'done' });
  agent.socket.close();
  await agent.closed;
  await gone(scene);
  const record = await scene.engine.get(task);
  assert.deepEqual([record?.state, record?.result], ['completed', '"done"']);
  assert.equal((await scene.engine.logs.read(task)).length, 2);
});

test('a result that is kept takes the place of a run, and what an agent brings is kept', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const request = { queue: 'work', handler: 'echo', input: { n: 1 }, reuse: true } as const;
  const first = await scene.engine.push(request);
  const { id } = await agent.take();
  agent.say({ type: 'task_complete', task_id: id, result: 42 });
  await agent.answered();
  const second = await scene.engine.push(request);
  assert.notEqual(second.task, first.task);
  const record = await scene.engine.finished(second.task);
  assert.deepEqual([record.state, record.result], ['completed', '42']);
  assert.equal(agent.told.filter(({ type }) => type === 'task_available').length, 1);
});

// Settings

test('what is said of an agent reaches it within a second, and a disabled one is offered nothing more', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push(1);
  const { id } = await agent.take();
  await scene.engine.store.workerSet({ name: 'a', enabled: false, priority: 3, tags: ['gpu'] });
  await pass(scene, [agent], 1000);
  assert.deepEqual(await agent.hear('config_update'), {
    type: 'config_update',
    enabled: false,
    priority: 3,
    tags: ['gpu'],
  });
  await scene.push(2);
  agent.say({ type: 'task_complete', task_id: id, result: 1 });
  await agent.answered();
  assert.equal((await stateOf(scene, task))[0], 'completed');
  await pass(scene, [agent], 3000);
  assert.equal(agent.told.filter(({ type }) => type === 'task_available').length, 1);
  await scene.engine.workers.set({ name: 'a', enabled: true });
  await pass(scene, [agent], 1000);
  assert.deepEqual((await agent.take()).input, 2);
});

test('an agent is cut off within a second when its secret ends, and what it ran is left to its lease', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const { task } = await scene.push();
  await agent.take();
  await scene.enrolment.remove('a');
  await scene.world.advance(1000);
  assert.deepEqual(await agent.closed, { code: 4401, reason: 'the secret was revoked' });
  await gone(scene);
  assert.deepEqual(await stateOf(scene, task), ['running', 1, 1]);
});

// Nonsense, and too much

test('what is no message ends the connection; what dazflow does not know is left alone', async (t) => {
  const scene = await hubScene(t);
  const secret = await scene.enrolAgent('a');
  const nonsense: readonly unknown[] = [
    '{',
    'null',
    '7',
    '[]',
    '[{"type":"heartbeat"}]',
    {},
    { type: 7 },
    { type: 'task_claim' },
    { type: 'task_claim', task_id: 7 },
    { type: 'task_claim', task_id: 'x'.repeat(201) },
    { type: 'task_progress', task_id: 'x', logs: 'line' },
    { type: 'task_progress', task_id: 'x', logs: [{ text: 'line' }] },
    `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    Buffer.from('{"type":"heartbeat"}'),
  ];
  for (const message of nonsense) {
    const agent = await PlainAgent.enter(scene.address, { name: 'a', secret });
    agent.say(message);
    assert.deepEqual(await agent.closed, { code: 1007, reason: 'that is not a message' }, String(message).slice(0, 80));
    await gone(scene);
  }
  const agent = await PlainAgent.enter(scene.address, { name: 'a', secret });
  for (const message of [
    { type: 'what_is_new', x: 1 },
    { type: 'credential_ack', name: 'discord', status: 'success' },
    { type: 'heartbeat', load: 0.5 },
  ]) {
    agent.say(message);
  }
  await agent.hear('heartbeat_ack');
  await agent.answered();
});

test('nobody speaks for the task of another agent', async (t) => {
  const scene = await hubScene(t);
  const a = await scene.agent('a');
  const { task } = await scene.push();
  const { id } = await a.take();
  const b = await scene.agent('b');
  for (const said of [
    { type: 'task_complete', task_id: id, result: 'stolen' },
    { type: 'task_failed', task_id: id, error: 'stolen' },
    { type: 'task_claim', task_id: id },
  ]) {
    b.say(said);
    assert.match((await b.hear('task_claimed_fail')).reason, /not held by this agent/);
  }
  b.say({ type: 'task_progress', task_id: id, logs: ['stolen'] });
  await b.hear('kill_task');
  assert.deepEqual(await stateOf(scene, task), ['running', 1, 1]);
  assert.deepEqual(await scene.engine.logs.read(task), []);
  a.say({ type: 'task_complete', task_id: id, result: 'mine' });
  await a.answered();
  assert.equal((await scene.engine.get(task))?.result, '"mine"');
});

/** The node's own end of the only connection. */
function ownEnd(t: TestContext): Promise<WebSocket> {
  return new Promise((resolve) => {
    const ping = Reflect.get(WebSocket.prototype, 'ping') as (this: WebSocket) => void;
    t.mock.method(WebSocket.prototype, 'ping', function (this: WebSocket) {
      resolve(this);
      ping.call(this);
    });
  });
}

test('an agent that does not read is heard no more, and nothing is claimed for it', async (t) => {
  const scene = await hubScene(t);
  const agent = await scene.agent('a');
  const end = ownEnd(t);
  await scene.world.advance(6000);
  const own = await end;
  agent.socket.pause();
  // Their answers are more than the system takes on the way.
  const count = 60_000;
  const unknown = 'x'.repeat(200);
  for (let i = 0; i < count; i++) agent.say({ type: 'task_claim', task_id: unknown });
  for (let quiet = 0; quiet < 10; ) {
    const before = own.bufferedAmount;
    await new Promise((resolve) => void setTimeout(resolve, 20));
    quiet = own.isPaused && own.bufferedAmount === before ? quiet + 1 : 0;
  }
  assert.ok(own.bufferedAmount < 3 * 1024 * 1024, `${own.bufferedAmount} bytes are kept for it`);
  const { task } = await scene.push();
  await scene.world.settle();
  assert.deepEqual(await stateOf(scene, task), ['ready', 0, 0]);
  const other = await scene.agent('b');
  await other.take();
  agent.socket.resume();
  const answers = (): number => agent.told.filter(({ type }) => type === 'task_claimed_fail').length;
  while (answers() < count) await agent.quiet();
  assert.equal(answers(), count);
});

test('a node that stops gives back what was only offered, and leaves what runs to its lease', async (t) => {
  const scene = await hubScene(t);
  const a = await scene.agent('a');
  const first = await scene.push(1);
  await a.take();
  const b = await scene.agent('b');
  const second = await scene.push(2);
  await b.offered();
  await scene.gateway.close();
  assert.equal((await a.closed).code, 1012);
  assert.deepEqual(await stateOf(scene, first.task), ['running', 1, 1]);
  assert.deepEqual(await stateOf(scene, second.task), ['ready', 1, 0]);
  assert.deepEqual(
    (await scene.engine.workers.list()).map(({ state }) => state),
    ['offline', 'offline'],
  );
});

test('the task of a node is offered with its run, its node and what it asks for, and who claimed it is told with it', async (t) => {
  const scene = await hubScene(t);
  const { engine } = scene;
  await engine.limits.set('voice', { concurrent: 3 });
  const graph = workflow(
    {
      start: { typeId: 'core/start' },
      send: {
        typeId: 'discord/discord_send',
        agentConfig: { agents: ['a'], requiredTags: [], concurrencyGroup: 'voice' },
        required_credential: 'discord',
        data: { message: 'hello' },
      },
    },
    ['start>send'],
  );
  await new EngineOperator(engine).call('startRun', { body: { graph, title: 'greet', name: 'greet-1' } });
  const session = await new DirectLink(engine, undefined).open({
    name: 'runs',
    incarnation: 'i',
    slots: 1,
    tags: [],
    handlers: ['graph'],
    queues: undefined,
  });
  const [lease] = await session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal });
  assert.ok(lease);
  const child = { queue: 'graphs', handler: 'discord/discord_send', input: { message: 'hello' } };
  const asks = { placement: { only: ['a'], credentials: ['discord'] }, limits: ['voice'] };
  await session.turn(lease, {
    entries: [{ key: 'n:1/0', kind: 'child', child: { ...child, ...asks } }],
    then: { go: 'on' },
  });
  const secret = await scene.enrolAgent('a');
  await engine.workers.set({ name: 'a', tags: ['credential:discord'] });
  const agent = await PlainAgent.enter(scene.address, { name: 'a', secret });
  const { task } = (await agent.hear('task_available')) as Extract<
    DazflowNotice,
    { task: DazflowTask; type: 'task_available' }
  >;
  const about = ({ execution_id, workflow_name, node_id, agent_config, required_credential }: DazflowTask) => ({
    execution_id,
    workflow_name,
    node_id,
    agent_config,
    required_credential,
  });
  const place = {
    execution_id: 'greet-1',
    workflow_name: 'greet',
    node_id: 'send',
    agent_config: { agents: ['a'], requiredTags: [], concurrencyGroup: 'voice' },
    required_credential: 'discord',
  };
  assert.deepEqual([about(task), task.claimed_by, task.claimed_at], [place, null, null]);
  agent.say({ type: 'task_claim', task_id: task.id });
  const { task: claimed } = await agent.hear('task_claimed_ok');
  assert.deepEqual([about(claimed), claimed.claimed_by], [place, 'a']);
  assert.ok(!Number.isNaN(Date.parse(claimed.claimed_at ?? '')));
});
