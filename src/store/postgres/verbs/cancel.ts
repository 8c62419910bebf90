import { isFinal } from '../../../core/task.ts';
import { stateOf } from '../../codes.ts';
import type { CancelAnswer, ReviveAnswer } from '../../store.ts';
import { numbers } from '../arrays.ts';
import type { Session, Try } from '../database.ts';

/** A task may change between two looks; more often than this only if something is wrong. */
const LOOKS = 10;

/** What does not run ends at once; what runs is asked, and its worker hears of it at the next renewal. */
export async function cancelTasks(
  session: Session,
  tasks: readonly number[],
  tried: Try,
): Promise<readonly CancelAnswer[]> {
  const answers = new Map<number, CancelAnswer>();
  let open = [...new Set(tasks)];
  for (let look = 0; open.length > 0 && look < LOOKS; look++) {
    for (const [id] of await session.rows('cancelIdle', [numbers(open)])) answers.set(id as number, 'cancelled');
    for (const [id] of await session.rows('cancelAsk', [numbers(open)])) answers.set(id as number, 'requested');
    open = open.filter((task) => !answers.has(task));
    if (open.length === 0) break;
    const stands = new Map((await session.rows('stand', [numbers(open)])) as readonly (readonly [number, number])[]);
    for (const task of open) {
      const code = stands.get(task);
      if (code === undefined) answers.set(task, 'unknown');
      else if (code === 1) answers.set(task, 'requested');
      // It may have been the first sending of this call that ended it.
      else if (isFinal(stateOf(code))) answers.set(task, tried.again && code === 6 ? 'cancelled' : 'finished');
    }
    open = open.filter((task) => !answers.has(task));
  }
  const told = new Set<number>();
  return tasks.map((task) => {
    const answer = answers.get(task) ?? 'unknown';
    const second = told.has(task);
    told.add(task);
    return second && answer === 'cancelled' ? 'finished' : answer;
  });
}

/** The only way out of a final state. The attempt that ended the task moves to `attempt`, so that a repeat is known again. */
export async function reviveTask(session: Session, task: number, tried: Try): Promise<ReviveAnswer> {
  for (let look = 0; ; look++) {
    const [row] = await session.all<{ lane: number }>('revive', [task]);
    if (row !== undefined) return { ok: true, lane: row.lane };
    const [record] = await session.all<{ state: number; lane: number }>('taskGet', [numbers([task])]);
    if (record === undefined) return { ok: false, state: undefined };
    const state = stateOf(record.state);
    if (isFinal(state) && look < LOOKS) continue; // it ended between the two looks
    return tried.again && !isFinal(state) ? { ok: true, lane: record.lane } : { ok: false, state };
  }
}
