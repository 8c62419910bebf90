/**
 * Attacks by a worker of another host on the honest worker that goes on with a run: entries under the keys of children and of states, which
 * would have it read the results of others. The honest worker here is that of the node, which may read everything.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isFinal } from '../../../src/core/task/task.ts';
import { task } from '../../../src/worker/define/task.ts';
import type { NodeScene, Wire } from '../../support/node-scene.ts';
import { machineWorker } from '../../support/runs/run-scene.ts';
import { RawHttpWorker } from '../raw-http-worker.ts';
import { type Line, target, until } from '../scene.ts';

const SECRET = 'nobody but accounting reads this';

const CHILD = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'child',
    states: { end: { type: 'initial', action: 'work' }, over: { type: 'final', output: { honest: '{{ input.n }}' } } },
  },
};
(CHILD.data.states.end as object as { transitions: object[] }).transitions = [{ to: 'over' }];

/** Two children one after the other, another one that is launched, and an output that says all that it was told. */
const FAMILY = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'family',
    machines: { child: CHILD },
    context: { first: null, second: null, got: null },
    states: {
      one: {
        type: 'initial',
        machine: 'child',
        input: { n: 1 },
        output_to_context: { first: '{{ output }}' },
        transitions: [{ to: 'two' }],
      },
      two: {
        machine: 'child',
        input: { n: 2 },
        output_to_context: { second: '{{ output }}' },
        transitions: [{ to: 'apart' }],
      },
      apart: { launch: 'child', launch_input: { n: 3 }, transitions: [{ to: 'end' }] },
      end: {
        type: 'final',
        output: { first: '{{ context.first }}', second: '{{ context.second }}', got: '{{ context.got }}' },
      },
    },
  },
};
const HONEST = { first: { honest: 1 }, second: { honest: 2 }, got: null };

/** What an attack knows: the task whose result it wants, and the run that it holds. */
interface Aim {
  readonly task: number;
  readonly id: string;
  readonly executionId: string;
}

interface Scene {
  readonly node: NodeScene;
  readonly log: readonly Line[];
  readonly forger: RawHttpWorker;
  readonly aim: Aim;
  readonly run: Wire;
}

/** A task of somebody else has ended, and a worker of another host holds a run. */
async function scene(t: TestContext): Promise<Scene> {
  const { node, log } = await target(t);
  const accounting = node.service.app.worker({
    name: 'accounting',
    tasks: [task('payroll', { run: () => SECRET })] as never,
  });
  await accounting.start();
  const paid = await node.engine.push({ queue: 'payroll', handler: 'payroll' });
  await until(async () => (await node.engine.get(paid.task))?.state === 'completed');
  await accounting.stop({ drain: false });
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'forger' } });
  const forger = await RawHttpWorker.join(node, { name: 'forger', secret, handlers: ['machine'] });
  const run = await node.call('startRun', '/api/v1/runs', { body: { machine: FAMILY, name: 'run', input: {} } });
  return { node, log, forger, run, aim: { task: paid.task, id: paid.id, executionId: 'run' } };
}

/** What became of the run, after another one that nobody has touched. */
async function honestEnd({ node, log, run }: Scene, t: TestContext): Promise<Wire> {
  await machineWorker(t, node.service.app);
  await until(async () => {
    const { state = 'ready' } = (await node.engine.get(node.engine.parseId(run.id))) ?? {};
    return isFinal(state) || state === 'scheduled';
  });
  await node.call('startRun', '/api/v1/runs', { body: { machine: FAMILY, name: 'other', input: {} } });
  const stateOf = async (name: string): Promise<string> => (await node.call('getRun', `/api/v1/runs/${name}`)).state;
  await until(async () => (await stateOf('other')) === 'completed');
  const mistakes = log.filter(({ level }) => level === 'error');
  assert.deepEqual(mistakes, []);
  return node.call('getRun', '/api/v1/runs/run');
}

/** Nothing that anybody can read of the run tells what the other task has given. */
async function tellsNothing({ node, run }: Scene): Promise<void> {
  const root = node.engine.parseId(run.id);
  const members = await node.engine.store.treeList({ root, after: 0, limit: 100 });
  for (const task of [root, ...members.map((one) => one.task)]) {
    const seen = [await node.engine.get(task), await node.engine.journal(task)];
    assert.ok(!JSON.stringify(seen).includes(SECRET), JSON.stringify(seen).slice(0, 1000));
  }
}

/** What becomes of a run whose worker has written this and given it back. */
async function ofForged(t: TestContext, forge: (aim: Aim) => readonly Entry[]): Promise<Wire> {
  const all = await scene(t);
  const { forger, aim } = all;
  const [held] = await forger.claim();
  const lease = { task: held.task, attempt: held.attempt, token: held.token };
  await forger.told('task_turn', { lease, entries: forge(aim), then: { go: 'on' } });
  await forger.told('task_release', { lease });
  await forger.hangUp();
  const end = await honestEnd(all, t);
  await tellsNothing(all);
  return end;
}

type Entry = Readonly<Record<string, unknown>>;

const under = (key: string, kind = 'value'): ((aim: Aim) => readonly Entry[]) => {
  return ({ task, id }) => [{ key, kind, value: JSON.stringify({ id, task }) }];
};

