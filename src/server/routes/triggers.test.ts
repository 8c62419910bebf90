import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';

const PATH = '/api/v1/triggers';

test('a trigger is put, listed, read, turned off and on, fired, told of and removed', async (t) => {
  const scene = await nodeScene(t);
  const put = await scene.call('putTrigger', PATH, {
    body: { name: 'greet', kind: 'manual', push: { queue: 'mail', maxAttempts: 2 }, input: { to: 'Ada' } },
  });
  assert.deepEqual([put.enabled, put.fired, put.newSecret], [true, 0, undefined]);
  const off = await scene.call('disableTrigger', `${PATH}/greet/disable`, { body: {} });
  assert.equal(off.enabled, false);
  const fired = await scene.call('fireTrigger', `${PATH}/greet/fire`, { body: { input: { by: 'me' } } });
  assert.deepEqual([fired.fresh, fired.n, fired.outcome], [true, 1, 'pushed']);
  const task = await scene.call('getTask', `/api/v1/tasks/${fired.id}`);
  assert.deepEqual(
    [task.queue, task.handler, task.maxAttempts, task.input],
    ['mail', 'mail', 2, { to: 'Ada', by: 'me' }],
  );
  await scene.call('enableTrigger', `${PATH}/greet/enable`, { body: {} });
  const read = await scene.call('getTrigger', `${PATH}/greet`);
  assert.deepEqual([read.enabled, read.fired, read.last.task, read.last.state], [true, 1, fired.id, 'ready']);
  const { history } = await scene.call('triggerHistory', `${PATH}/greet/history?limit=5`);
  assert.deepEqual(history, [read.last]);
  const { triggers } = await scene.call('listTriggers', `${PATH}?kind=manual`);
  assert.deepEqual(triggers, [read]);
  assert.deepEqual((await scene.call('listTriggers', `${PATH}?kind=event`)).triggers, []);
  assert.deepEqual(await scene.call('removeTrigger', `${PATH}/greet`), read);
  assert.equal((await scene.ask(`${PATH}/greet`)).status, 404);
});

test('a firing that is repeated under its key happens once', async (t) => {
  const scene = await nodeScene(t);
  await scene.call('putTrigger', PATH, { body: { name: 'greet', kind: 'manual', push: { queue: 'mail' } } });
  const fire = (key: string) =>
    scene.call('fireTrigger', `${PATH}/greet/fire`, { body: {}, headers: { 'idempotency-key': key } });
  const [first, again, other] = [await fire('a'), await fire('a'), await fire('b')];
  assert.deepEqual([first.fresh, again.fresh, other.fresh], [true, false, true]);
  assert.deepEqual([again.id, again.n], [first.id, first.n]);
  assert.notEqual(other.id, first.id);
});

test('what is wrong with a trigger is refused with its field, and nothing is made', async (t) => {
  const scene = await nodeScene(t);
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ kind: 'manual' }, /one action/],
    [{ kind: 'manual', push: { queue: 'q' }, check: 'p' }, /one action/],
    [{ kind: 'manual', push: { queue: 'Q Q' } }, /queue name/],
    [{ kind: 'manual', push: { queue: 'q', input: 1 } }, /input/],
    [{ kind: 'manual', run: { workflow: 'none' } }, /no workflow none/],
    [{ kind: 'manual', run: { machine: 7 } }, /machine/],
    [{ kind: 'manual', run: { use: 'm', graph: {} } }, /graph|exactly one/],
    [{ kind: 'event', push: { queue: 'q' } }, /on/],
    [{ kind: 'file', folder: 'here', push: { queue: 'q' } }, /absolute/],
    [{ kind: 'manual', secret: { value: 'x'.repeat(20) }, push: { queue: 'q' } }, /secret/],
    [{ kind: 'manual', push: { queue: 'q' }, execution: 'process' }, /only a run/],
    [{ kind: 'webhook', secret: { sealed: 'x' }, push: { queue: 'q' } }, /secret/],
  ];
  for (const [body, words] of wrong) {
    const answer = await scene.ask(PATH, { body: { name: 'bad', ...body } });
    assert.ok(answer.status === 400 || answer.status === 404, `${answer.status} ${JSON.stringify(body)}`);
    assert.match(answer.body.error.message, words, JSON.stringify(body));
  }
  assert.deepEqual((await scene.call('listTriggers', PATH)).triggers, []);
});

test('a trigger starts a run of a graph, a machine or a stored workflow, in its newest version', async (t) => {
  const scene = await nodeScene(t);
  const graph = (text: string) => ({
    nodes: [
      { id: 'start', typeId: 'start' },
      { id: 'say', typeId: 'set', data: { fields: [{ name: 'said', value: text }] } },
    ],
    connections: [{ id: 'c', sourceNodeId: 'start', targetNodeId: 'say' }],
  });
  const put = (name: string, run: object) =>
    scene.call('putTrigger', PATH, { body: { name, kind: 'manual', run, input: { a: 1 } } });
  await scene.call('applyWorkflow', '/api/v1/workflows', { body: { name: 'flow', workflow: graph('one') } });
  await put('stored', { workflow: 'flow' });
  await put('known', { use: 'ingest', labels: { of: 'me' } });
  await put('own', { graph: graph('own'), title: 'Mine' });
  const run = async (name: string) => {
    const { id } = await scene.call('fireTrigger', `${PATH}/${name}/fire`, { body: { input: { b: 2 } } });
    return scene.call('getRun', `/api/v1/runs/${id}`);
  };
  const first = await run('stored');
  await scene.call('applyWorkflow', '/api/v1/workflows', { body: { name: 'flow', workflow: graph('two') } });
  const second = await run('stored');
  assert.deepEqual([first.labels.version, second.labels.version, second.title], ['1', '2', 'flow']);
  const known = await run('known');
  assert.deepEqual(
    [known.kind, known.title, known.labels, known.queue],
    ['machine', 'ingest', { of: 'me' }, 'machines'],
  );
  assert.deepEqual(known.input, { a: 1, b: 2 });
  assert.deepEqual([(await run('own')).title, (await run('own')).kind], ['Mine', 'graph']);
});

