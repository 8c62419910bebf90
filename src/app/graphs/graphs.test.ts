import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { longer } from '../../../test/support/scale.ts';
import { isEngineError } from '../../core/errors.ts';
import { workflow } from '../../flow/graph/test-graphs.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { task } from '../../worker/define/task.ts';
import type { Leasehold } from '../library/leasehold.ts';
import { open } from '../open.ts';
import { graphs } from './graph-handler.ts';

const folder = tempFolder('graphs');

/** The same calls must do the same on each of these. On a node the workers are joined ones. */
const GROUNDS: Readonly<Record<string, (t: TestContext) => Promise<Leasehold>>> = {
  'a store in memory': () => open('memory:'),
  'a file': () => open(`sqlite:${join(folder, `${randomUUID()}.db`)}`, { durability: 'normal' }),
  'a database': async () => open((await freshDatabase('graphs')) as 'postgres://'),
  'a node on a database': async (t) => {
    const { service, admin } = await nodeScene(t, { store: await freshDatabase('graph_nodes') });
    return open(service.address as 'http://node', { token: admin });
  },
  'a node over HTTP': async (t) => {
    const { service, admin } = await nodeScene(t, { durability: 'normal' });
    return open(service.address as 'http://node', { token: admin });
  },
};

const GRAPH = workflow(
  {
    start: { typeId: 'core/start' },
    other: { typeId: 'core/start' },
    list: { typeId: 'core/hardwired', data: { json: [{ n: 1 }, { n: 2 }, { n: 3 }] } },
    double: { typeId: 'math/double', kind: 'map', queue: 'math', data: { n: '{{ $.list.n }}' } },
    sum: { typeId: 'math/sum', queue: 'math', data: { all: '{{ $items }}' } },
  },
  ['start>list', 'list>double', 'double>sum'],
);

function numbers(asked: unknown[]) {
  const double = task('math/double', {
    queue: 'math',
    run: ({ n }: { n: number }) => {
      asked.push(n);
      return { twice: 2 * n };
    },
  });
  const sum = task('math/sum', {
    queue: 'math',
    run: ({ all }: { all: readonly { double: { twice: number } }[] }) => ({
      sum: all.reduce((total, one) => total + one.double.twice, 0),
    }),
  });
  return [double, sum];
}

/** In memory is the store of a file, and a node on a database is a node, and a database: both are left to longer runs. */
const LEFT: ReadonlySet<string> = longer ? new Set() : new Set(['a store in memory', 'a node on a database']);

for (const [ground, opened] of Object.entries(GROUNDS).filter(([name]) => !LEFT.has(name))) {
  describe(`on ${ground}`, () => {
    test('a graph runs on the workers of its nodes, once under one name, and its steps have their names', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const asked: unknown[] = [];
      await app.worker({ tasks: [graphs()], name: 'runs' }).start();
      await app.worker({ tasks: numbers(asked), name: 'numbers' }).start();
      const run = await app.runs.start({ graph: GRAPH, name: 'sum-1', labels: { team: 'a' } });
      assert.deepEqual([run.kind, run.title, run.queue, run.fresh], ['graph', 'workflow', 'graphs', true]);
      const result = (await app.handle(run.id).result()) as { readonly sum: readonly { readonly sum: unknown }[] };
      assert.deepEqual(result.sum[0]?.sum, { sum: 12 });
      const again = await app.runs.start({ graph: GRAPH, name: 'sum-1' });
      assert.deepEqual([again.fresh, again.id], [false, run.id]);
      assert.deepEqual(new Set(asked), new Set([1, 2, 3]));
      const { steps } = await app.runs.steps('sum-1');
      const names = new Set(steps.map(({ name }) => name));
      for (const name of ['start', 'list', 'double', 'double (3)', 'sum']) assert.ok(names.has(name), name);
      assert.equal((await app.runs.step('sum-1', 'n:1')).name, 'other');
    });

    test('a graph of 10,000 nodes is started, and one that is larger than 4 MiB is refused', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const nodes = Array.from({ length: 10_000 }, (_, i) => ({
        id: `n${i}`,
        typeId: 'core/hardwired',
        data: { json: [i] },
      }));
      const connections = nodes.slice(1).map((_, i) => ({ sourceNodeId: `n${i}`, targetNodeId: `n${i + 1}` }));
      const graph = { nodes, connections, description: 'x'.repeat(1_000_000) };
      const run = await app.runs.start({ graph, name: 'large' });
      assert.deepEqual([run.kind, run.fresh], ['graph', true]);
      await assert.rejects(
        app.runs.start({ graph: { ...graph, description: 'x'.repeat(4_000_000) } }),
        (error: unknown) => isEngineError(error, 'TOO_LARGE'),
      );
    });

    test('a run ends with the node that is named, and begins with the trigger that is named', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const asked: unknown[] = [];
      await app.worker({ tasks: [graphs()], name: 'runs' }).start();
      await app.worker({ tasks: numbers(asked), name: 'numbers' }).start();
      const upTo = await app.runs.start({ graph: GRAPH, upTo: 'double' });
      const { double } = (await app.handle(upTo.id).result()) as { readonly double: readonly unknown[] };
      assert.equal(double.length, 3);
      const other = await app.runs.start({ graph: GRAPH, trigger: 'other', input: { hello: 1 } });
      const ended = (await app.handle(other.id).result()) as Readonly<Record<string, readonly unknown[]>>;
      assert.deepEqual(ended, { other: [{ other: { hello: 1 } }], sum: [] });
      assert.equal(asked.length, 3);
    });

    test('all that is wrong with it is told before anything runs', async (t) => {
      const app = await opened(t);
      t.after(() => app.close());
      const wrong = workflow({ a: { typeId: 'core/if', data: {} }, b: { typeId: 'no name' } }, ['a>c']);
      const hints: unknown[] = [];
      const starts: readonly Parameters<Leasehold['runs']['start']>[0][] = [
        { graph: wrong },
        { graph: GRAPH, upTo: 'nowhere' },
        { graph: GRAPH, trigger: 'nowhere' },
        { graph: GRAPH, use: 'echo' },
        { use: 'echo', upTo: 'start' },
      ];
      for (const start of starts) {
        const error = await app.runs.start(start).then(
          () => assert.fail('it was started'),
          (one: unknown) => one,
        );
        assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
        hints.push(error.details?.['problem']);
      }
      assert.deepEqual(hints.slice(1), [
        'there is no node "nowhere"',
        'there is no node "nowhere"',
        'it is of machines, and this is a graph',
        'it is of graphs, and this is a machine',
      ]);
      assert.match(String(hints[0]), /it has \d problems/);
      assert.equal((await app.runs.list()).runs.length, 0);
    });
  });
}

test('a graph in a file is read by its path, and its problems have lines', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  await app.worker({ tasks: [graphs()], name: 'runs' }).start();
  const file = join(folder, 'hello.yml');
  writeFileSync(file, 'name: hello\nnodes:\n  - {id: start, typeId: core/start}\nconnections: []\n');
  const run = await app.runs.start({ graph: file, input: { who: 'Ann' } });
  assert.equal(run.title, 'hello');
  assert.deepEqual(await app.handle(run.id).result(), { start: [{ start: { who: 'Ann' } }] });
  writeFileSync(
    file,
    'nodes:\n  - {id: start, typeId: core/start}\n  - {id: start, typeId: core/start}\nconnections: []\n',
  );
  await assert.rejects(app.runs.start({ graph: file }), (error) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(String(error.hint), /hello\.yml:3: nodes\[1\]\.id: the id "start" comes twice/);
    return true;
  });
});
