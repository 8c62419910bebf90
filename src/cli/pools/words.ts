import type { Argument } from '../../config/load.ts';
import type { PoolDetailView, PoolView } from '../../operate/views.ts';

/** How the commands name a pool. */
export const NAME = { name: 'POOL', doc: 'Name of the pool' } as const satisfies Argument;

type Now = PoolDetailView['now'];

const REASONS: Readonly<Record<string, string>> = {
  work: 'tasks wait for workers',
  late: 'a task has waited for too long',
  below_min: 'there are fewer workers than the least',
  at_max: 'there is more work than the most workers are there for',
  burst: 'one check starts no more',
  below_threshold: 'too few tasks wait for another worker',
  limits: 'what waits is held by limits, and no worker could start it',
  cooldown_up: 'workers were started a moment ago',
  cooldown_down: 'the pool has changed a moment ago',
  backoff: 'the last start has failed, and the next one waits',
  probe: 'the last starts have failed, so that one is tried',
  idle: 'workers have had no task for long enough',
  off: 'the pool is off',
};

export function reasonsText(reasons: readonly string[]): string {
  return reasons.map((reason) => REASONS[reason] ?? reason).join('; ');
}

/** What a check does, or would do. */
export function courseText({ launch, drain }: Pick<Now, 'launch' | 'drain'>): string {
  if (launch > 0) return `start ${workers(launch)}`;
  return drain > 0 ? `send ${workers(drain)} home` : 'nothing';
}

export function workers(count: number): string {
  return count === 1 ? '1 worker' : `${count} workers`;
}

export function staffText({ starting, busy, idle, leaving }: Now): string {
  const parts = [
    [busy, 'busy'],
    [idle, 'idle'],
    [starting, 'starting'],
    [leaving, 'leaving'],
  ] as const;
  const there = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return there.length === 0 ? 'no workers' : there.join(', ');
}

export function workText({ runnable, blocked, oldestAgeMs }: Now): string {
  const age = oldestAgeMs >= 1000 ? `, the oldest for ${Math.round(oldestAgeMs / 1000)} s` : '';
  return `${runnable} wait${age}${blocked === 0 ? '' : `, ${blocked} held by limits`}`;
}

export function boundsText({ policy, enabled }: PoolView): string {
  return `${policy.min} to ${policy.max}${enabled ? '' : ', off'}`;
}
