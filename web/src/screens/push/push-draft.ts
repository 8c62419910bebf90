import type { Task } from '../../api.ts';
import { ExactNumber } from '../../model/json.ts';

/** What a push is to begin with, handed from page to page in memory: an input may be too large for an address. */
export interface PushDraft {
  readonly handler: string;
  readonly queue: string;
  readonly input: unknown;
  readonly like: string;
  readonly options: Readonly<Record<string, unknown>>;
}

let draft: PushDraft | undefined;

/** The address of a push like this task; the page there takes what was handed over. */
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

/** Numbers that only a text can say are sent as one: the node takes no others. */
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
