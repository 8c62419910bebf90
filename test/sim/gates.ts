/** Rare paths that a set of runs must have reached; a run that never met them has shown nothing. */
export const GATES = [
  'stale settle refused',
  'stale return refused',
  'renewal refused after the reap',
  'late result accepted before the reap',
  'lease reaped',
  'suspect handed out',
  'stale log line refused',
  'exhausted by lost leases',
  'exhausted by failures',
  'settle repeated after a lost answer',
  'push repeated by operation id',
  'claim repeated by operation id',
  'unique key led to the same task',
  'unique key refused another input',
  'cancel asked of a running task',
  'cancel and completion raced',
  'finished task revived',
  'released with its try',
  'come back later with its try',
  'scheduled task staged',
  'task waited too long',
  'worker looked up its cancel requests',
  'task claimed by its number',
  'worker lost',
  'queue paused with work waiting',
  'crash before the commit',
  'crash after the commit',
  'answer lost',
  'message doubled',
  'process frozen beyond its lease',
  'wall clock jumped',
  'duty taken over',
  'deposed holder refused',
  'leader followed by another',
  'cron slot fired',
  'cron slot contested',
  'tasks pruned',
  'reader resumed the feed',
  'limit full',
  'limit lowered below what runs',
  'task parked',
  'signal came first',
  'signal woke a task',
  'broadcast woke several',
  'signal repeated by operation id',
  'kept signal pruned',
  'park repeated after a lost answer',
  'park repeated after it took a signal',
  'stale park refused',
  'late park refused',
  'cancelled instead of parked',
  'waiting task cancelled',
  'revived task kept its signal',
  'time woke a task',
  'deadline woke a task',
  'approval was decided',
  'approval ran into its deadline',
  'children had ended before the park',
  'first child woke its parent',
  'last child woke its parent',
  'stale checkpoint refused',
  'checkpoint kept its first value',
  'checkpoint repeated after a lost answer',
  'graph pushed',
  'graph repeated by operation id',
  'graph hung on what had ended before',
  'graph refused for the key of one',
  'graph refused for a task that is gone',
  'dependent started after its parents',
  'dependent read the results of its parents',
  'parent failed: dependent cancelled',
  'parent failed: dependent failed',
  'parent failed: dependent ran anyway',
  'optional parent failed',
  'revived task waits for its parents again',
  'placement was met',
  'placement kept a task from a worker',
  'worker has as many as it may',
  'disabled worker got nothing',
  'draining worker got nothing',
  'setting edited between choice and claim',
] as const;
export type Gate = (typeof GATES)[number];

export class Gates {
  readonly #count = new Map<Gate, number>();

  reach(gate: Gate, times = 1): void {
    if (times > 0) this.#count.set(gate, this.times(gate) + times);
  }

  times(gate: Gate): number {
    return this.#count.get(gate) ?? 0;
  }

  add(other: Gates): void {
    for (const gate of GATES) this.reach(gate, other.times(gate));
  }

  missing(): readonly Gate[] {
    return GATES.filter((gate) => this.times(gate) === 0);
  }
}
