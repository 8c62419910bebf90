import type { NewTask, PushAnswer } from '../../store.ts';
import { Calls } from '../calls.ts';
import type { PostgresWakeups } from '../connect/wakeups.ts';
import { LogOrder } from '../log-order.ts';
import type { PostgresParts } from '../parts.ts';
import { PushDedup } from '../push-dedup.ts';
import { ReadyHints } from '../ready-hints.ts';

/** What the parts of one store share. */
export interface StoreParts extends PostgresParts {
  readonly calls: Calls;
  readonly dedup: PushDedup;
  readonly hints: ReadyHints;
  readonly logs: LogOrder;
  /** Answers of tasks that were committed in a flush whose rest failed; the same objects are sent again. */
  readonly committed: WeakMap<NewTask, PushAnswer>;
}

export function storeParts(parts: PostgresParts, wakeups: PostgresWakeups): StoreParts {
  const { world, database, reserved, store } = parts;
  const dedup = new PushDedup(world, database, store);
  const hints = new ReadyHints(parts, wakeups);
  const calls = new Calls({ database, reserved, wakeups, dedup, hints });
  return { ...parts, calls, dedup, hints, logs: new LogOrder(), committed: new WeakMap() };
}
