import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counting, machine, runScene } from '../../../test/support/runs/run-scene.ts';
import { isEngineError } from '../../core/errors.ts';
import { task as define } from '../../worker/define/task.ts';
import type { MachineHooks } from '../../worker/machine/machine-hooks.ts';

const LOOP = {
  name: 'looping',
  context: { count: 0 },
  states: {
    up: { action: 'up', transitions: [{ to: 'end', condition: 'context.count >= 3' }, { to: 'again' }] },
    again: { transitions: [{ to: 'up' }] },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
};

const ASK = {
  name: 'asking',
  context: { count: 5 },
  states: {
    up: { action: 'up', transitions: [{ to: 'ask' }] },
    ask: {
      wait_for: 'approval/{{ input.n }}',
      output_to_context: { by: '{{ output.by }}' },
      transitions: [{ to: 'end' }],
    },
    end: { type: 'final', output: { by: '{{ context.by }}', count: '{{ context.count }}' } },
  },
};

const CHILD = machine({ states: { end: { type: 'final', output: { twice: '{{ input.n * 2 }}' } } } });
const FAN = {
  name: 'fanning',
  machines: { child: CHILD },
  states: {
    all: {
      foreach: '{{ input.list }}',
      as: 'n',
      machine: 'child',
      input: { n: '{{ n }}' },
      output_to_context: { results: '{{ output }}' },
      transitions: [{ to: 'up' }],
    },
    up: { action: 'up', transitions: [{ to: 'end' }] },
    end: { type: 'final', output: { results: '{{ context.results }}' } },
  },
};

/** Without what the machine knows of itself. */
function own(context: unknown): unknown {
  const { machine: _machine, ...rest } = context as Record<string, unknown>;
  return rest;
}

const refusedAs = (code: string, text: RegExp) => (error: unknown) =>
  isEngineError(error) && error.code === code && text.test(`${error.message} ${error.hint ?? ''}`);

test('a run shows its diagram with visits, its steps and its end', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const run = await start(LOOP, { name: 'loop/1', labels: { team: 'a' } });
  assert.deepEqual([run.fresh, run.kind, run.title, run.name], [true, 'machine', 'looping', 'loop/1']);
  const detail = await until('loop/1', 'completed');
  assert.equal(detail.id, run.id);
  assert.deepEqual(detail.output, { count: 3 });
  assert.deepEqual(own(detail.context), { count: 3 });
  assert.equal(detail.summary, 'has completed');
  assert.deepEqual(
    detail.states?.map(({ name, type, does, visits }) => [name, type, does, visits]),
    [
      ['up', 'initial', 'action', 3],
      ['again', 'state', 'nothing', 2],
      ['end', 'final', 'nothing', 1],
    ],
  );
  assert.deepEqual(detail.states?.[0]?.to, [{ state: 'end', condition: 'context.count >= 3' }, { state: 'again' }]);
  const { steps, cursor } = await operator.call('listRunSteps', { params: { id: run.id } });
  assert.equal(cursor, undefined);
  assert.deepEqual(
    steps.map(({ kind, name, step, passed, forkable }) => [kind, name, step, passed, forkable]),
    [
      ['attempt', 'looping', undefined, undefined, false],
      ['step', 'up', 1, ['again'], true],
      ['step', 'up', 3, ['again'], true],
      ['step', 'up', 5, undefined, false],
    ],
  );
  assert.ok(steps.slice(1).every(({ began, at }) => began !== undefined && began <= at));
});

test('a step shows what it gave and the context after it', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const run = await start(LOOP);
  await until(run.id, 'completed');
  const step = await operator.call('getRunStep', { params: { id: run.id, key: 's:000003' } });
  assert.deepEqual([step.name, step.out, own(step.context)], ['up', { count: 2 }, { count: 2 }]);
  await assert.rejects(
    operator.call('getRunStep', { params: { id: run.id, key: 's:000099' } }),
    refusedAs('NOT_FOUND', /step "s:000099" of the run/),
  );
});

