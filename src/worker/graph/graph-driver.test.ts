import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { ground } from '../../../test/support/compat-grounds.ts';
import { GraphScene, type GraphSceneOptions, type Handlers } from '../../../test/support/runs/graph-scene.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const START = { typeId: 'start' };
const set = (fields: Readonly<Record<string, unknown>>) => ({
  typeId: 'set',
  data: { fields: Object.entries(fields).map(([name, value]) => ({ name, value })) },
});
const mine = (n: unknown, more: object = {}) => ({ typeId: 'mine', data: { n }, ...more });

/** Notes each of its inputs, and gives ten times the number. */
const noting = (effects: string[]): Handlers => ({
  mine: ({ n }: { readonly n: number }) => {
    effects.push(`mine ${n}`);
    return n * 10;
  },
  list: ({ to }: { readonly to: number }) => Array.from({ length: to }, (_, i) => i + 1),
});

/** Something of everything: fan-out over items, a fan-in of branches of different lengths, an empty branch, a pinned node. */
const EVERYTHING = workflow(
  {
    start: START,
    list: { typeId: 'list', data: { to: 3 } },
    each: mine('{{ $.list }}', { kind: 'map' }),
    big: { typeId: 'if', kind: 'map', data: { condition: '{{ $.each > 10 }}' } },
    none: { typeId: 'if', data: { condition: '{{ $.each > 1000 }}' } },
    never: mine(7),
    after: mine('{{ $.list + 100 }}', { kind: 'map' }),
    pinned: { typeId: 'mine', data: { n: 5, pinned: true, pinnedOutput: [{ pinned: 'yes' }] } },
    join: set({ n: '{{ $.after ?? 0 }}', from: '{{ $.pinned ?? "tasks" }}' }),
    sum: mine('{{ $items.length }}'),
  },
  [
    'start>list',
    'list>each',
    'each>big',
    'each>none',
    'none>never',
    'never>join',
    'big>after',
    'after>join',
    'start>pinned',
    'pinned>join',
    'join>sum',
  ],
);