test('a run that a trigger starts has the name of its delivery, a title and budgets', async (t) => {
  const scene = await nodeScene(t);
  const put = (run: object) =>
    scene.ask(PATH, { method: 'POST', body: { name: 'papers', kind: 'manual', run: { use: 'ingest', ...run } } });
  const budgets = [{ unit: 'money', soft: 0.5, hard: 2 }];
  assert.equal((await put({ name: 'paper', title: 'One paper', budgets })).status, 200);
  const fire = (key?: string) =>
    scene.call('fireTrigger', `${PATH}/papers/fire`, {
      body: {},
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    });
  const { id } = await fire('7');
  const run = await scene.call('getRun', `/api/v1/runs/${id}`);
  assert.equal(run.title, 'One paper');
  assert.match(run.name ?? '', /^paper:hand:trigger:/);
  assert.equal((await scene.call('getRun', `/api/v1/runs/${encodeURIComponent(run.name ?? '')}`)).id, id);
  const [budget] = run.budgets;
  assert.deepEqual([budget?.unit, budget?.soft, budget?.hard], ['money', 0.5, 2]);
  const others = [await fire(), await fire()].map((fired) => fired.id);
  assert.equal(new Set([id, ...others]).size, 3, 'each delivery has a run of its own');
  for (const run of [{ name: 7 }, { name: 'x'.repeat(101) }, { budgets: [{ unit: 'apples', hard: 1 }] }])
    assert.equal((await put(run)).status, 400, JSON.stringify(run));
});

test('a check asks the pools of its node; where there is none the history says so, and nobody waits', async (t) => {
  const scene = await nodeScene(t);
  await scene.call('putPool', '/api/v1/pools', { body: { name: 'papers', policy: { max: 0 } } });
  await scene.engine.push({ queue: 'papers', handler: 'read' });
  const poor = await nodeScene(t);
  for (const node of [scene, poor]) {
    await node.call('putTrigger', PATH, { body: { name: 'look', kind: 'manual', check: 'papers', input: { a: 1 } } });
    const fired = await node.call('fireTrigger', `${PATH}/look/fire`, { body: {} });
    assert.deepEqual([fired.outcome, fired.id], ['accepted', undefined]);
  }
  const ended = async (node: typeof scene): Promise<{ outcome: string; detail?: string }> => {
    for (;;) {
      const { history } = await node.call('triggerHistory', `${PATH}/look/history`);
      if (history[0].outcome !== 'accepted') return history[0];
    }
  };
  const [fine, none] = [await ended(scene), await ended(poor)];
  const nobody = { want: 0, started: 0, sentHome: 0, reasons: ['work', 'at_max'] };
  assert.deepEqual([fine.outcome, JSON.parse(fine.detail ?? '')], ['done', nobody]);
  assert.equal(none.outcome, 'failed');
  assert.match(String(none.detail), /no pool papers/);
});

test('a webhook keeps its secret when it is put again, and takes one that its sender has chosen', async (t) => {
  const scene = await nodeScene(t);
  const body = { name: 'paid', kind: 'webhook', push: { queue: 'orders' } };
  const { newSecret } = await scene.call('putTrigger', PATH, { body });
  assert.match(newSecret, /^lh_hook_[\w-]{43}$/);
  const again = await scene.call('putTrigger', PATH, { body: { ...body, window: '1m' } });
  assert.deepEqual([again.newSecret, again.secret, again.path], [undefined, 'made', '/api/v1/hooks/paid']);
  const send = async (secret: string): Promise<number> => {
    const time = Math.floor(Date.now() / 1000);
    const id = String(Math.random());
    const v1 = createHmac('sha256', secret).update(`${id}.${time}.{}`).digest('hex');
    const headers = { 'x-leasehold-id': id, 'x-leasehold-signature': `t=${time},v1=${v1}` };
    return (await scene.ask('/api/v1/hooks/paid', { body: {}, token: null, headers })).status;
  };
  assert.equal(await send(newSecret), 202);
  await scene.call('putTrigger', PATH, { body: { ...body, secret: { value: 'chosen by its sender' } } });
  assert.deepEqual([await send(newSecret), await send('chosen by its sender')], [404, 202]);
  const named = await scene.call('putTrigger', PATH, { body: { ...body, secret: { env: 'LEASEHOLD_HOOK_NONE' } } });
  assert.deepEqual([named.secret, named.variable], ['variable', 'LEASEHOLD_HOOK_NONE']);
  assert.equal(await send(''), 404, 'a variable that is not there signs nothing');
});
