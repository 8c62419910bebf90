import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { FinalState, TaskState } from '../../../core/task/task.ts';
import type { DutyTenure, Edge, GraphAnswer, GraphTask } from '../../store.ts';
import type { Scene } from './scene.ts';

/** Short words for what the cases about graphs do. */

export type Wish = Partial<Omit<GraphTask, 'after'>> & {
  readonly queue?: string;
  readonly after?: readonly (Edge | number)[];
};

/** A number in `after` is the place of another item of the same call. */
export async function draft(scene: Scene, { after = [], afterFailure = 'cancel', ...wish }: Wish): Promise<GraphTask> {
  const edges = after.map((edge): Edge => (typeof edge === 'number' ? { item: edge, optional: false } : edge));
  return { ...(await scene.draft(wish)), after: edges, afterFailure };
}

export async function answerOf(scene: Scene, wishes: readonly Wish[]): Promise<GraphAnswer> {
  const items: GraphTask[] = [];
  for (const wish of wishes) items.push(await draft(scene, wish));
  return scene.store.graphPush({ items });
}

/** The numbers of the new tasks. */
export async function push(scene: Scene, ...wishes: readonly Wish[]): Promise<readonly number[]> {
  const answer = await answerOf(scene, wishes);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.tasks.map(({ task }) => task);
}

export const need = (task: number): Edge => ({ task, optional: false });
export const after = (task: number): Edge => ({ task, optional: true });
export const maybe = (item: number): Edge => ({ item, optional: true });

export async function states(scene: Scene, tasks: readonly number[]): Promise<readonly TaskState[]> {
  const records = await scene.store.taskGet({ tasks });
  return records.map((record) => (record as { state: TaskState }).state);
}

/** The states of tasks, with their reasons where there are any. */
export async function ends(scene: Scene, tasks: readonly number[]): Promise<readonly string[]> {
  const records = await scene.store.taskGet({ tasks });
  return records.map((record) => (record?.reason === 'none' ? record.state : `${record?.state} ${record?.reason}`));
}

/** The one ready task runs and ends. */
export async function end(scene: Scene, task: number, to: FinalState = 'completed', result?: string): Promise<void> {
  const grant = await scene.claimOne({ task });
  const reason = to === 'failed' ? 'gave_up' : to === 'cancelled' ? 'requested' : 'none';
  const answer = await scene.settle(grant, to, { reason, ...(result === undefined ? {} : { result }) });
  assert.equal(answer, 'done');
}

export async function carryAll(scene: Scene, duty: DutyTenure, limit = 500): Promise<number> {
  for (let sum = 0, step = 0; step < 1000; step++) {
    const { carried, more } = await scene.store.depCarry({ duty, limit });
    sum += carried;
    if (!more) return sum;
  }
  return assert.fail('it is never done');
}

/** A parent that runs, and tasks that need it in different ways. */
export async function family(scene: Scene): Promise<{ readonly parent: Lease; readonly children: readonly number[] }> {
  const parent = await scene.running({ maxTries: 1 });
  const children = await push(
    scene,
    { after: [need(parent.task)] },
    { after: [need(parent.task)], afterFailure: 'fail' },
    { after: [need(parent.task)], afterFailure: 'run' },
    { after: [after(parent.task)] },
  );
  return { parent, children };
}
