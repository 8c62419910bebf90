import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rpcScene } from '../../../test/support/rpc-scene.ts';

const TREE = [
  { id: 'r', name: 'root', schemas: { method: 'echo' } },
  { id: 'a', name: 'echo', parent_id: 'r', inputs: { n: 1 } },
  { id: 'b', name: 'echo', parent_id: 'r', dependencies: [{ id: 'a' }] },
];

test('a task that was written down is pending, with all that was said of it, until it is executed', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  const given = {
    id: 'one',
    name: 'My task',
    priority: 1,
    inputs: { a: [1, null], text: 'Ä 🎄' },
    params: { depth: 2 },
    schemas: { type: 'test', method: 'echo', input_schema: { type: 'object', properties: { a: { type: 'array' } } } },
    user_id: "o'neill",
    placement_constraints: { requires_capabilities: { gpu: 'nvidia' }, forbidden_nodes: ['n9'] },
  };
  const made = await it.call('tasks.create', given);
  assert.deepEqual(made.children, []);
  const seen = await it.call('tasks.get', { task_id: 'one' });
  const { id, name, priority, inputs, params, schemas, user_id, placement_constraints } = seen;
  assert.deepEqual({ id, name, priority, inputs, params, schemas, user_id, placement_constraints }, given);
  const { status, result, error, progress, task_tree_id, origin_type, version, execution } = seen;
  assert.deepEqual([status, result, error, progress, execution], ['pending', null, null, 0, 0]);
  assert.deepEqual([task_tree_id, origin_type, version], ['one', 'create', 1]);
  assert.equal((await it.call('tasks.detail', { task_id: 'one' })).has_children, false);
  assert.ok(Date.parse(seen.created_at) > 0);
  assert.deepEqual(await it.call('find_executable_tasks', { node_id: 'n1' }), []);
  assert.equal(await it.refusal('acquire_lease', { node_id: 'n1', task_id: 'one' }), -32006);
});

test('tasks may name each other by id, or by name where they have no id, and come back as a tree', async (t) => {
  const it = await rpcScene(t);
  const tree = await it.call('tasks.create', {
    tasks: [
      { name: 'top', schemas: { method: 'echo' } },
      { name: 'first', parent_id: 'top', schemas: { method: 'echo' } },
      { name: 'second', parent_id: 'top', schemas: { method: 'echo' }, dependencies: ['first'] },
      { id: 'third', name: 'x', parent_id: 'second', dependencies: [{ name: 'first', required: false }] },
    ],
  });
  assert.equal(tree.name, 'top');
  assert.match(tree.id, /^[0-9a-f-]{36}$/);
  const [first, second] = tree.children;
  assert.deepEqual(second.dependencies, [{ id: first.id, required: true }]);
  assert.deepEqual(second.children[0].dependencies, [{ id: first.id, required: false }]);
  const again = await it.call('tasks.tree', { id: 'third' });
  assert.deepEqual([again.id, again.children.length, again.children[1].children[0].id], [tree.id, 2, 'third']);
  assert.deepEqual(
    (await it.call('tasks.children', { parent_id: tree.id })).map(({ name }: { name: string }) => name),
    ['first', 'second'],
  );
});

test('a task that is no task is refused with its place and what is wrong with it', async (t) => {
  const it = await rpcScene(t);
  for (const [task, says] of [
    [{}, /tasks\.0\.name/],
    [{ name: '' }, /name/],
    [{ name: 'echo', extra: 1 }, /extra/],
    [{ name: 'echo', priority: 4 }, /priority/],
    [{ name: 'echo', inputs: [1] }, /inputs/],
    [{ name: 'echo', inputs: { a: 'x\u0000y' } }, /NUL/],
    [{ name: 'echo', id: 'task_1' }, /id/],
    [{ name: 'echo', id: 'a b' }, /id/],
    [{ name: 'not a handler' }, /schemas\.method/],
    [{ name: 'x', schemas: { method: 'a b' } }, /schemas\.method/],
    [{ name: 'echo', schemas: { methods: 'x' } }, /methods/],
    [{ name: 'echo', queue: 'Not A Queue' }, /queue/],
    [{ name: 'echo', dependencies: [{ required: true }] }, /dependencies/],
    [{ name: 'echo', placement_constraints: { requires: 1 } }, /requires/],
    [{ name: 'echo', placement_constraints: { allowed_nodes: [] } }, /no node could run/],
    [{ name: 'echo', schedule_type: 'cron' }, /schedule_type/],
    [{ name: 'echo', backoff_strategy: 'linear' }, /backoff_strategy/],
    [{ name: 'echo', inputs: { big: 'x'.repeat(2_000_000) } }, /too large/],
  ] as const) {
    const { error } = await it.ask('tasks.create', [task]);
    assert.equal(error?.code, -32005, JSON.stringify(task));
    assert.match(error.message, says);
  }
  assert.equal(await it.refusal('tasks.create', ['x']), -32005);
  assert.equal((await it.call('tasks.count')).total, 0);
});

