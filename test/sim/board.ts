import { type FinalState, isFinal, type TaskState } from '../../src/core/task/task.ts';
import type { WaitRecord } from '../../src/store/store.ts';
import type { Gates } from './gates.ts';
import type { Scheduler } from './scheduler.ts';
import { must } from './trace.ts';

/** What a task should be. */
export interface Known {
  state: TaskState;
  /** The state in which it was made. */
  bornAs: TaskState;
  attempt: number;
  tries: number;
  readonly maxTries: number;
  /** Monotonic time at which the running attempt's lease passes. */
  leaseUntil: number;
  /** Wall time before which it may not be claimed. */
  dueAt: number;
  /** How far the wall clock had been set back when the due time was set, and when it was pushed. */
  dueBack: number;
  bornBack: number;
  cancelRequested: boolean;
  /** The worker incarnation of the newest attempt. */
  holder: number;
  /** A lease ran out and no handler has come to its end since. */
  suspect: boolean;
  /** Wall time at which it will have waited too long for its first start. */
  expiresAt: number;
  /** The attempts that ended the task by a settle of their own (more than one, if it was revived), and how. */
  readonly endedBy: Map<number, TaskState>;
  /** The attempts that gave the task back, and how. */
  readonly wentBack: Map<number, string>;
  /** It has ended at least once. */
  everEnded: boolean;
  endedAt: number;
  result: string | undefined;
  readonly lane: number;
  readonly payload: string;
  readonly createdAt: number;
  /** Who bore it, and the first of its line; neither of a task that nobody bore. */
  readonly parent: number | undefined;
  readonly root: number | undefined;
  /** Monotonic time at which it was run again last. */
  revivedAt: number;

  /** The tasks whose ends it waits for. */
  readonly openUps: Set<number>;
  /** So many of those ends are enough. */
  due: number;
  /** What it is waiting for, or waited for last, as a running task that parked. */
  wait: Wait | undefined;
  /** A wait of an earlier life that was never told of its end: its record may be there or not, and says nothing. */
  mute: Wait | undefined;
  /** Something woke it, which the feed has not told yet. */
  wokenUntold: boolean;
  /** Attempts that ended by parking. */
  readonly parkedBy: Set<number>;
  /** `attempt/key` of a wait for which a signal had come before, and what it said. */
  readonly taken: Map<string, string>;
}

export interface Wait extends Omit<WaitRecord, 'task' | 'outcome'> {
  /** The attempt that parked, and which of its waits this is. */
  readonly gen: number;
  readonly turn: number;
  outcome: WaitRecord['outcome'];
  body: string | undefined;
  /** How far the wall clock had been set back when it began. */
  readonly setBack: number;
}

/** All tasks, for the parts of the model: each part is about one side of them, and every end concerns who depends on it. */
export class Board {
  readonly tasks = new Map<number, Known>();
  readonly gates: Gates;
  readonly #scheduler: Scheduler;
  readonly #pruned = new Set<number>();
  /** Who depends on a task is told of its end. */
  onEnd: (task: number, state: FinalState) => void = () => {};

  constructor(scheduler: Scheduler, gates: Gates) {
    this.#scheduler = scheduler;
    this.gates = gates;
  }

  get now(): number {
    return this.#scheduler.now;
  }

  get wall(): number {
    return this.#scheduler.wall;
  }

  get setBack(): number {
    return this.#scheduler.setBack;
  }

  /** Whether this time of the calendar has come, or would have come if the clock had not been set back since it was set. */
  hasCome(at: number, setBackThen: number): boolean {
    return this.wall >= at - (this.setBack - setBackThen);
  }

  task(task: number): Known {
    const known = this.tasks.get(task);
    must(known !== undefined, 'I6', () => `task ${task} was never pushed`);
    return known;
  }

  /** The task, if this attempt is the one that runs. */
  held(task: number, attempt: number): Known | undefined {
    const known = this.tasks.get(task);
    return known?.state === 'running' && known.attempt === attempt ? known : undefined;
  }

  /** It is there and has not ended. */
  isOpen(task: number): boolean {
    const known = this.tasks.get(task);
    return known !== undefined && !isFinal(known.state);
  }

  end(task: number, state: FinalState, result?: string): void {
    this.endUntold(task, state, result);
    this.onEnd(task, state);
  }

  /** Those who depend on it hear of it later. */
  endUntold(task: number, state: FinalState, result?: string): void {
    const known = this.task(task);
    known.state = state;
    known.result = result;
    known.suspect = false;
    known.everEnded = true;
    known.endedAt = this.wall;
    known.openUps.clear();
    known.due = 0;
  }

  /** What it waited for has come. */
  wake(known: Known): void {
    known.state = 'ready';
    known.dueAt = 0;
    known.openUps.clear();
    known.due = 0;
    known.wokenUntold = true;
  }

  prune(task: number): void {
    this.#pruned.add(task);
  }

  /** One that is gone, if any is. */
  get gone(): number | undefined {
    return this.#pruned.values().next().value;
  }

  isPruned(task: number): boolean {
    return this.#pruned.has(task);
  }
}
