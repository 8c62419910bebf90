import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Roster } from '../duties/roster.ts';
import { Engine } from '../engine.ts';
import type { GraphRequest } from '../push/graphs.ts';
import { type TreeAnswer, type TreeProgress, Trees } from './trees.ts';

type Names = ReadonlyMap<string, number>;

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const push = async (tasks: readonly Omit<GraphRequest, 'queue' | 'handler'>[]): Promise<Names> => {
    const pushed = await engine.pushGraph(tasks.map((one) => ({ queue: 'q', handler: 'h', ...one })));
    return new Map(tasks.map(({ name }, i) => [name ?? String(i), pushed[i]?.task as number]));
  };
  /** Runs everything that can run; answers the names in order. */
  const work = async (names: Names, fails: readonly string[] = []): Promise<readonly string[]> => {
    const order: string[] = [];
    for (;;) {
      const [grant] = await engine.claim({ worker, max: 1 });
      if (grant === undefined) return order;
      const [name = '?'] = [...names].find(([, task]) => task === grant.task) ?? [];
      order.push(name);
      if (fails.includes(name)) await engine.fail(grant, 'no', { giveUp: true });
      else await engine.complete(grant, name);
    }
  };
  const states = async (names: Names): Promise<Record<string, string>> => {
    const told: Record<string, string> = {};
    for (const [name, task] of names) told[name] = (await engine.get(task))?.state ?? 'gone';
    return told;
  };
  const claim = async (task: number | undefined) => {
    const [grant] = await engine.claim({ worker, max: 1, task: task as number });
    assert.ok(grant);
    return grant;
  };
  return { world, engine, roster, push, work, states, claim };
}

const acts = <Act extends string>({ tasks }: TreeAnswer<Act>, names: Names): Record<string, Act> => {
  const nameOf = new Map([...names].map(([name, task]) => [task, name]));
  return Object.fromEntries(tasks.map(({ task, act }) => [nameOf.get(task) ?? String(task), act]));
};

/** A diamond with a tail, and a neighbour that shares nothing. */
const DIAMOND = [
  { name: 'top' },
  { name: 'left', after: ['top'] },
  { name: 'right', after: ['top'], afterFailure: 'run' },
  { name: 'join', after: ['left', 'right'] },
  { name: 'tail', after: [{ on: 'join', optional: true }] },
  { name: 'neighbour' },
] as const;

test('a task is cancelled with everything that was made to wait for it, whatever each would do after a failure', async (t) => {
  const { engine, push, states, work } = await rig(t);
  const names = await push(DIAMOND);
  const dry = await engine.trees.cancel(names.get('left') as number, { dryRun: true });
  const expected = { left: 'cancelled', join: 'cancelled', tail: 'cancelled' };
  assert.deepEqual([acts(dry, names), dry.dryRun], [expected, true]);
  assert.deepEqual((await states(names)).join, 'waiting', 'a dry run changes nothing');
  const answer = await engine.trees.cancel(names.get('left') as number);
  assert.deepEqual([acts(answer, names), answer.counts], [expected, { cancelled: 3, requested: 0, finished: 0 }]);
  assert.deepEqual(
    answer.tasks.map(({ id }) => engine.parseId(id)),
    answer.tasks.map(({ task }) => task),
  );
  assert.deepEqual(await work(names), ['top', 'right', 'neighbour']);
  const again = await engine.trees.cancel(names.get('top') as number);
  assert.deepEqual(again.counts, { cancelled: 0, requested: 0, finished: 5 });
});

