import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Roster } from '../duties/roster.ts';
import { Engine } from '../engine.ts';
import type { GraphRequest } from './graphs.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly worker: number;
  readonly roster: Roster;
  /** Pushes a graph and answers the numbers of its tasks by name. */
  readonly push: (tasks: readonly Omit<GraphRequest, 'queue' | 'handler'>[]) => Promise<ReadonlyMap<string, number>>;
  /** Runs everything that can run; answers the names in order. */
  readonly work: (names: ReadonlyMap<string, number>, fails?: readonly string[]) => Promise<readonly string[]>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  return {
    world,
    engine,
    worker,
    roster,
    push: async (tasks) => {
      const pushed = await engine.pushGraph(tasks.map((one) => ({ queue: 'q', handler: 'h', ...one })));
      return new Map(tasks.map(({ name }, i) => [name ?? String(i), pushed[i]?.task as number]));
    },
    work: async (names, fails = []) => {
      const nameOf = new Map([...names].map(([name, task]) => [task, name]));
      const order: string[] = [];
      for (;;) {
        const [grant] = await engine.claim({ worker, max: 1 });
        if (grant === undefined) return order;
        const name = nameOf.get(grant.task) as string;
        order.push(name);
        if (fails.includes(name)) await engine.fail(grant, 'no', { giveUp: true });
        else await engine.complete(grant, name);
      }
    },
  };
}

const stateOf = async (engine: Engine, task: number | undefined): Promise<string> => {
  const record = await engine.get(task as number);
  return `${record?.state}${record?.reason === 'none' ? '' : `/${record?.reason}`}`;
};

test('tasks run after their dependencies, and get their results', async (t) => {
  const { engine, push, work } = await rig(t);
  const names = await push([
    { name: 'report', after: ['left', 'right'] },
    { name: 'left', after: ['start'] },
    { name: 'right', after: ['start'] },
    { name: 'start' },
  ]);
  assert.deepEqual(await work(names), ['start', 'left', 'right', 'report']);
  const needs = await engine.dependencies(names.get('report') as number);
  assert.deepEqual(new Set(needs.map(({ result }) => result)), new Set(['"left"', '"right"']));
});

test('cycles, unknown names, doubled names and unknown tasks are refused, and nothing is stored', async (t) => {
  const { engine, push } = await rig(t);
  assert.equal(
    await refusal(
      push([
        { name: 'a', after: ['b'] },
        { name: 'b', after: ['a'] },
      ]),
    ),
    'INVALID_INPUT',
  );
  assert.equal(await refusal(push([{ name: 'a', after: ['nobody'] }])), 'INVALID_INPUT');
  assert.equal(await refusal(push([{ name: 'a' }, { name: 'a' }])), 'INVALID_INPUT');
  assert.equal(await refusal(push([{ name: 'a' }, { name: 'b', after: [4711] }])), 'NOT_FOUND');
  assert.equal(await refusal(push([{ name: 'a' }, { name: 'b', after: ['a'], delay: '1h' }])), 'INVALID_INPUT');
  assert.deepEqual(await engine.list({ limit: 10 }), []);
});

test('a task whose dependency failed is cancelled, fails or runs, as it says, and so on downwards', async (t) => {
  const { engine, push, work } = await rig(t);
  const names = await push([
    { name: 'bad' },
    { name: 'skipped', after: ['bad'] },
    { name: 'below', after: ['skipped'] },
    { name: 'failed', after: ['bad'], afterFailure: 'fail' },
    { name: 'anyway', after: ['bad'], afterFailure: 'run' },
    { name: 'optional', after: [{ on: 'bad', optional: true }] },
  ]);
  assert.deepEqual((await work(names, ['bad'])).toSorted(), ['anyway', 'bad', 'optional']);
  for (const [name, state] of [
    ['skipped', 'cancelled/dependency'],
    ['below', 'cancelled/dependency'],
    ['failed', 'failed/dependency'],
    ['anyway', 'completed'],
  ] as const) {
    assert.equal(await stateOf(engine, names.get(name)), state, name);
  }
});

test('a graph can depend on existing tasks, whatever has become of them', async (t) => {
  const { engine, push, work } = await rig(t);
  const first = await push([{ name: 'done' }, { name: 'open' }]);
  const [grant] = (await engine.claim({ worker: 1, max: 1 })) as [Grant];
  await engine.complete(grant, 'x');
  const names = await push([
    { name: 'now', after: [first.get('done') as number] },
    { name: 'later', after: [first.get('open') as number, first.get('done') as number] },
  ]);
  assert.equal(await stateOf(engine, names.get('now')), 'ready');
  assert.equal(await stateOf(engine, names.get('later')), 'waiting');
  assert.match(
    (await engine.explain(names.get('later') as number)).summary,
    /^The task does not run: it waits for 1 of 2 tasks: task_/,
  );
  assert.deepEqual(await work(new Map([...first, ...names])), ['open', 'now', 'later']);
});

test('the layers of a dense graph follow each other without time passing', async (t) => {
  const { world, engine, push, work, roster } = await rig(t);
  t.after(
    engine.store.watch({ wanted: () => false, onChange: () => engine.hint(), onCarried: () => engine.carried() }),
  );
  roster.keeper('stager').start();
  await world.advance(300);
  const layer = (n: number): readonly string[] => Array.from({ length: 40 }, (_, i) => `${n}/${i}`);
  const names = await push(
    [0, 1, 2].flatMap((n) => layer(n).map((name) => ({ name, after: n === 0 ? [] : layer(n - 1) }))),
  );
  const began = world.clock.monotonic();
  for (const n of [0, 1, 2]) {
    assert.deepEqual((await completeAll(engine, names)).toSorted(), layer(n).toSorted());
    await world.advance(0);
  }
  assert.equal(world.clock.monotonic(), began);
  assert.equal((await work(names)).length, 0);
});

/** Claims all that is ready and completes it together, as forty slots do. */
async function completeAll(engine: Engine, names: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const nameOf = new Map([...names].map(([name, task]) => [task, name]));
  const grants = await engine.claim({ worker: 1, max: 100 });
  await Promise.all(grants.map((grant) => engine.complete(grant)));
  return grants.map(({ task }) => nameOf.get(task) as string);
}

test('a task with thousands of dependents wakes them all', async (t) => {
  const { push, work, roster, engine } = await rig(t);
  const names = await push([
    { name: 'start' },
    ...Array.from({ length: 1300 }, (_, i) => ({ name: `d${i}`, after: ['start'] })),
  ]);
  const done: string[] = [...(await work(names))];
  for (let i = 0; i < 5; i++) {
    await roster.tick('stager');
    done.push(...(await work(names)));
  }
  assert.equal(done.length, 1301);
  assert.equal((await engine.stats('q')).waiting, 0);
});