test('a tree that is none is refused by what is wrong with it', async (t) => {
  const it = await rpcScene(t);
  const task = (id: string, more: object = {}) => ({ id, name: 'echo', ...more });
  for (const [tasks, code] of [
    [
      [
        task('r'),
        task('a', { parent_id: 'r', dependencies: ['b'] }),
        task('b', { parent_id: 'r', dependencies: ['a'] }),
      ],
      -32002,
    ],
    [[task('r'), task('a', { parent_id: 'r', dependencies: ['a'] })], -32002],
    [[task('r'), task('a', { parent_id: 'r', dependencies: ['r'] })], -32002],
    [[task('r'), task('a', { parent_id: 'none' })], -32010],
    [[task('r', { parent_id: 'a' }), task('a', { parent_id: 'r' })], -32010],
    [[task('r'), task('a', { parent_id: 'r', dependencies: ['none'] })], -32011],
    [[task('r'), task('s')], -32012],
    [[task('r'), task('r')], -32012],
  ] as const) {
    assert.equal(await it.refusal('tasks.create', tasks), code);
  }
  assert.equal((await it.call('tasks.count')).total, 0);
  await it.call('tasks.create', TREE);
  assert.equal(await it.refusal('tasks.create', task('r')), -32012, 'the id is taken');
  assert.equal(await it.refusal('tasks.create', task('x', { dependencies: ['a'] })), -32011, 'it is in another tree');
});

test('a tree is executed, in order and with the results of what it depends on, and stands for what its tasks come to', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', TREE);
  const started = await it.call('tasks.execute', { task_id: 'r' });
  const { success, protocol, root_task_id, task_id, status, tasks } = started;
  assert.deepEqual([success, protocol, root_task_id, task_id, status], [true, 'jsonrpc', 'r', 'r', 'started']);
  assert.deepEqual(
    tasks.map(({ id }: { id: string }) => id),
    ['r', 'a', 'b'],
  );
  assert.equal(await it.refusal('tasks.execute', { task_id: 'r' }), -32008);
  assert.equal(await it.refusal('tasks.execute', { task_id: 'b' }), -32008, 'whichever of the tree is asked for');
  assert.deepEqual(await it.call('tasks.count'), {
    total: 3,
    pending: 3,
    in_progress: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
  });
  assert.equal(await it.refusal('acquire_lease', { node_id: 'n1', task_id: 'b' }), -32007);
  const inputs: unknown[] = [];
  const order = await it.work((lease) => {
    inputs.push(lease.inputs);
    return { from: lease.id };
  });
  assert.deepEqual(order, ['a', 'b', 'r']);
  assert.deepEqual(inputs, [{ n: 1 }, { a: { from: 'a' } }, {}]);
  const tree = await it.call('tasks.tree', { task_id: 'r' });
  assert.deepEqual([tree.status, tree.progress, tree.result], ['completed', 1, { from: 'r' }]);
  assert.deepEqual(tree.children[1].result, { from: 'b' });
  assert.ok(tree.completed_at >= tree.started_at && tree.started_at >= tree.created_at);
  assert.equal(await it.refusal('tasks.execute', { task_id: 'r' }), -32006, 'nothing is left to execute');
});

