import type { GraphRequest } from '../../src/engine/push/graphs.ts';
import { outcome, sleep } from './calls.ts';
import type { GraphNode } from './history.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import type { Owner } from './scheduler.ts';
import type { Wish } from './wishes.ts';

/** Pushes under its operation id until it is answered. A process pushes through itself, a client through any. */
export async function pushOne(run: Run, me: Owner, wish: Wish): Promise<number | undefined> {
  const [task] = await pushAgain(run, me, [wish], async ({ engine }) => [await engine.push(wish)]);
  return task;
}

/** All of them or none. */
export async function pushGraph(
  run: Run,
  me: Owner,
  wishes: readonly (Wish & GraphRequest)[],
): Promise<readonly number[]> {
  const tasks = await pushAgain(run, me, wishes, ({ engine }) => engine.pushGraph(wishes));
  if (tasks.length > 0) run.history.add({ kind: 'graph', nodes: wishes.flatMap((wish, i) => nodeOf(wish, i, tasks)) });
  return tasks;
}

/** One with a key may be a task that was there before, and which needs nothing of this. */
function nodeOf(
  { after = [], afterFailure = 'cancel', unique }: GraphRequest,
  place: number,
  tasks: readonly number[],
): readonly GraphNode[] {
  if (unique !== undefined) return [];
  const needs = after.flatMap((one) => {
    const { on, optional } = one as { on: string | number; optional: boolean };
    return optional ? [] : [typeof on === 'number' ? on : (tasks[Number(on)] as number)];
  });
  return [{ task: tasks[place] as number, needs, afterFailure }];
}

async function pushAgain(
  run: Run,
  me: Owner,
  wishes: readonly Wish[],
  call: (through: SimProcess) => Promise<readonly { readonly task: number }[]>,
): Promise<readonly number[]> {
  const { history, rng } = run;
  for (let i = 0; i < 4; i++) {
    history.openPushes += wishes.length;
    const { status, value } = await outcome(run, me, call('engine' in me ? (me as SimProcess) : run.anyProcess()));
    history.openPushes -= wishes.length;
    for (const [at, { op, input, unique }] of wishes.entries()) {
      const key = (unique as { key: string } | undefined)?.key;
      history.add({ kind: 'push', op, key, input: JSON.stringify(input), status, task: value?.[at]?.task });
    }
    if (value !== undefined) return value.map(({ task }) => task);
    if (status === 'refused') break;
    await sleep(run, me, rng.int(1, 300));
  }
  return [];
}