test('a run that waits says for what and since when, and the channels it needs are permitted', async (t) => {
  const { app, start, until, operator } = await runScene(t, counting);
  const run = await start(ASK, { input: { n: 42 } });
  const detail = await until(run.id, 'waiting');
  assert.match(detail.summary, /^waits for signal approval\/42 since (?:a moment|\d+ s)$/);
  assert.deepEqual([detail.current, own(detail.context)], ['ask', { count: 6 }]);
  assert.deepEqual(
    detail.waits.map(({ kind, channel, key }) => [kind, channel, key]),
    [['signal', 'approval/42', 's:000002/w']],
  );
  assert.match((await app.explain(run.id)).summary, /^The run waits for signal approval\/42 since .*\.$/);
  const record = await app.engine.get(app.engine.parseId(run.id));
  assert.deepEqual(await app.engine.permissionsOf(record?.spec ?? 0), {
    handlers: ['machine'],
    queues: ['machines'],
    waits: ['approval/*'],
  });
  await operator.call('sendSignal', { body: { channel: 'approval/42', body: { by: 'ann' } } });
  assert.deepEqual((await until(run.id, 'completed')).output, { by: 'ann', count: 6 });
});

test('a run that waits in its first state shows where it is', async (t) => {
  const { start, until } = await runScene(t);
  const run = await start({
    states: { ask: { wait_for: 'go', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
  });
  const detail = await until(run.id, 'waiting');
  assert.deepEqual([detail.current, detail.states?.map(({ visits }) => visits)], ['ask', [1, 0]]);
});

test('children are steps that lead to tasks, and each is a run that leads back', async (t) => {
  const { start, until, operator, detail } = await runScene(t, counting);
  const run = await start(FAN, { input: { list: [1, 2, 3] } });
  const ended = await until(run.id, 'completed');
  assert.deepEqual(ended.members, { completed: 4 });
  const { steps } = await operator.call('listRunSteps', { params: { id: run.id } });
  const children = steps.filter(({ kind }) => kind === 'child');
  assert.deepEqual(
    children.map(({ name, state }) => [name, state]),
    [1, 2, 3].map((n) => [`all: machine ${n}`, 'completed']),
  );
  const child = await detail(children[1]?.child as string);
  assert.deepEqual([child.kind, child.root, child.parent, child.input], ['task', run.id, run.id, { n: 2 }]);
  assert.deepEqual(
    child.states?.map(({ name, visits }) => [name, visits]),
    [['end', 1]],
  );
  const step = await operator.call('getRunStep', { params: { id: run.id, key: 's:000001/1' } });
  assert.deepEqual([step.given, step.out], [{ n: 2 }, { twice: 4 }]);
  const all = await operator.call('getRunStep', { params: { id: run.id, key: 's:000002' } });
  assert.deepEqual((all.context as { results: unknown }).results, [{ twice: 2 }, { twice: 4 }, { twice: 6 }]);
});

test('a waterfall comes in pages without gap and without repeat', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const run = await start(FAN, { input: { list: Array.from({ length: 12 }, (_, i) => i) } });
  await until(run.id, 'completed');
  const whole = await operator.call('listRunSteps', { params: { id: run.id }, query: { limit: 500 } });
  for (const limit of [1, 2, 5]) {
    const paged: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await operator.call('listRunSteps', {
        params: { id: run.id },
        query: { limit, ...(cursor === undefined ? {} : { cursor }) },
      });
      paged.push(...page.steps.map(({ task, key }) => `${task} ${key}`));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    assert.deepEqual(paged.toSorted(), whole.steps.map(({ task, key }) => `${task} ${key}`).toSorted(), `${limit}`);
  }
});

test('a fork goes on after its step with the changed context, under an id of its own', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const run = await start(LOOP, { name: 'first' });
  await until(run.id, 'completed');
  const fork = await operator.call('forkRun', {
    params: { id: 'first' },
    body: { step: 's:000001', context: { count: 10, more: 'x' }, name: 'second' },
  });
  assert.equal((await until('second', 'completed')).forkedFrom, run.id);
  assert.deepEqual([fork.forkedFrom, fork.name, fork.title], [run.id, 'second', 'looping']);
  const ended = await until('second', 'completed');
  assert.deepEqual([ended.output, own(ended.context)], [{ count: 11 }, { count: 11, more: 'x' }]);
  assert.equal((ended.context as { machine: { execution_id: string } }).machine.execution_id, 'second');
  // The fork itself can be forked: its base is part of its history.
  const again = await operator.call('forkRun', {
    params: { id: fork.id },
    body: { step: 'start', context: { count: 1 } },
  });
  assert.deepEqual((await until(again.id, 'completed')).output, { count: 3 });
});

