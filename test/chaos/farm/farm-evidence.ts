import type { Word } from '../look.ts';
import type { End, Note, Start } from './farm-notes.ts';

/** What the reader was told of a task at the end. */
export interface Final {
  readonly id: string;
  readonly task: number;
  readonly queue: string;
  readonly handler: string;
  readonly state: 'ready' | 'running' | 'scheduled' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  readonly reason: string;
  readonly attempt: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly payload: string;
  readonly result: string | undefined;
  /** What its last attempt logged, for those that log. */
  readonly log: readonly string[];
  readonly attempts: readonly {
    readonly attempt: number;
    readonly outcome: string;
    readonly error: string | undefined;
  }[];
}

export interface QueueCounts {
  readonly name: string;
  readonly stats: Readonly<Record<Final['state'], number>>;
}

export interface Evidence {
  readonly notes: readonly Note[];
  readonly finals: readonly Final[];
  readonly queues: readonly QueueCounts[];
  readonly leaseMs: number;
  /** Signals as they lie in the store: those that a task has taken, and those that nobody has. */
  readonly words: readonly Word[];
}

/** How often the rare things happened: a run that met none of them proves nothing about them. */
export interface Gates {
  busyKilled: number;
  lateRefused: number;
  drainReleased: number;
  reaped: number;
  suspectAlone: number;
  suspectShielded: number;
  childTimedOut: number;
  childDied: number;
  workersKilledByTasks: number;
  cancelledWhileRunning: number;
  /** Leases that ran out with something taken of a limit. */
  limitedReaped: number;
  /** Leases that ran out of tasks that had waited before. */
  wokenReaped: number;
  stepsRecalled: number;
  /** Steps whose code ran again, because it had left no result. */
  stepsRepeated: number;
  signalsTaken: number;
  /** Nobody waited for them when they came. */
  signalsKept: number;
  waitsTimedOut: number;
  startsTimedOut: number;
  /** Tasks that ended because of what they waited for. */
  doomed: number;
}

/** What all parts of the checker look at. Attempts are named `id/attempt`. */
export interface Case {
  readonly evidence: Evidence;
  readonly finals: ReadonlyMap<string, Final>;
  readonly idOfKey: ReadonlyMap<string, string>;
  readonly starts: ReadonlyMap<string, Start>;
  readonly ends: ReadonlyMap<string, End>;
  readonly gates: Gates;
  readonly wrong: (problem: string) => void;
}

/** The key that a task was pushed with. A command carries it in its text. */
export function keyOf(payload: string): string {
  const { key, command } = JSON.parse(payload) as { key?: string; command?: string };
  return key ?? /printf '%s %s' (\S+)/.exec(command ?? '')?.[1] ?? payload;
}

/** Whether this attempt is the one that the task ended with. */
export function endedIt({ attempt, attempts }: Final): boolean {
  return attempts.length < attempt;
}
