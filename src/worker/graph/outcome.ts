import { isFinal } from '../../core/task/task.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import type { TaskResult } from '../../protocol/link.ts';

/** How a task of a node ended. */
export type TaskOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly type: string; readonly message: string };

/** Undefined: it has not ended. */
export function outcomeOf({ state, result }: TaskResult): TaskOutcome | undefined {
  if (state === 'completed') return { ok: true };
  if (state === 'gone') return { ok: false, type: 'TaskGone', message: 'its task is no longer kept' };
  if (!isFinal(state)) return undefined;
  if (state === 'cancelled') return { ok: false, type: 'Cancelled', message: 'its task was cancelled' };
  const error = result === undefined ? null : (JSON.parse(result) as Value);
  const { name, code, message } = isMap(error) ? error : {};
  const type = [code, name].find((one) => typeof one === 'string') as string | undefined;
  return {
    ok: false,
    type: type ?? 'TaskFailed',
    message: typeof message === 'string' ? message : (JSON.stringify(error) ?? ''),
  };
}