test('a fork while children run starts them anew', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const run = await start(ASK, { input: { n: 1 } });
  await until(run.id, 'waiting');
  const fork = await operator.call('forkRun', { params: { id: run.id }, body: { context: { count: 70 } } });
  await until(fork.id, 'waiting');
  for (const by of ['ann', 'bob']) await operator.call('sendSignal', { body: { channel: 'approval/1', body: { by } } });
  assert.deepEqual((await until(run.id, 'completed')).output, { by: 'ann', count: 6 });
  assert.deepEqual((await until(fork.id, 'completed')).output, { by: 'bob', count: 70 });
});

test('a fork has the bounds of the run, and what it uses of them is its own', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const budgets = [
    { unit: 'calls', soft: 1, hard: 2 },
    { unit: 'money', hard: 5 },
  ] as const;
  const run = await start(ASK, { input: { n: 1 }, budgets: [...budgets] });
  await until(run.id, 'waiting');
  const fork = await operator.call('forkRun', { params: { id: run.id }, body: {} });
  const detail = await until(fork.id, 'waiting');
  assert.deepEqual(
    detail.budgets.map(({ unit, soft, hard, spent }) => [unit, soft, hard, spent]),
    [
      ['money', undefined, 5, 0],
      ['calls', 1, 2, 0],
    ],
  );
  await assert.rejects(
    start(ASK, { budgets: [budgets[0], budgets[0]] }),
    refusedAs('INVALID_INPUT', /name a unit twice/),
  );
});

test('what cannot be forked is refused', async (t) => {
  const { app, start, until, operator } = await runScene(t, counting);
  const run = await start(FAN, { input: { list: [1] } });
  await until(run.id, 'completed');
  const fork = (id: string, body: object = {}) => operator.call('forkRun', { params: { id }, body });
  const other = await app.push(define('echo', { queue: 'q', run: () => 1 }), undefined);
  await assert.rejects(fork(other.id), refusedAs('CONFLICT', /only runs of machines and of workflows/));
  const { steps } = await operator.call('listRunSteps', { params: { id: run.id } });
  const child = steps.find(({ kind }) => kind === 'child')?.child as string;
  await assert.rejects(fork(child), refusedAs('CONFLICT', /only a whole run/));
  await assert.rejects(fork(run.id, { step: 's:000002' }), refusedAs('CONFLICT', /was over after this step/));
  await assert.rejects(fork(run.id, { step: 's:000001/0' }), refusedAs('NOT_FOUND', /step/));
  await assert.rejects(fork(run.id, { step: '../../etc' }), refusedAs('NOT_FOUND', /step/));
  const another = await start(LOOP, { name: 'taken' });
  await until(another.id, 'completed');
  await assert.rejects(fork(run.id, { name: 'taken' }), refusedAs('UNIQUE_CONFLICT', /started under this name/));
});