describe('a graph as a durable run', () => {
  test('runs what computes within itself and everything else as tasks, which wait for nothing but their sources', async (t) => {
    const effects: string[] = [];
    const scene = await GraphScene.open(t, { handlers: noting(effects) });
    const task = await scene.start(EVERYTHING);
    await scene.work();
    const { state, output } = await scene.end(task);
    assert.equal(state, 'completed');
    const [last] = (output as { sum: Record<string, unknown>[] }).sum;
    assert.deepEqual([last?.['sum'], last?.['join']], [30, { n: 1020, from: 'tasks' }]);
    assert.deepEqual(effects.sort(), ['mine 1', 'mine 102', 'mine 103', 'mine 2', 'mine 3', 'mine 3'].sort());
    assert.deepEqual(
      (await scene.journal(task)).filter((key) => key.startsWith('n:5')),
      [],
    );
  });

  test('tasks of branches are ready at the same time', async (t) => {
    const scene = await GraphScene.open(t);
    const task = await scene.start(
      workflow({ start: START, a: mine(1), b: mine(2), c: mine(3) }, ['start>a', 'start>b', 'start>c']),
    );
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.equal((await scene.engine.store.treeCount({ root: task })).ready, 3);
  });

  test('wakes once for a fan-out and its fan-in, whatever its width', async (t) => {
    const scene = await GraphScene.open(t, { handlers: noting([]) });
    const wide = Array.from({ length: 300 }, (_, i) => `n${i}`);
    const task = await scene.start(
      workflow(
        { start: START, ...Object.fromEntries(wide.map((id) => [id, mine(1)])), join: mine('{{ $items.length }}') },
        wide.flatMap((id) => [`start>${id}`, `${id}>join`]),
      ),
    );
    await scene.work({ max: 8 });
    const { output } = await scene.end(task);
    assert.equal((output as { join: Record<string, unknown>[] }).join[0]?.['join'], 3000);
    assert.equal((await scene.engine.get(task))?.attempt, 3);
  });

  test('goes on where its worker parked it without reading its journal, and another worker reads it once', async (t) => {
    const effects: string[] = [];
    const scene = await GraphScene.open(t, { handlers: noting(effects) });
    const ids = Array.from({ length: 20 }, (_, i) => `n${i}`);
    const chain = workflow(
      Object.fromEntries([
        ['start', START],
        ...ids.map((id, i) => [id, mine(i === 0 ? 1 : `{{ $.n${i - 1} > 0 ? ${i + 1} : 0 }}`)]),
      ]),
      ids.map((id, i) => `${i === 0 ? 'start' : `n${i - 1}`}>${id}`),
    );
    const task = await scene.start(chain);
    await scene.work();
    assert.deepEqual([(await scene.end(task)).state, scene.reads], ['completed', 0]);
    assert.deepEqual(
      effects,
      ids.map((_, i) => `mine ${i + 1}`),
    );
    const other = await scene.start(chain);
    await scene.work({ crashAt: scene.turns + 10 });
    assert.deepEqual([(await scene.end(other)).state, scene.reads], ['completed', 1]);
    assert.equal(effects.length, 40);
  });

  test('places its tasks as their nodes say', async (t) => {
    const scene = await GraphScene.open(t);
    await scene.engine.limits.set('heavy', { concurrent: 1 });
    const node = mine(1, {
      agentConfig: { agents: ['gpu-1'], requiredTags: ['gpu'], concurrencyGroup: 'heavy' },
      required_credential: 'discord',
      retry: { attempts: 5 },
      timeout: 30,
      queue: 'big',
    });
    const task = await scene.start(workflow({ n: node }, []));
    await scene.work();
    assert.equal((await scene.end(task)).state, 'waiting');
    assert.deepEqual(scene.births, [
      {
        handler: 'mine',
        queue: 'big',
        input: { n: 1 },
        timeout: 30_000,
        maxAttempts: 5,
        placement: { only: ['gpu-1'], requires: ['gpu'], credentials: ['discord'] },
        limits: ['heavy'],
      },
    ]);
  });

  test('a group without a limit ends the run with a message, and not its worker', async (t) => {
    const scene = await GraphScene.open(t);
    const task = await scene.start(workflow({ n: mine(1, { concurrencyGroup: 'nobody' }) }, []));
    await scene.work();
    const { state, output } = await scene.end(task);
    assert.equal(state, 'failed');
    assert.match(JSON.stringify(output), /nobody/);
  });

  test('a node that fails fails the run with its id, when what runs beside it has ended; tried again, only that runs', async (t) => {
    let broken = true;
    const effects: string[] = [];
    const handlers: Handlers = {
      ...noting(effects),
      flaky: () => {
        if (broken) throw Object.assign(new Error('no disk'), { name: 'DiskError' });
        return 'fine';
      },
    };
    const scene = await GraphScene.open(t, { handlers });
    const task = await scene.start(
      workflow(
        {
          start: START,
          first: mine(1),
          bad: { typeId: 'flaky', name: 'The bad one', retry: { attempts: 1 } },
          beside: mine(2),
          end: mine(3),
        },
        ['start>first', 'first>bad', 'first>beside', 'bad>end', 'beside>end'],
      ),
    );
    await scene.work();
    assert.deepEqual(await scene.end(task), {
      state: 'failed',
      output: { name: 'DiskError', message: 'no disk', node: 'bad', nodeName: 'The bad one' },
    });
    assert.deepEqual(effects, ['mine 1', 'mine 2']);
    broken = false;
    await scene.engine.trees.retry(task);
    await scene.work();
    assert.equal((await scene.end(task)).state, 'completed');
    assert.deepEqual(effects, ['mine 1', 'mine 2', 'mine 3']);
  });

  test('a node tries its task again as its policy says', async (t) => {
    let tries = 0;
    const scene = await GraphScene.open(t, {
      handlers: {
        flaky: () => {
          if (++tries < 4) throw new Error('not yet');
          return tries;
        },
      },
    });
    const task = await scene.start(workflow({ n: { typeId: 'flaky', retry: { attempts: 4, delay: 1 } } }, []));
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { n: [{ n: 4 }] });
  });

  test('ends up to a node, with the items of that node, from the items that it was given', async (t) => {
    const effects: string[] = [];
    const scene = await GraphScene.open(t, { handlers: noting(effects) });
    const graph = workflow({ start: START, a: mine('{{ $.start.n }}'), b: mine(2), c: mine(3) }, [
      'start>a',
      'a>b',
      'b>c',
      'start>c',
    ]);
    const task = await scene.start(graph, { upTo: 'a', input: { n: 4 } });
    await scene.work();
    assert.deepEqual((await scene.end(task)).output, { a: [{ start: { n: 4 }, a: 40 }] });
    assert.deepEqual(effects, ['mine 4']);
  });

  test('an input that is too large fails its node alone', async (t) => {
    const scene = await GraphScene.open(t, { handlers: noting([]) });
    const task = await scene.start(
      workflow({ start: START, big: mine('{{ $.start.text + $.start.text }}') }, ['start>big']),
      {
        input: { text: 'x'.repeat(600_000) },
      },
    );
    await scene.work();
    const { state, output } = await scene.end(task);
    assert.equal(state, 'failed');
    assert.deepEqual([(output as { name: string }).name, (output as { node: string }).node], ['TOO_LARGE', 'big']);
  });

  test('a workflow that cannot run ends at once with the first of its problems', async (t) => {
    const scene = await GraphScene.open(t);
    const ends: string[] = [];
    for (const [value, more] of [
      [workflow({ a: mine('{{ fetch("x") }}') }, []), {}],
      [workflow({ a: mine(1) }, []), { upTo: 'b' }],
    ] as const) {
      const task = await scene.start(value, more);
      await scene.work();
      const { state, output } = await scene.end(task);
      ends.push(`${state}: ${(output as Error).message}`);
    }
    assert.match(ends[0] ?? '', /failed: .*nodes\[0\]\.data\.n: .*no function "fetch"/);
    assert.match(ends[1] ?? '', /failed: .*"upTo" is the id of a node, and there is no "b"/);
  });

  test('has as many tasks as a task may have children, and fails with the node that would have more', async (t) => {
    const scene = await GraphScene.open(t, { handlers: noting([]) });
    const task = await scene.start(
      workflow({ list: { typeId: 'list', data: { to: 10_000 } }, each: mine(1, { kind: 'map' }) }, ['list>each']),
    );
    await scene.work();
    const { state, output } = await scene.end(task);
    assert.deepEqual(
      [state, output],
      ['failed', { name: 'NodeDataError', message: 'the run would have more than 10000 tasks', node: 'each' }],
    );
  });

  test('a pinned condition passes on what is pinned, and nothing by its other way', async (t) => {
    const effects: string[] = [];
    const scene = await GraphScene.open(t, { handlers: noting(effects) });
    const pinned = { typeId: 'if', data: { condition: 'false' }, pinned: true, pinnedOutput: [{ n: 1 }, { n: 2 }] };
    const nodes = { if: pinned, yes: mine('{{ $.n }}', { kind: 'map' }), no: mine(9, { kind: 'map' }) };
    const task = await scene.start(workflow(nodes, ['if>yes', 'if!no']));
    await scene.work();
    assert.equal((await scene.end(task)).state, 'completed');
    assert.deepEqual(effects.sort(), ['mine 1', 'mine 2']);
  });
});