test('tasks that come with the call are written down and executed; what nobody runs is told', async (t) => {
  const it = await rpcScene(t);
  await it.register('n1', ['other']);
  const started = await it.call('tasks.execute', { tasks: TREE });
  assert.deepEqual([started.root_task_id, started.warnings], ['r', ['no worker that is online runs echo']]);
  assert.equal(await it.status('r'), 'pending', 'nobody has begun it');
  assert.equal(await it.refusal('tasks.execute', { tasks: TREE }), -32012);
  assert.equal(await it.refusal('tasks.execute', { tasks: TREE, task_id: 'r' }), -32602);
  assert.equal(await it.refusal('tasks.execute', {}), -32602);
  assert.equal(await it.refusal('tasks.execute', { task_id: 'none' }), -32001);
});

test('what is not built is refused and never passed over', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', TREE);
  const { error } = await it.ask('tasks.execute', { task_id: 'r', use_demo: true });
  assert.equal(error?.code, -32602);
  assert.match(error.message, /not supported/);
  assert.equal(await it.status('r'), 'pending');
});

test('a pending task is changed by who has seen it as it is; one that was executed is not', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', TREE);
  const edit = { task_id: 'a', name: 'shell', inputs: { m: 2 }, priority: 0, user_id: 'ada' };
  const edited = await it.call('tasks.update', { ...edit, version: 1 });
  assert.deepEqual([edited.name, edited.inputs, edited.priority, edited.user_id], ['shell', { m: 2 }, 0, 'ada']);
  assert.equal(edited.version, 2);
  assert.equal((await it.ask('tasks.update', { ...edit, version: 1 })).error.data.code, 'CONFLICT');
  assert.deepEqual((await it.call('tasks.update', { id: 'a', name: 'echo' })).inputs, { m: 2 }, 'the rest stays');
  assert.equal((await it.call('tasks.update', { id: 'a', inputs: null })).inputs, null);
  assert.equal(await it.refusal('tasks.update', { task_id: 'a', status: 'completed' }), -32005);
  assert.equal(await it.refusal('tasks.update', { task_id: 'a', dependencies: ['b'] }), -32002);
  assert.equal(await it.refusal('tasks.update', { task_id: 'a', dependencies: ['x'] }), -32011);
  assert.equal(await it.refusal('tasks.update', { task_id: 'r', parent_id: 'a' }), -32010);
  assert.equal(await it.refusal('tasks.update', { task_id: 'none', name: 'x' }), -32001);
  await it.call('tasks.execute', { task_id: 'r' });
  assert.equal(await it.refusal('tasks.update', { task_id: 'a', name: 'x' }), -32006);
});

test('a task goes with all below it, while they are pending and nothing else depends on them', async (t) => {
  const it = await rpcScene(t);
  await it.call('tasks.create', [...TREE, { id: 'c', name: 'echo', parent_id: 'b' }]);
  assert.equal(await it.refusal('tasks.delete', { task_id: 'a' }), -32009, 'b depends on it');
  assert.deepEqual(await it.call('tasks.delete', { task_id: 'b' }), {
    success: true,
    deleted_count: 2,
    deleted: ['b', 'c'],
  });
  assert.equal(await it.refusal('tasks.get', { task_id: 'c' }), -32001);
  await it.call('tasks.execute', { task_id: 'a' });
  assert.equal(await it.refusal('tasks.delete', { task_id: 'a' }), -32009);
  assert.equal(await it.refusal('tasks.delete', { task_id: 'r' }), -32009, 'a child of it was executed');
  await it.call('tasks.create', { id: 's', name: 'echo' });
  assert.equal((await it.call('tasks.delete', { id: 's' })).deleted_count, 1);
});

