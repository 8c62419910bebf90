import type { Argument } from '../../config/load.ts';
import { workerId } from '../../config/parse.ts';
import type { WorkerSettingView } from '../../operate/views.ts';

/** How the commands name a worker. */
export const NAME = {
  name: 'NAME',
  doc: 'Name of the worker; it need not exist yet',
} as const satisfies Argument;

/** Checks all names before anything is changed. */
export function workerNames(words: readonly string[]): readonly string[] {
  return words.map(workerId);
}

/** A remark for a name without a worker, which may be a typo. */
export function unknownWords({ workers }: WorkerSettingView): string {
  return workers === 0 ? ' No worker of this name is here; it holds for the next one that comes.' : '';
}

export function tasksWords(count: number): string {
  return count === 1 ? '1 task' : `${count} tasks`;
}
