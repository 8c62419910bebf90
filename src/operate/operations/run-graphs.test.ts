import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { graphs } from '../../app/graphs/graph-handler.ts';
import { open } from '../../app/open.ts';
import { isEngineError } from '../../core/errors.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { task } from '../../worker/define/task.ts';
import { EngineOperator } from '../engine-operator.ts';

const set = (fields: Readonly<Record<string, unknown>>) => ({
  typeId: 'set',
  data: { fields: Object.entries(fields).map(([name, value]) => ({ name, value })) },
});

/** A list, a task for each of its items, a condition with both ways, a pinned node, a node that nothing reaches, and a fan-in. */
const GRAPH = workflow(
  {
    start: { typeId: 'core/start', position: { x: 40, y: 80 } },
    list: { typeId: 'core/hardwired', data: { json: [1, 2, 3] }, position: { x: 240, y: 80 } },
    each: { typeId: 'double', kind: 'map', data: { n: '{{ $.list }}' }, position: { x: 'far', y: 0 } },
    large: { typeId: 'if', kind: 'map', data: { condition: '{{ $.each > 2 }}' } },
    none: { typeId: 'if', data: { condition: '{{ $.each > 100 }}' } },
    never: set({ why: 'nothing' }),
    pinned: { typeId: 'double', data: { pinned: true, pinnedOutput: [{ pinned: 1 }, { pinned: 2 }] } },
    join: { typeId: 'sum', data: { all: '{{ $items.length }}' } },
  },
  ['start>list', 'list>each', 'each>large', 'each>none', 'none>never', 'large>join', 'never>join', 'pinned>join'],
);

async function scene(t: TestContext, sum: () => unknown = () => 'all') {
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  const tasks = [
    graphs(),
    task('double', { queue: 'graphs', maxAttempts: 1, run: ({ n }: { readonly n: number }) => 2 * n }),
    task('sum', { queue: 'graphs', maxAttempts: 1, run: sum }),
  ];
  await app.worker({ tasks, slots: 8 }).start();
  const operator = new EngineOperator(app.engine);
  return {
    app,
    operator,
    start: (graph: object, more: object = {}) => operator.call('startRun', { body: { graph, ...more } }),
    states: async (id: string) => {
      const { nodes } = await operator.call('getRunGraph', { params: { id } });
      const states = await operator.call('getRunGraphStates', { params: { id } });
      return new Map(nodes.map((node, i) => [node.id, states.nodes[i]] as const));
    },
    node: (id: string, node: string) => operator.call('getRunGraphNode', { params: { id, node } }),
  };
}

test('a graph is told as it is drawn: nodes with what they do and where they are, and connections between their places', async (t) => {
  const { operator, start } = await scene(t);
  const { id } = await start(GRAPH);
  const { nodes, connections } = await operator.call('getRunGraph', { params: { id } });
  assert.deepEqual(nodes[0], {
    id: 'start',
    name: 'start',
    type: 'core/start',
    does: 'start',
    perItem: false,
    x: 40,
    y: 80,
  });
  // A position that is none is left out, and the page places the node.
  assert.deepEqual(nodes[2], { id: 'each', name: 'each', type: 'double', does: 'handler', perItem: true });
  assert.equal(nodes[6]?.pinned, 2);
  assert.deepEqual(connections.slice(0, 2), [
    { from: 0, to: 1 },
    { from: 1, to: 2 },
  ]);
});

test('each node says how it stands while the run goes on, and with how many items it ended', async (t) => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { app, start, states } = await scene(t, async () => {
    begin();
    await held;
    return 'all';
  });
  const { id } = await start(GRAPH);
  await begun;
  const during = await states(id);
  assert.deepEqual(
    [...during].map(([node, standing]) => [node, standing?.state, standing?.kept]),
    [
      ['start', 'done', 1],
      ['list', 'done', 3],
      ['each', 'done', 3],
      ['large', 'done', 2],
      ['none', 'done', 0],
      ['never', 'skipped', undefined],
      ['pinned', 'done', 2],
      ['join', 'running', undefined],
    ],
  );
  assert.deepEqual(during.get('large')?.rejected, 1);
  assert.deepEqual(during.get('each')?.tasks, { all: 3, ended: 3, running: 0, failed: 0 });
  assert.deepEqual(during.get('join')?.tasks, { all: 1, ended: 0, running: 1, failed: 0 });
  assert.ok((during.get('each')?.began as number) <= (during.get('each')?.ended as number));
  letGo();
  await app.handle(id).result();
  assert.equal((await states(id)).get('join')?.state, 'done');
});

test('a node shows what came in and what it gave, computed again from what tasks gave, and its tasks', async (t) => {
  const { app, operator, start, node } = await scene(t);
  const { id } = await start(GRAPH);
  await app.handle(id).result();
  const large = await node(id, 'large');
  assert.deepEqual(large.input?.all, 3);
  assert.deepEqual(large.output?.items, [
    { list: 2, each: 4 },
    { list: 3, each: 6 },
  ]);
  assert.deepEqual(large.rejects?.items, [{ start: {}, list: 1, each: 2 }]);
  assert.deepEqual((large.settings as { data: object }).data, { condition: '{{ $.each > 2 }}' });
  const each = await node(id, 'each');
  assert.deepEqual(
    each.members.map(({ key, state, attempt }) => [key, state, attempt]),
    [
      ['n:2/0', 'completed', 1],
      ['n:2/1', 'completed', 1],
      ['n:2/2', 'completed', 1],
    ],
  );
  // What one task was given is the step of its key.
  const step = await operator.call('getRunStep', { params: { id, key: 'n:2/1' } });
  assert.deepEqual([step.given, step.out], [{ n: 2 }, 4]);
  const pinned = await node(id, 'pinned');
  assert.deepEqual([pinned.input, pinned.output?.items], [undefined, [{ pinned: 1 }, { pinned: 2 }]]);
  const never = await node(id, 'never');
  assert.deepEqual([never.state, never.input?.all, never.output], ['skipped', 0, undefined]);
});