test('a copy can be executed by itself; a link shows what its source comes to, and an archive what it has come to', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', TREE);
  for (const origin_type of ['link', 'archive']) {
    assert.equal(await it.refusal('tasks.clone', { task_id: 'r', origin_type }), -32006, 'the source is pending');
  }
  assert.equal(await it.refusal('tasks.clone', { task_id: 'b' }), -32011, 'what it depends on would not come with it');
  await it.call('tasks.execute', { task_id: 'r' });
  await it.work((lease) => ({ from: lease.id }));
  const copy = await it.call('tasks.clone', { task_id: 'r' });
  assert.deepEqual([copy.status, copy.origin_type, copy.original_task_id], ['pending', 'copy', 'r']);
  assert.equal(copy.children[1].dependencies[0].id, copy.children[0].id);
  await it.call('tasks.execute', { task_id: copy.id });
  await it.work(({ id }) => ({ again: id }));
  assert.deepEqual((await it.call('tasks.get', { task_id: copy.id })).result, { again: copy.id });

  const link = await it.call('tasks.clone', { task_id: 'r', origin_type: 'link' });
  const archive = await it.call('tasks.clone', { task_id: 'r', origin_type: 'archive' });
  for (const clone of [link, archive]) {
    assert.deepEqual([clone.status, clone.result, clone.children.length], ['completed', { from: 'r' }, 2]);
    assert.equal(await it.refusal('tasks.execute', { task_id: clone.id }), -32006);
    assert.equal(await it.refusal('tasks.update', { task_id: clone.id, name: 'x' }), -32006);
  }
  const [archived] = await it.call('tasks.list', { limit: 1 });
  assert.deepEqual([archived.id, archived.status], [archive.id, 'completed']);
  // A link to a link leads to the same source, and both may be deleted.
  const second = await it.call('tasks.clone', { task_id: link.id, origin_type: 'link' });
  assert.deepEqual([second.status, second.result], ['completed', { from: 'r' }]);
  for (const { id } of [second, link, archive]) assert.equal((await it.call('tasks.delete', { id })).deleted_count, 3);
});

test('cancelling takes all below with it: what is pending never runs, what waits ends, what runs is asked', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', TREE);
  const never = await it.call('tasks.cancel', { task_id: 'b' });
  assert.deepEqual(never, { task_id: 'b', status: 'cancelled', cancelled: ['b'], requested: [] });
  assert.equal(await it.status('b'), 'cancelled');
  assert.equal(await it.refusal('tasks.execute', { task_id: 'b' }), -32006);
  await it.call('tasks.execute', { task_id: 'r' });
  const lease = await it.call('acquire_lease', { node_id: 'n1', task_id: 'a' });
  const both = await it.call('tasks.cancel', { id: 'r' });
  assert.deepEqual(both, { task_id: 'r', status: 'cancelling', cancelled: ['r'], requested: ['a'] });
  const beat = await it.call('heartbeat', { node_id: 'n1', leases: [lease.lease_token] });
  assert.deepEqual(beat.cancel, [lease.lease_token]);
  assert.equal((await it.call('renew_lease', { lease_token: lease.lease_token })).cancel_requested, true);
  await it.call('release_lease', { task_id: 'a', lease_token: lease.lease_token });
  assert.deepEqual([await it.status('a'), await it.status('r')], ['cancelled', 'cancelled']);
  assert.equal(await it.refusal('tasks.cancel', { task_id: 'r' }), -32006);
  await it.call('tasks.create', { id: 's', name: 'echo' });
  const [s, r, none] = await it.call('tasks.cancel', { task_ids: ['s', 'r', 'none'] });
  assert.deepEqual([s.status, r.error.code, none.error.code], ['cancelled', -32006, -32001]);
});