test('nothing below a cancelled task is woken on the way, and running tasks are asked to stop', async (t) => {
  const { engine, push, states, claim } = await rig(t);
  const names = await push(DIAMOND);
  const grant = await claim(names.get('top'));
  const asked: number[] = [];
  engine.listen({ cancelRequested: (task) => void asked.push(task) });
  const { counts } = await engine.trees.cancel(names.get('top') as number);
  assert.deepEqual([counts, asked], [{ cancelled: 4, requested: 1, finished: 0 }, [names.get('top')]]);
  await engine.cancelled(grant);
  assert.deepEqual(await states(names), {
    top: 'cancelled',
    left: 'cancelled',
    right: 'cancelled',
    join: 'cancelled',
    tail: 'cancelled',
    neighbour: 'ready',
  });
  for await (const item of engine.events({ after: 0, signal: AbortSignal.timeout(50) })) {
    if (item.kind !== 'event') continue;
    assert.notEqual(item.event.change, 'woken');
    if (item.event.task === names.get('top') && item.event.state === 'cancelled') break;
  }
});

test('failed parts run again in their order, and completed tasks keep their results', async (t) => {
  const { engine, push, states, work } = await rig(t);
  const names = await push(DIAMOND);
  assert.deepEqual(await work(names, ['left']), ['top', 'left', 'right', 'tail', 'neighbour']);
  assert.equal((await states(names)).join, 'cancelled');
  const expected = { top: 'kept', right: 'kept', left: 'again', join: 'again', tail: 'kept' };
  const dry = await engine.trees.retry(names.get('top') as number, { dryRun: true });
  assert.deepEqual(acts(dry, names), expected);
  assert.equal((await states(names)).left, 'failed');
  const answer = await engine.trees.retry(names.get('top') as number);
  assert.deepEqual(acts(answer, names), expected);
  assert.deepEqual(answer.counts, { again: 2, kept: 3, unfinished: 0, blocked: 0 });
  assert.equal((await states(names)).join, 'waiting');
  const before = await engine.get(names.get('top') as number);
  assert.deepEqual(await work(names), ['left', 'join']);
  assert.deepEqual(await engine.get(names.get('top') as number), before);
  assert.ok(Object.values(await states(names)).every((state) => state === 'completed'));
});

test('a tree that was cancelled as a whole runs again as a whole', async (t) => {
  const { engine, push, work } = await rig(t);
  const names = await push(DIAMOND);
  await engine.trees.cancel(names.get('top') as number);
  const { counts } = await engine.trees.retry(names.get('top') as number);
  assert.deepEqual(counts, { again: 5, kept: 0, unfinished: 0, blocked: 0 });
  const order = await work(names);
  for (const [first, then] of [
    ['top', 'left'],
    ['top', 'right'],
    ['left', 'join'],
    ['right', 'join'],
    ['join', 'tail'],
  ]) {
    assert.ok(order.indexOf(first as string) < order.indexOf(then as string), order.join(' '));
  }
});

test('a task that also needs one that failed elsewhere stays as it is, and so do its dependents', async (t) => {
  const { engine, push, states, work } = await rig(t);
  const names = await push([
    { name: 'a' },
    { name: 'b' },
    { name: 'both', after: ['a', 'b'] },
    { name: 'below', after: ['both'] },
    { name: 'beside', after: ['a'] },
  ]);
  await work(names, ['a', 'b']);
  const blocked = { a: 'again', beside: 'again', both: 'blocked', below: 'blocked' };
  for (const dryRun of [true, false]) {
    const answer = await engine.trees.retry(names.get('a') as number, { dryRun });
    assert.deepEqual(acts(answer, names), blocked);
  }
  assert.deepEqual(await work(names), ['a', 'beside']);
  assert.deepEqual([(await states(names)).both, (await states(names)).below], ['cancelled', 'cancelled']);
  const { counts } = await engine.trees.retry(names.get('b') as number);
  assert.deepEqual(counts, { again: 3, kept: 0, unfinished: 0, blocked: 0 });
  assert.deepEqual(await work(names), ['b', 'both', 'below']);
});