test('a cancel keeps who asked and why, and a retry goes on', async (t) => {
  const { start, until, operator, detail } = await runScene(t, counting);
  const run = await start(ASK, { input: { n: 7 } });
  await until(run.id, 'waiting');
  const cancelled = await operator.call('cancelRun', {
    params: { id: run.id },
    body: { reason: 'wrong data' },
    by: 'ann',
  });
  assert.deepEqual(
    [cancelled.state, cancelled.cancelReason, cancelled.cancelledBy],
    ['cancelled', 'wrong data', 'ann'],
  );
  assert.equal((await detail(run.id)).summary, 'was cancelled by ann: wrong data');
  const again = await operator.call('retryRun', { params: { id: run.id } });
  assert.equal(again.cancelReason, undefined);
  await until(run.id, 'waiting');
  await assert.rejects(operator.call('retryRun', { params: { id: run.id } }), refusedAs('CONFLICT', /is waiting/));
  await operator.call('sendSignal', { body: { channel: 'approval/7', body: { by: 'x' } } });
  await until(run.id, 'completed');
  await assert.rejects(operator.call('retryRun', { params: { id: run.id } }), refusedAs('CONFLICT', /runs fork/));
});

test('a name leads to its run: the same work is answered, other work is refused', async (t) => {
  const { start, until } = await runScene(t, counting);
  const run = await start(LOOP, { name: 'n' });
  await until('n', 'completed');
  assert.deepEqual(await start(LOOP, { name: 'n' }).then(({ id, fresh }) => [id, fresh]), [run.id, false]);
  await assert.rejects(start(LOOP, { name: 'n', input: { x: 1 } }), refusedAs('UNIQUE_CONFLICT', /under this name/));
});

test('a list has filters and pages', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  for (const name of ['a/1', 'a/2', 'b/1']) await until((await start(LOOP, { name })).id, 'completed');
  const list = async (query: object) => (await operator.call('listRuns', { query })).runs.map(({ name }) => name);
  assert.deepEqual(await list({}), ['b/1', 'a/2', 'a/1']);
  assert.deepEqual(await list({ name: 'a/' }), ['a/2', 'a/1']);
  assert.deepEqual(await list({ state: ['failed'] }), []);
  const { runs, cursor } = await operator.call('listRuns', { query: { limit: 2 } });
  assert.equal(runs.length, 2);
  assert.deepEqual(await list({ cursor }), ['a/1']);
  await assert.rejects(
    operator.call('listRuns', { query: { cursor: "1' or 1" } }),
    refusedAs('INVALID_INPUT', /cursor/),
  );
});

test('machines that cannot run are refused when they are started', async (t) => {
  const { operator } = await runScene(t);
  const start = (body: object) => operator.call('startRun', { body });
  await assert.rejects(start({}), refusedAs('INVALID_INPUT', /exactly one/));
  await assert.rejects(start({ machine: 1 }), refusedAs('INVALID_INPUT', /it is a map/));
  await assert.rejects(start({ bundle: '{"machine":{}}' }), refusedAs('INVALID_INPUT', /bundle/));
  await assert.rejects(start({ bundle: 'x' }), refusedAs('INVALID_INPUT', /bundle/));
  await assert.rejects(start({ machine: machine({ states: {} }) }), refusedAs('INVALID_INPUT', /at least one state/));
  const files = machine({ machines: { peer: './peer.yml' }, states: { end: { type: 'final' } } });
  await assert.rejects(start({ machine: files }), refusedAs('INVALID_INPUT', /peer\.yml.*leasehold run FILE/));
  const large = machine({ context: { x: 'x'.repeat(1024 * 1024) }, states: { end: { type: 'final' } } });
  await assert.rejects(start({ machine: large }), refusedAs('TOO_LARGE', /machine/));
});

test('ids of nowhere and tasks of other runs are refused', async (t) => {
  const { start, until, operator } = await runScene(t, counting);
  const [one, other] = [await start(LOOP), await start(LOOP)];
  await until(one.id, 'completed');
  await until(other.id, 'completed');
  const steps = (id: string, task?: string) =>
    operator.call('listRunSteps', { params: { id }, query: task === undefined ? {} : { task } });
  for (const id of ['nothing', '999999', 'task_1', '%00', '..']) {
    await assert.rejects(steps(id), refusedAs('NOT_FOUND', /no run/), id);
  }
  await assert.rejects(steps('a\u0000b'), refusedAs('INVALID_INPUT', /control/));
  await assert.rejects(steps(one.id, other.id), refusedAs('NOT_FOUND', /belongs to another run/));
  await assert.rejects(
    operator.call('getRunStep', { params: { id: one.id, key: 's:000001' }, query: { task: other.id } }),
    refusedAs('NOT_FOUND', /belongs to another run/),
  );
  const cursor = 'x';
  await assert.rejects(
    operator.call('listRunSteps', { params: { id: one.id }, query: { cursor } }),
    refusedAs('INVALID_INPUT', /cursor/),
  );
});

