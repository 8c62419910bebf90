/** The draft of a push like an existing task. It goes from screen to screen in memory, because an input may be too large for an address. */

import type { Task } from '../../api.ts';
import { ExactNumber } from '../../model/json.ts';

/** The contents with which the form begins. */
export interface PushDraft {
  readonly handler: string;
  readonly queue: string;
  readonly input: unknown;
  readonly like: string;
  readonly options: Readonly<Record<string, unknown>>;
}

let draft: PushDraft | undefined;

/** Makes a draft like this task, and returns the address of the push screen that takes it. */
export function draftLike(task: Task): string {
  const { id, handler, queue, input, priority, maxAttempts, placement, limits, fairness } = task;
  draft = {
    handler,
    queue,
    input: plain(input),
    like: id,
    options: {
      ...(priority === 0 ? {} : { priority }),
      maxAttempts,
      ...(placement === undefined ? {} : { placement }),
      ...(limits === undefined ? {} : { limits }),
      ...(fairness === undefined ? {} : { fairness }),
    },
  };
  return `/push?like=${encodeURIComponent(id)}`;
}

export function takeDraft(like: string | null): PushDraft | undefined {
  return draft !== undefined && draft.like === like ? draft : undefined;
}

/** A number that JavaScript cannot hold exactly is sent as text: the node takes no other. */
export function plain(value: unknown): unknown {
  if (value instanceof ExactNumber)
    return String(Number(value.source)) === value.source || Number.isSafeInteger(Number(value.source))
      ? Number(value.source)
      : value.source;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  return value;
}