test('spawned children belong to the tree, and the parent that waits for them does not belong to theirs', async (t) => {
  const { engine, push, claim, states } = await rig(t);
  const parents = await push([{ name: 'parent' }, { name: 'after', after: ['parent'] }]);
  const grant = await claim(parents.get('parent'));
  const kid = (key: string) => ({ key, kind: 'child', child: { queue: 'q', handler: 'h' } }) as const;
  const { entries, went } = await engine.turn(grant, {
    entries: [kid('one'), kid('two')],
    then: { go: 'park', key: 'k', children: ['one', 'two'] },
  });
  assert.equal(went, 'parked');
  const [one, two] = entries.map((entered) => entered?.child?.task as number);
  const behind = await engine.pushGraph([{ queue: 'q', handler: 'h', after: [two as number] }]);
  const children = new Map([
    ['one', one as number],
    ['two', two as number],
    ['behind two', behind[0]?.task as number],
  ]);
  const names = new Map([...parents, ...children]);
  const { counts } = await engine.trees.cancel(children.get('two') as number, { dryRun: true });
  assert.deepEqual(counts, { cancelled: 2, requested: 0, finished: 0 });
  const all = await engine.trees.cancel(parents.get('parent') as number);
  assert.deepEqual(all.counts, { cancelled: 5, requested: 0, finished: 0 });
  assert.ok(Object.values(await states(names)).every((state) => state === 'cancelled'));
  await engine.trees.retry(parents.get('parent') as number);
  assert.deepEqual(await states(names), {
    parent: 'ready',
    after: 'waiting',
    one: 'ready',
    two: 'ready',
    'behind two': 'waiting',
  });
});

test('a task that is spawned while its tree is cancelled is cancelled too, and a task that was asked to stop spawns no more', async (t) => {
  const { engine, push, claim } = await rig(t);
  const names = await push([{ name: 'root' }]);
  const root = names.get('root') as number;
  const grant = await claim(root);
  const bear = (key: string) =>
    engine.turn(grant, { entries: [{ key, kind: 'child', child: { queue: 'q', handler: 'h' } }] });
  await bear('before');
  const { store } = engine;
  let looks = 0;
  const subtrees = new Trees({
    store: {
      taskGet: (params) => store.taskGet(params),
      depDependents: (params) => store.depDependents(params),
      depNeeds: (params) => store.depNeeds(params),
      treeList: (params) => store.treeList(params),
      journalList: (params) => store.journalList(params),
      taskCancel: async (params) => {
        // Found, and not asked to stop yet.
        if (looks++ === 0) await bear('meanwhile');
        return store.taskCancel(params);
      },
      taskRevive: (params) => store.taskRevive(params),
    },
    idOf: (one) => engine.idOf(one),
    onCancelled: () => {},
    onRevived: () => {},
    onCommit: () => {},
  });
  const { counts } = await subtrees.cancel(root, {});
  assert.deepEqual(counts, { cancelled: 2, requested: 1, finished: 0 });
  assert.equal((await bear('after')).went, 'cancelled');
  assert.deepEqual(await store.treeCount({ root }), {
    ...(await store.treeCount({ root })),
    cancelled: 3,
    ready: 0,
    running: 0,
  });
});

for (const [shape, after] of [
  ['in one line', (i: number) => [String(i - 1)]],
  ['in a wide tree', (i: number) => [String(Math.floor((i - 1) / 50))]],
] as const) {
  test(`ten thousand tasks ${shape} are cancelled and run again, step by step`, async (t) => {
    const { engine, push, claim } = await rig(t);
    const tasks = Array.from({ length: 10_000 }, (_, i) => ({
      name: String(i),
      ...(i === 0 ? {} : { after: after(i) }),
    }));
    const names = await push(tasks);
    const root = names.get('0') as number;
    const seen: TreeProgress[] = [];
    const cancelled = await engine.trees.cancel(root, { onProgress: (one) => seen.push(one) });
    assert.equal(cancelled.counts.cancelled, 10_000);
    assert.deepEqual(seen.at(-1), { found: 10_000, done: 10_000 });
    assert.ok(
      seen.every(({ done }, i) => done - (seen[i - 1]?.done ?? 0) <= 250),
      'no step is larger than its bound',
    );
    const { counts } = await engine.trees.retry(root);
    assert.equal(counts.again, 10_000);
    const { ready, waiting } = await engine.stats('q');
    assert.deepEqual({ ready, waiting }, { ready: 1, waiting: 9999 });
    await engine.fail(await claim(root), 'no', { giveUp: true });
  });
}