test('the steps of a plain task are shown, by their names', async (t) => {
  const { app, operator, detail } = await runScene(t);
  const plain = define('plain', {
    queue: 'plain',
    run: async (_, ctx) => {
      await ctx.step('fetch', () => 1);
      await ctx.step('fetch', () => 2);
      return 3;
    },
  });
  const worker = app.worker({ tasks: [plain], slots: 1, name: 'other' });
  await worker.start();
  const handle = await app.push(plain, undefined);
  await handle.result();
  const { steps } = await operator.call('listRunSteps', { params: { id: handle.id } });
  assert.deepEqual(
    steps.map(({ name, kind }) => [name, kind]),
    [
      ['plain', 'attempt'],
      ['fetch', 'step'],
      ['fetch (2)', 'step'],
    ],
  );
  const run = await detail(handle.id);
  assert.deepEqual([run.kind, run.output, run.states], ['task', 3, undefined]);
  await worker.stop({ drain: false });
});

test('what agents have used is summed over the tree', async (t) => {
  const { start, until } = await runScene(
    t,
    {},
    { writer: () => ({ output: { text: 'hi' }, usage: { total_tokens: 12, api_calls: 1 }, cost: 0.5 }) },
  );
  const child = machine({
    agents: { w: 'writer' },
    states: { ask: { agent: 'w', transitions: [{ to: 'end' }] }, end: { type: 'final' } },
  });
  const run = await start({
    agents: { w: 'writer' },
    machines: { child },
    states: {
      ask: { agent: 'w', transitions: [{ to: 'below' }] },
      below: { machine: 'child', transitions: [{ to: 'end' }] },
      end: { type: 'final' },
    },
  });
  const { totals } = await until(run.id, 'completed');
  assert.deepEqual({ ...totals, agentMs: 0 }, { apiCalls: 2, tokens: 24, cost: 1, agentMs: 0 });
});

test('every step of a long history shows the context as it was, also where a base stands for what came before', async (t) => {
  const hooks: MachineHooks = {
    onAction: (...given: readonly unknown[]) => {
      const context = given.at(-1) as Record<string, unknown>;
      context['count'] = (context['count'] as number) + 1;
      context['text'] = String(context['count']).repeat(8000);
      return context;
    },
  };
  const { app, start, until, operator } = await runScene(t, hooks);
  const run = await start({
    context: { count: 0 },
    states: {
      up: { action: 'up', transitions: [{ to: 'end', condition: 'context.count >= 9' }, { to: 'up' }] },
      end: { type: 'final', output: { count: '{{ context.count }}' } },
    },
  });
  const detail = await until(run.id, 'completed');
  assert.equal((detail.context as { count: number }).count, 9);
  const keys = (await app.engine.journal(app.engine.parseId(run.id))).map(({ key }) => key);
  const bases = keys.filter((key) => key.startsWith('b:'));
  assert.ok(bases.length > 1, keys.join());
  for (let count = 1; count <= 9; count++) {
    const key = `s:${String(count).padStart(6, '0')}`;
    const { context } = await operator.call('getRunStep', { params: { id: run.id, key } });
    assert.deepEqual(own(context), { count, text: String(count).repeat(8000) }, key);
  }
  const fork = await operator.call('forkRun', {
    params: { id: run.id },
    body: { step: 's:000007', context: { count: 2 } },
  });
  assert.deepEqual((await until(fork.id, 'completed')).output, { count: 9 });
});
