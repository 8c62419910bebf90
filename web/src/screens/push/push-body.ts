/** The request body of a push, from the contents of the form. */

import { commaList } from '../../model/text.ts';
import type { Options } from './options.tsx';
import type { PushDraft } from './push-draft.ts';

export function bodyOf({
  queue,
  handler,
  input,
  options,
  like,
}: {
  readonly queue: string;
  readonly handler: string;
  readonly input: unknown;
  readonly options: Options;
  /** The task that the form was filled from. */
  readonly like: PushDraft | undefined;
}) {
  const requires = commaList(options.requires);
  const unchanged = (like?.options ?? {}) as {
    placement?: object;
    limits?: readonly { name: string }[];
    fairness?: { key: string };
  };
  const limits = commaList(options.limits).map(
    (name) => unchanged.limits?.find((limit) => limit.name === name) ?? name,
  );
  const placement = { ...unchanged.placement, ...(requires.length > 0 ? { requires } : {}) };
  return {
    queue: queue.trim() === '' ? handler : queue.trim(),
    handler,
    input,
    ...(options.priority === '' ? {} : { priority: Number(options.priority) }),
    ...(options.maxAttempts === '' ? {} : { maxAttempts: Number(options.maxAttempts) }),
    ...(options.delay === '' ? {} : { delay: options.delay.trim() }),
    ...(options.timeout === '' ? {} : { timeout: options.timeout.trim() }),
    ...(options.unique === '' ? {} : { unique: options.unique }),
    ...(Object.keys(placement).length === 0 ? {} : { placement }),
    ...(limits.length === 0 ? {} : { limits }),
    ...(unchanged.fairness === undefined ? {} : { fairness: unchanged.fairness }),
  };
}