test('a node that failed has the error, what comes after it waits, and nodes outside the run are told apart', async (t) => {
  const { app, start, states, node } = await scene(t, () => {
    throw new Error('no sum today');
  });
  const broken = workflow(
    { start: { typeId: 'start' }, sum: { typeId: 'sum' }, after: set({ n: 1 }), other: set({ n: 2 }) },
    ['start>sum', 'sum>after', 'start>other'],
  );
  const { id } = await start(broken, { upTo: 'after' });
  await assert.rejects(app.handle(id).result());
  const ended = await states(id);
  assert.deepEqual(
    [...ended].map(([name, standing]) => [name, standing?.state]),
    [
      ['start', 'done'],
      ['sum', 'failed'],
      ['after', 'waiting'],
      ['other', 'outside'],
    ],
  );
  assert.equal(((await node(id, 'sum')).error as Error).message, 'no sum today');
});

test('a node that fails within the run is the one that failed', async (t) => {
  const { app, start, states, node } = await scene(t);
  const many = Array.from({ length: 8 }, () => '$.start.long').join(', ');
  const graph = workflow({ start: { typeId: 'start' }, grow: set({ all: `{{ [${many}] }}` }), after: set({ n: 1 }) }, [
    'start>grow',
    'grow>after',
  ]);
  const { id } = await start(graph, { input: { long: 'x'.repeat(700_000) } });
  await assert.rejects(app.handle(id).result());
  assert.deepEqual(
    [...(await states(id)).values()].map((standing) => standing?.state),
    ['done', 'failed', 'waiting'],
  );
  assert.equal(((await node(id, 'grow')).error as { readonly node?: string }).node, 'grow');
});

test('a run of something else has no nodes, and a node that there is not is refused by its name', async (t) => {
  const { app, operator, start } = await scene(t);
  const { id } = await start(GRAPH);
  const pushed = await app.engine.push({ queue: 'elsewhere', handler: 'none' });
  await assert.rejects(operator.call('getRunGraph', { params: { id: pushed.id } }), (error) =>
    isEngineError(error, 'CONFLICT'),
  );
  await assert.rejects(operator.call('getRunGraphNode', { params: { id, node: 'nowhere' } }), (error) =>
    isEngineError(error, 'NOT_FOUND'),
  );
});

test('a run is started again by its definition, with other input; another definition beside it is refused', async (t) => {
  const { app, operator, start } = await scene(t);
  const first = await start(GRAPH, { input: { n: 1 } });
  await app.handle(first.id).result();
  const { definition = '', input } = await operator.call('getRun', { params: { id: first.id } });
  assert.deepEqual(input, { n: 1 });
  const again = await operator.call('startRun', { body: { definition, input: { n: 2 }, name: 'again' } });
  assert.deepEqual([again.kind, again.queue, again.definition, again.fresh], ['graph', 'graphs', definition, true]);
  const machine = { spec: 'flatmachine', spec_version: '2.0.0', data: { states: { end: { type: 'final' } } } };
  const kept = await operator.call('startRun', { body: { machine } });
  const other = await operator.call('startRun', { body: { definition: kept.definition as string } });
  assert.deepEqual([other.kind, other.definition], ['machine', kept.definition]);
  for (const [body, code] of [
    [{ definition, graph: GRAPH }, 'INVALID_INPUT'],
    [{ definition: 'f'.repeat(64) }, 'NOT_FOUND'],
  ] as const)
    await assert.rejects(operator.call('startRun', { body }), (error) => isEngineError(error, code));
});

test('the text of a machine or a graph is checked with all that is wrong and where, and starts nothing', async (t) => {
  const { operator } = await scene(t);
  const check = (text: string) => operator.call('checkRun', { body: { text } });
  const fine = await check(JSON.stringify(GRAPH));
  assert.deepEqual([fine.kind, fine.problems, fine.definition !== undefined], ['graph', [], true]);
  const machine = await check(
    'spec: flatmachine\nspec_version: "2.0.0"\ndata:\n  name: tiny\n  states:\n    end: { type: final }\n',
  );
  assert.deepEqual([machine.kind, machine.title, machine.definition !== undefined], ['machine', 'tiny', true]);
  const wrong = await check('nodes:\n  - id: a\n    typeId: if\n  - id: a\n    typeId: set\nconnections: []\n');
  assert.equal(wrong.definition, undefined);
  const errors = wrong.problems.filter(({ level }) => level === 'error').map(({ place, line }) => [place, line]);
  assert.deepEqual(errors, [
    ['nodes[0].data.condition', 2],
    ['nodes[1].data.fields', 4],
    ['nodes[1].id', 4],
  ]);
  assert.deepEqual(
    (await check('a: [')).problems.map(({ place, line }) => [place, line]),
    [['', 1]],
  );
  const files = await check(
    'spec: flatmachine\nspec_version: "2.0.0"\ndata:\n  machines: { other: ./other.yml }\n  states:\n    end: { type: final }\n',
  );
  assert.match(files.problems.map(({ message }) => message).join(), /other\.yml.*which is not here/);
  assert.deepEqual((await operator.call('listRuns', { query: {} })).runs, []);
});
