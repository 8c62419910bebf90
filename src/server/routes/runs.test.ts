import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { counting, machine, machineWorker } from '../../../test/support/runs/run-scene.ts';
import { open } from '../../app/open.ts';

const RUNS = '/api/v1/runs';
const CHILD = machine({
  states: { ask: { wait_for: 'word', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
});
const PARENT = machine({
  name: 'parent',
  context: { count: 0 },
  machines: { child: CHILD },
  states: {
    up: { action: 'up', transitions: [{ to: 'below' }] },
    below: { machine: 'child', transitions: [{ to: 'end' }] },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
});

async function scene(t: TestContext): Promise<NodeScene> {
  const node = await nodeScene(t, { housekeeping: false });
  await machineWorker(t, node.service.app, counting);
  return node;
}

async function until(node: NodeScene, id: string, state: string) {
  for (;;) {
    const run = await node.call('getRun', `${RUNS}/${encodeURIComponent(id)}`);
    if (run.state === state) return run;
    assert.notEqual(run.state, 'failed', JSON.stringify(run.error));
    await new Promise((go) => setTimeout(go, 5));
  }
}

test('a run is started, looked at by its name, followed, answered and forked over HTTP', async (t) => {
  const node = await scene(t);
  const name = 'nightly/7 ü';
  const started = await node.call('startRun', RUNS, { body: { machine: PARENT, name, labels: { team: 'a' } } });
  assert.deepEqual([started.fresh, started.name, started.queue], [true, name, 'machines']);
  const stop = new AbortController();
  const response = await fetch(node.url(`/api/v1/events?run=${encodeURIComponent(name)}&after=0`), {
    headers: node.headers({}),
    signal: stop.signal,
  });
  const other = await node.call('pushTasks', '/api/v1/tasks', { body: { queue: 'q' } });
  const waiting = await until(node, name, 'waiting');
  for (let run = waiting; !/one of them waits for signal word/.test(run.summary); )
    run = await until(node, name, 'waiting');
  const { steps } = await node.call('listRunSteps', `${RUNS}/${encodeURIComponent(name)}/steps`);
  const child = steps.find(({ kind }: { kind: string }) => kind === 'child');
  assert.match(child.key, /^s:000002\/0$/);
  const step = await node.call('getRunStep', `${RUNS}/${started.id}/steps/${encodeURIComponent(child.key)}`);
  assert.equal(step.child, child.child);
  const task = await node.call('getTask', `/api/v1/tasks/${child.child}`);
  assert.deepEqual([task.runId, task.parentId], [started.id, started.id]);
  await node.call('sendSignal', '/api/v1/signals', { body: { channel: 'word', body: 1 } });
  const done = await until(node, name, 'completed');
  assert.deepEqual(done.output, { count: 1 });

  const tasks = new Set<string>();
  for await (const { data } of messagesOf(response)) {
    const event = data as { task: string; runId: string; state: string };
    assert.equal(event.runId, started.id);
    tasks.add(event.task);
    if (event.task === started.id && event.state === 'completed') break;
  }
  stop.abort();
  assert.deepEqual(tasks, new Set([started.id, child.child]));
  assert.ok(!tasks.has(other.id));

  const fork = await node.call('forkRun', `${RUNS}/${started.id}/fork`, {
    body: { step: 's:000001', context: { count: 9 }, name: 'other' },
  });
  assert.equal(fork.forkedFrom, started.id);
  await until(node, 'other', 'waiting');
  const cancelled = await node.call('cancelRun', `${RUNS}/other/cancel`, { body: { reason: 'enough' } });
  assert.deepEqual(
    [cancelled.state, cancelled.cancelReason, typeof cancelled.cancelledBy],
    ['cancelled', 'enough', 'string'],
  );
  const { runs } = await node.call('listRuns', `${RUNS}?state=cancelled&name=oth`);
  assert.deepEqual(
    runs.map(({ id }: { id: string }) => id),
    [fork.id],
  );
});

test('a start that is repeated under an idempotency key gives the first run', async (t) => {
  const node = await scene(t);
  const ask = { body: { machine: PARENT }, headers: { 'idempotency-key': 'k' } };
  const first = await node.call('startRun', RUNS, ask);
  const second = await node.call('startRun', RUNS, ask);
  assert.equal(second.id, first.id);
  const other = await node.ask(RUNS, { ...ask, body: { machine: PARENT, input: { x: 1 } } });
  assert.equal(other.status, 409);
});

test('an agent is a run of its own kind, started as one or pushed as any task', async (t) => {
  const node = await scene(t);
  const task = { queue: 'agents', handler: 'agent', input: { gateway: 'writer', prompt: 'Write' } };
  const started = await node.call('startRun', RUNS, { body: { task, title: 'a letter', name: 'letter' } });
  assert.deepEqual([started.kind, started.title], ['agent', 'a letter']);
  const { runs } = await node.call('listRuns', `${RUNS}?kind=agent`);
  assert.deepEqual(
    runs.map(({ id }: { readonly id: string }) => id),
    [started.id],
  );
  const pushed = (await node.ask('/api/v1/tasks', { body: task })).body;
  for (const id of [started.id, pushed.id]) assert.equal((await node.call('getRun', `${RUNS}/${id}`)).kind, 'agent');
  const fork = await node.ask(`${RUNS}/${started.id}/fork`, { body: {} });
  assert.equal(fork.status, 409, JSON.stringify(fork.body));
});

test('who may only read starts, cancels, retries and forks nothing', async (t) => {
  const node = await scene(t);
  const run = await node.call('startRun', RUNS, { body: { machine: CHILD } });
  const { token } = await node.token('read');
  for (const path of ['', `/${run.id}/cancel`, `/${run.id}/retry`, `/${run.id}/fork`, `/${run.id}/budgets`]) {
    assert.equal((await node.ask(RUNS + path, { token, body: {} })).status, 403, path);
  }
  assert.equal((await node.ask(`${RUNS}/${run.id}`, { token })).status, 200);
  assert.equal((await node.ask(RUNS, { token: null })).status, 401);
});

test('hostile ids, keys and cursors are refused with a code', async (t) => {
  const node = await scene(t);
  const run = await node.call('startRun', RUNS, { body: { machine: CHILD } });
  const codes = async (paths: readonly string[]) => {
    for (const path of paths) {
      const { status, body } = await node.ask(path);
      assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
      assert.match(body.error.code, /^(?:NOT_FOUND|INVALID_INPUT|INVALID_ID)$/, path);
    }
  };
  const evil = ['%00', '..%2f..%2fetc', "1'%20or%201=1", 'x'.repeat(499), 'task_zzzz', '%E2%80%AE'];
  await codes(evil.map((id) => `${RUNS}/${id}`));
  await codes(evil.map((id) => `/api/v1/events?run=${id}`));
  await codes(evil.map((key) => `${RUNS}/${run.id}/steps/${key}`));
  await codes(evil.map((cursor) => `${RUNS}/${run.id}/steps?cursor=${cursor}`));
  await codes([`${RUNS}?cursor=x`, `${RUNS}?state=asleep`, `${RUNS}?limit=0`, `${RUNS}/${run.id}/steps?task=999999`]);
});

test('the library does the same over HTTP', async (t) => {
  const node = await scene(t);
  const app = await open(node.service.address as `http://${string}`, { token: node.admin });
  t.after(() => app.close());
  const run = await app.runs.start({ machine: CHILD, name: 'a/b' });
  await until(node, 'a/b', 'waiting');
  assert.equal((await app.runs.get('a/b'))?.id, run.id);
  assert.equal(await app.runs.get('c/d'), undefined);
  assert.equal((await app.runs.cancel('a/b', { reason: 'x' })).state, 'cancelled');
  await app.runs.retry('a/b');
  await until(node, 'a/b', 'waiting');
  await app.signal('word', 1);
  await app.handle(run.id).result();
  const { steps } = await app.runs.steps('a/b');
  const step = steps.find(({ kind }) => kind === 'step');
  assert.equal((await app.runs.step('a/b', step?.key ?? '')).out, 1);
});

test('a worker of another host runs a machine with children and waits, and may do nothing else for it', async (t) => {
  const node = await nodeScene(t, { housekeeping: false });
  const app = await open(node.service.address as `http://${string}`, { token: node.admin });
  t.after(() => app.close({ drainMs: 0 }));
  await machineWorker(t, app, counting);
  const run = await app.runs.start({ machine: PARENT, name: 'joined' });
  for (let one = await until(node, 'joined', 'waiting'); !/waits for signal word/.test(one.summary); ) {
    one = await until(node, 'joined', 'waiting');
  }
  await app.signal('word', 1);
  assert.deepEqual(await app.handle(run.id).result(), { count: 1 });
  const { engine } = node;
  const record = await engine.get(engine.parseId(run.id));
  const permissions = await engine.permissionsOf(record?.spec ?? 0);
  assert.deepEqual(permissions, { handlers: ['machine'], queues: ['machines'], waits: ['word'] });
});