/** Runs the graph with a crash after, and before, each of its commits in turn, and compares what it gave and did with an undisturbed run. */
async function crashEverywhere(t: TestContext, graph: object, where: () => Promise<GraphSceneOptions>): Promise<void> {
  const once = async (deaths: object) => {
    const effects: string[] = [];
    const scene = await GraphScene.open(t, { ...(await where()), handlers: noting(effects) });
    const task = await scene.start(graph);
    await scene.work(deaths);
    return { ...(await scene.end(task)), effects: effects.sort(), turns: scene.turns, crashes: scene.crashes };
  };
  const { turns, ...undisturbed } = await once({});
  assert.equal(undisturbed.state, 'completed');
  assert.ok(turns > 3);
  for (const when of ['crashAt', 'crashBefore'] as const) {
    for (let at = 1; at <= turns; at++) {
      const { state, output, effects, crashes } = await once({ [when]: at });
      assert.deepEqual({ state, output, effects, crashes: 0 }, undisturbed, `${when} ${at} of ${turns}`);
      assert.equal(crashes, 1);
    }
  }
}

/** More tasks than one turn bears, and nodes that compute between them. */
const WIDE = workflow(
  {
    start: START,
    list: { typeId: 'list', data: { to: 300 } },
    each: mine('{{ $.list }}', { kind: 'map' }),
    sum: mine('{{ $items.length }}'),
  },
  ['start>list', 'list>each', 'each>sum'],
);

describe('a crash at any commit repeats nothing and changes nothing', () => {
  const folder = tempFolder('graphs');
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  let files = 0;
  test('memory', (t) => crashEverywhere(t, EVERYTHING, async () => ({})));
  test('memory, with more tasks than one turn bears', (t) => crashEverywhere(t, WIDE, async () => ({})));
  test('sqlite', (t) =>
    crashEverywhere(t, EVERYTHING, async () => ({ url: `sqlite:${join(folder, `${files++}.db`)}` })));
  // A schema for each run: duties that a dead process has are its own for a while.
  test('postgres', (t) =>
    crashEverywhere(t, EVERYTHING, async () => ({
      elsewhere: await ground({ after: (end) => ends.push(end) }, 'postgres', folder),
    })));
});