/** Where the run would stand: in this state, with this context. */
const step = (n: number, at: object, context?: object, key = `s:${String(n).padStart(6, '0')}`) => ({
  key,
  kind: 'value',
  value: JSON.stringify({
    n,
    step: n,
    state: 'one',
    next: 'end',
    patch: { at, ...(context === undefined ? {} : { context }) },
  }),
});

const standing = ({ executionId }: Aim, more: object = {}): object => ({
  executionId,
  step: 2,
  state: 'end',
  phase: 'enter',
  maxDepth: 10,
  ...more,
});

const point = (key: string) => ({ from: { got: { in: key, at: [] } } });

/** Each would have the honest worker take what the other task has given for what a child has given. */
const ATTACKS: Readonly<Record<string, (aim: Aim) => readonly Entry[]>> = {
  'a value under the key of the first child': under('s:000001/0'),
  'an element under it': under('s:000001/0', 'element'),
  'a mark under it': under('s:000001/0', 'mark'),
  'the outcome of a wait under it': under('s:000001/0', 'wait'),
  'a value under the key of a child that is not born yet': under('s:000002/0'),
  'a value under the key of a machine that is launched': under('s:000003/l0'),
  'a value under the key of a child far ahead': under('s:1000000/0'),
  'a state that points to it': (aim) => [...under('s:000001/0')(aim), step(1, standing(aim), point('s:000001/0'))],
  'a state that points to a key of no child': (aim) => [
    ...under('s:anything')(aim),
    step(1, standing(aim), point('s:anything')),
  ],
  'a part of a state that points to it': (aim) => [
    ...under('s:x/y')(aim),
    step(1, standing(aim), point('s:x/y'), 's:000001/mid:1'),
  ],
  'a list with a part that points to it': (aim) => [
    ...under('s:x')(aim),
    step(1, standing(aim), { more: { got: [{ in: 's:x', at: [] }] } }),
  ],
  'a map within a map that points to it': (aim) => [
    ...under('s:x')(aim),
    step(1, standing(aim), { within: { got: { from: { deep: { map: { x: { in: 's:x', at: [] } } } } } } }),
  ],
  'a step below zero, whose children have keys of another form': (aim) => [
    ...under('s:0000-1/0')(aim),
    step(1, standing(aim, { step: -2, state: 'one' })),
  ],
  'a part of a step, in the whole of where it stands': (aim) => [
    ...under('s:0002.5/0')(aim),
    {
      key: 'b:1',
      kind: 'value',
      value: JSON.stringify({ n: 1, patch: { at: standing(aim, { step: 1.5, state: 'one' }) } }),
    },
  ],
};

for (const [what, forge] of Object.entries(ATTACKS)) {
  test(`an honest worker that goes on with a run takes no task of others for a child: ${what}`, async (t) => {
    const { state, output, error } = await ofForged(t, forge);
    assert.equal(output, undefined);
    assert.deepEqual([state, error?.name], ['failed', 'BrokenHistory'], JSON.stringify(error));
  });
}

/** Where no run of this machine stands, and what is more than a run may have. */
const BROKEN: Readonly<Record<string, (aim: Aim) => readonly Entry[]>> = {
  'a phase that no run has': (aim) => [step(1, standing(aim, { phase: 'asleep' }))],
  'the place of another run': (aim) => [step(1, standing({ ...aim, executionId: 'other' }))],
  'a child under the key of a state': () => [
    { key: 's:000001', kind: 'child', child: { queue: 'machines', handler: 'machine', input: '{}' } },
  ],
  'a patch under the key of the next state that is none': () => [{ key: 's:000001', kind: 'value', value: '{"n":1}' }],
  'a list for a context': (aim) => [step(1, standing(aim, { context: ['x'] }))],
  'an end that is none': (aim) => [step(1, standing(aim, { phase: 'ended', end: {} }))],
  'a gigantic context': (aim) => [
    step(1, standing(aim), { set: { all: 'x'.repeat(900_000) } }),
    ...Array.from({ length: 30 }, (_, i) =>
      step(
        i + 2,
        {},
        {
          from: { all: { list: Array.from({ length: 100 }, () => ({ in: 'context', at: ['all'] })) } },
        },
      ),
    ),
  ],
  'a state far ahead that is none': (aim) => [step(1, standing(aim)), step(999_999, { state: 7 })],
};

for (const [what, forge] of Object.entries(BROKEN)) {
  test(`an honest worker gives up a run whose history is none, and goes on with others: ${what}`, async (t) => {
    const { state, error } = await ofForged(t, forge);
    assert.deepEqual([state, error?.name], ['failed', 'BrokenHistory'], JSON.stringify(error));
  });
}

test('a state that the machine does not have is said, and is not the end: a worker of another release may have it', async (t) => {
  const { state, task } = await ofForged(t, (aim) => [step(1, standing(aim, { state: 'nowhere' }))]);
  assert.equal(state, 'scheduled', JSON.stringify(task));
});

test('a run that its worker gave back untouched ends as it would have', async (t) => {
  const all = await scene(t);
  const [{ task, attempt, token }] = (await all.forger.claim()) as [Wire];
  await all.forger.told('task_release', { lease: { task, attempt, token } });
  await all.forger.hangUp();
  const { state, output } = await honestEnd(all, t);
  assert.deepEqual([state, output], ['completed', HONEST]);
});
