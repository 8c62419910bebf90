/** How many workers a pool of Universal Agent should have: pure rules over what was counted. */
import { checkPool, decidePool } from '../../../app/library/run-pools.ts';
import type { PoolConfig } from './configs.ts';

/** `draining`: it finishes what it has. `stopped`: it is gone, and still listed. */
export type WorkerStatus = 'idle' | 'processing' | 'draining' | 'stopped';

export interface PoolMember {
  readonly id: string;
  readonly status: WorkerStatus;
  /** Runs that it is at. */
  readonly running: number;
  /** How long it has had no run; 0 for one that has some. */
  readonly idleMs: number;
}

export interface QueueDepth {
  /** Runs that wait for a worker, and that no limit holds back. */
  readonly runnable: number;
  readonly oldestAgeMs: number;
}

export interface ScalingDecision {
  /** Workers to start. */
  readonly spawn: number;
  /** Idle workers to stop. */
  readonly remove: readonly string[];
}

type Rule = Pick<PoolConfig, 'minWorkers' | 'maxWorkers' | 'scaleUpThreshold' | 'scaleDownIdleSeconds'>;

const NOTHING: ScalingDecision = { spawn: 0, remove: [] };

/**
 * The rule of Universal Agent's monitor: at the threshold one worker more at each look, without any waiting run one worker less whose idle
 * time is over. Dead workers are replaced at once, up to the least number.
 */
export function decideByThreshold(
  { runnable }: Pick<QueueDepth, 'runnable'>,
  members: readonly PoolMember[],
  { minWorkers, maxWorkers, scaleUpThreshold, scaleDownIdleSeconds }: Rule,
): ScalingDecision {
  const there = members.filter(({ status }) => status !== 'stopped');
  const staying = there.filter(({ status }) => status !== 'draining');
  const room = Math.max(0, maxWorkers - there.length);
  if (staying.length < minWorkers) return { spawn: Math.min(room, minWorkers - staying.length), remove: [] };
  if (runnable >= scaleUpThreshold) return room === 0 ? NOTHING : { spawn: 1, remove: [] };
  if (runnable > 0 || staying.length <= minWorkers) return NOTHING;
  const idle = longestIdle(staying);
  if (idle === undefined || idle.idleMs <= scaleDownIdleSeconds * 1000) return NOTHING;
  return { spawn: 0, remove: [idle.id] };
}

function longestIdle(members: readonly PoolMember[]): PoolMember | undefined {
  let longest: PoolMember | undefined;
  for (const one of members) {
    if (one.status === 'idle' && one.running === 0 && one.idleMs > (longest?.idleMs ?? -1)) longest = one;
  }
  return longest;
}

/** As many workers as runs wait beside those that are busy, at once; spare ones leave when their idle time is over. */
export function decideByDemand(
  { runnable, oldestAgeMs }: QueueDepth,
  members: readonly PoolMember[],
  { minWorkers, maxWorkers, scaleDownIdleSeconds }: Omit<Rule, 'scaleUpThreshold'>,
  runsPerWorker = 1,
): ScalingDecision {
  const there = members.filter(({ status }) => status !== 'stopped');
  const spec = checkPool('runs', {
    policy: {
      min: minWorkers,
      max: maxWorkers,
      tasksPerWorker: runsPerWorker,
      idleMs: scaleDownIdleSeconds * 1000,
      burst: maxWorkers,
    },
  });
  const { launch, drain } = decidePool(
    {
      runnable,
      blocked: 0,
      oldestAgeMs,
      starting: 0,
      workers: there.map(({ status, running, idleMs }, i) => ({
        worker: i,
        running,
        leaving: status === 'draining',
        idleMs,
        ours: true,
      })),
      upAt: undefined,
      downAt: undefined,
      failures: 0,
      failedAt: undefined,
    },
    spec,
    0,
  );
  return { spawn: launch, remove: drain.flatMap((i) => there[i]?.id ?? []) };
}