test('tasks are listed newest first, by user and by status, and counted', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  for (let n = 0; n < 5; n++) {
    await it.call('tasks.create', [
      { id: `t${n}`, name: 'echo', user_id: n % 2 === 0 ? 'even' : 'odd' },
      { id: `t${n}-child`, name: 'echo', parent_id: `t${n}` },
    ]);
  }
  await it.call('tasks.execute', { task_id: 't1' });
  await it.work();
  await it.call('tasks.execute', { task_id: 't2-child' });
  await it.work();
  await it.call('tasks.execute', { task_id: 't2' });
  await it.call('acquire_lease', { task_id: 't2', node_id: 'n1' });
  await it.call('tasks.cancel', { task_id: 't3' });
  const ids = async (params: object): Promise<readonly string[]> =>
    (await it.call('tasks.list', params)).map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids({}), ['t4', 't3', 't2', 't1', 't0']);
  assert.deepEqual(await ids({ user_id: 'odd' }), ['t3', 't1']);
  assert.deepEqual(await ids({ status: 'pending' }), ['t4', 't0']);
  assert.deepEqual(await ids({ status: 'completed', root_only: false }), ['t2-child', 't1-child', 't1']);
  assert.deepEqual(await ids({ status: 'in_progress' }), ['t2']);
  assert.deepEqual(await ids({ status: 'cancelled' }), ['t3']);
  assert.deepEqual(await ids({ status: 'failed' }), []);
  assert.deepEqual(await ids({ limit: 2, offset: 1 }), ['t3', 't2']);
  const counts = await it.call('tasks.count', { root_only: true });
  assert.deepEqual(counts, { total: 5, pending: 2, in_progress: 1, completed: 1, failed: 0, cancelled: 1 });
  assert.equal((await it.call('tasks.count', { user_id: 'even' })).total, 3);
});

test('the detail of a task has its attempts, and why it does not run', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', {
    id: 'x',
    name: 'echo',
    max_attempts: 2,
    backoff_strategy: 'fixed',
    backoff_base_seconds: 60,
  });
  assert.equal((await it.call('tasks.detail', { id: 'x' })).explanation, null);
  await it.call('tasks.execute', { task_id: 'x' });
  assert.match((await it.call('tasks.detail', { id: 'x' })).explanation.summary, /can run now/);
  const lease = await it.call('acquire_lease', { node_id: 'n1', task_id: 'x' });
  const said = { task_id: 'x', node_id: 'n1', lease_token: lease.lease_token };
  const back = await it.call('report_completion', { ...said, error: { message: 'busy', code: 7 }, retryable: true });
  assert.equal(back.status, 'pending', 'it lies there until its next try');
  const detail = await it.call('tasks.detail', { id: 'x' });
  assert.match(detail.explanation.summary, /waits until .* for its next try/);
  assert.deepEqual(
    detail.attempts.map(({ outcome, error }: { outcome: string; error: unknown }) => [outcome, error]),
    [['retried', { message: 'busy', code: 7 }]],
  );
});

test('a task that was skipped says which one was the cause, through however many', async (t) => {
  const it = await rpcScene(t);
  await it.register();
  await it.call('tasks.create', [
    ...TREE,
    { id: 'c', name: 'echo', parent_id: 'r', dependencies: ['b'] },
    { id: 'd', name: 'echo', parent_id: 'r', dependencies: ['c', { id: 'a', required: false }] },
  ]);
  await it.call('tasks.execute', { task_id: 'r' });
  const order = await it.work(({ id }) => {
    if (id === 'a') throw new Error('out of paper');
    return id;
  });
  assert.deepEqual(order, ['a', 'r']);
  const a = await it.call('tasks.get', { id: 'a' });
  assert.deepEqual([a.status, a.error, a.skipped], ['failed', 'out of paper', undefined]);
  for (const id of ['b', 'c', 'd']) {
    const { status, skipped, cause, error } = await it.call('tasks.get', { id });
    assert.deepEqual([status, skipped, cause], ['failed', true, 'a']);
    assert.match(error, /skipped: the task a/);
  }
});

test('executors are those of workers that are there, with their schema where it is known', async (t) => {
  const it = await rpcScene(t);
  assert.deepEqual(await it.call('system.executors'), { executors: [], count: 0 });
  await it.register('n1', ['echo', 'mine']);
  await it.register('n2', ['echo']);
  const { executors } = await it.call('system.executors');
  const brief = executors.map(({ id, workers }: { id: string; workers: string[] }) => [id, workers]);
  assert.deepEqual(brief, [
    ['echo', ['n1', 'n2']],
    ['mine', ['n1']],
  ]);
  assert.equal(executors[0].input_schema.properties.delay_ms.type, 'integer');
  assert.equal(executors[1].input_schema, null);
  await it.call('deregister_node', { node_id: 'n1' });
  assert.equal((await it.call('system.executors')).count, 1);
});
