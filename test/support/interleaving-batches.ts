import type { Lease } from '../../src/core/task/lease.ts';
import { HOUR } from '../../src/store/conformance/kit/scene.ts';
import type { Act } from './interleaving.ts';
import { both, type Case, write } from './interleaving-verbs.ts';

/** Verbs that hold several rows: whoever comes in another order must not be in the middle of them. */
const BATCHES: Readonly<Record<string, (leases: readonly Lease[]) => Act['act']>> = {
  complete: (leases) => (store) =>
    store.taskSettle({
      items: leases.map(({ task, attempt }) => ({ task, attempt, to: 'completed', reason: 'none' })),
    }),
  fail: (leases) => (store) =>
    store.taskSettle({
      items: leases.map(({ task, attempt }) => ({ task, attempt, to: 'failed', reason: 'gave_up' })),
    }),
  return: (leases) => (store) => {
    const more = { change: 'retried', delayMs: 0, refund: false, bounced: false } as const;
    return store.taskReturn({ items: leases.map(({ task, attempt }) => ({ ...more, task, attempt })) });
  },
  renew: (leases) => (store) =>
    store.leaseRenew({ items: leases.map(({ task, attempt }) => ({ task, attempt, ttlMs: HOUR })) }),
  cancel: (leases) => (store) => store.taskCancel({ tasks: leases.map(({ task }) => task) }),
  log: (leases) => (store) => {
    const entries = [{ seq: 2, at: 1, stream: 'stdout', text: 'x' }] as const;
    return store.logAppend({ items: leases.map(({ task, attempt }) => ({ task, attempt, entries })) });
  },
};

/** Each holds one task until both batches wait. */
export const TANGLE = ['hold 1', 'hold 2', 'up', 'down', 'hold 1', 'hold 2'] as const;

/** One batch takes the tasks upwards, the other downwards. */
export const TANGLES: Readonly<Record<string, Case>> = Object.fromEntries(
  Object.entries(BATCHES).flatMap(([up, upwards]) =>
    Object.entries(BATCHES).map(([down, downwards]): [string, Case] => [
      `${up} × ${down}`,
      both(async (scene) => {
        const [one, two] = [await scene.running(), await scene.running()];
        return [
          write('hold 1', one),
          write('hold 2', two),
          { name: 'up', act: upwards([one, two]) },
          { name: 'down', act: downwards([two, one]) },
        ];
      }),
    ]),
  ),
);