test('a task that fails again while the rest is being revived keeps its dependents from running without it', async (t) => {
  const { engine, push, claim } = await rig(t);
  const names = await push([
    { name: 'root' },
    ...Array.from({ length: 400 }, (_, i) => ({ name: String(i), after: ['root'] })),
  ]);
  const root = names.get('root') as number;
  await engine.trees.cancel(root);
  const { store } = engine;
  let steps = 0;
  const subtrees = new Trees({
    store: {
      taskGet: (params) => store.taskGet(params),
      depDependents: (params) => store.depDependents(params),
      depNeeds: (params) => store.depNeeds(params),
      treeList: (params) => store.treeList(params),
      journalList: (params) => store.journalList(params),
      taskCancel: (params) => store.taskCancel(params),
      taskRevive: async (params) => {
        const answers = await store.taskRevive(params);
        // Between the first step, which revives the root, and the second.
        if (steps++ === 0) await engine.fail(await claim(root), 'no', { giveUp: true });
        return answers;
      },
    },
    idOf: (one) => engine.idOf(one),
    onCancelled: () => {},
    onRevived: (lane) => engine.readyLanes.mark(lane),
    onCommit: () => {},
  });
  const { counts } = await subtrees.retry(root, {});
  assert.deepEqual(counts, { again: 250, kept: 0, unfinished: 0, blocked: 151 });
  const { ready, waiting } = await engine.stats('q');
  assert.deepEqual({ ready, waiting }, { ready: 0, waiting: 0 });
});

test('an abort works between two steps, and bad input is refused before anything is done', async (t) => {
  const { engine, push } = await rig(t);
  const names = await push(
    Array.from({ length: 600 }, (_, i) => ({ name: String(i), ...(i === 0 ? {} : { after: ['0'] }) })),
  );
  const root = names.get('0') as number;
  const stop = new AbortController();
  const why = new Error('enough');
  const onProgress = ({ done }: TreeProgress): void => {
    if (done > 0) stop.abort(why);
  };
  await assert.rejects(engine.trees.cancel(root, { onProgress, signal: stop.signal }), (error) => error === why);
  assert.equal((await engine.stats('q')).cancelled, 250);
  assert.equal(await refusal(engine.trees.cancel(4711)), 'NOT_FOUND');
  assert.equal(await refusal(engine.trees.retry(-1)), 'INVALID_INPUT');
  assert.equal(await refusal(engine.trees.retry(root, { dryRun: 1 as never })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.trees.retry(root, { deep: true } as never)), 'UNKNOWN_OPTION');
});

test('a tree is shown with the task first, and with the dependencies of each', async (t) => {
  const { engine, push, claim } = await rig(t);
  const names = await push(DIAMOND);
  const left = await claim(names.get('top'));
  await engine.turn(left, { entries: [{ key: 'one', kind: 'child', child: { queue: 'q', handler: 'child' } }] });
  const tree = await engine.trees.show(names.get('top') as number);
  const nameOf = new Map([...names].map(([name, task]) => [task, name]));
  const byId = new Map(tree.map(({ id, task }) => [id, nameOf.get(task) ?? 'child']));
  const told = tree.map(({ id, after, spawnedBy }) => [
    byId.get(id),
    after.map((up) => byId.get(up)).join(),
    spawnedBy.map((up) => byId.get(up)).join(),
  ]);
  assert.deepEqual(told[0], ['top', '', '']);
  assert.deepEqual(
    told.slice(1).toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
    [
      ['child', '', 'top'],
      ['join', 'left,right', ''],
      ['left', 'top', ''],
      ['right', 'top', ''],
      ['tail', 'join', ''],
    ],
  );
  assert.equal(await refusal(engine.trees.show(999)), 'NOT_FOUND');
});
