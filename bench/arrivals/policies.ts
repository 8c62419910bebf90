/** Who decides how many workers there are: our policy, the threshold rule of Universal Agent's monitor loop, and nobody. */
import { decidePool } from '../../src/core/pools/decide.ts';
import { checkPool, type PoolInput } from '../../src/core/pools/pool.ts';

/** What a policy sees of a pool. Seconds. */
export interface Seen {
  readonly now: number;
  readonly waiting: number;
  readonly oldestAge: number;
  readonly starting: number;
  readonly workers: readonly SeenWorker[];
}

export interface SeenWorker {
  readonly id: number;
  readonly busy: boolean;
  readonly idleFor: number;
}

export interface Step {
  readonly start: number;
  readonly stop: readonly number[];
  /** Look again after so long, whatever happens. */
  readonly again?: number | undefined;
}

export interface Policy {
  readonly name: string;
  /** A new one for each day: it may remember. */
  readonly make: () => (seen: Seen) => Step;
  /** Looks on a beat, not on events. */
  readonly every?: number;
  /** Workers that are there from the start. */
  readonly from: number;
  /** A worker takes one task and ends. */
  readonly once?: boolean;
}

const NOTHING: Step = { start: 0, stop: [] };

export const fixed = (workers: number): Policy => ({
  name: `fixed, ${workers}`,
  from: workers,
  make: () => () => NOTHING,
});

/** Its defaults: one more worker a beat of ten seconds while five tasks wait, one less while none waits and the first that is idle has been so for five minutes. */
export function thresholdRule(max: number): Policy {
  const [MIN, THRESHOLD, IDLE, BEAT] = [1, 5, 300, 10];
  return {
    name: 'threshold rule',
    from: MIN,
    every: BEAT,
    make: () => (seen) => {
      const there = seen.starting + seen.workers.length;
      if (seen.waiting >= THRESHOLD) return { start: there < max ? 1 : 0, stop: [] };
      const first = seen.workers.find(({ busy }) => !busy);
      const leaves = seen.waiting === 0 && there > MIN && first !== undefined && first.idleFor > IDLE;
      return { start: 0, stop: leaves ? [first.id] : [] };
    },
  };
}

/** Ours, by the very function that the scaler asks. */
export function ours(name: string, pool: PoolInput): Policy {
  const spec = checkPool('pool', pool);
  return {
    name,
    from: spec.policy.min,
    once: spec.worker.life === 'once',
    make: () => {
      let [upAt, downAt]: (number | undefined)[] = [];
      return ({ now, waiting, oldestAge, starting, workers }) => {
        const { launch, drain, againMs } = decidePool(
          {
            runnable: waiting,
            blocked: 0,
            oldestAgeMs: oldestAge * 1000,
            starting,
            workers: workers.map(({ id, busy, idleFor }) => ({
              worker: id,
              running: busy ? 1 : 0,
              leaving: false,
              idleMs: Math.round(idleFor * 1000),
              ours: true,
            })),
            upAt,
            downAt,
            failures: 0,
            failedAt: undefined,
          },
          spec,
          now * 1000,
        );
        if (launch > 0) upAt = now * 1000;
        if (drain.length > 0) downAt = now * 1000;
        return { start: launch, stop: drain, again: againMs === undefined ? undefined : Math.max(1, againMs) / 1000 };
      };
    },
  };
}
