/** What every contender offers. A contender is opened inside child processes only; see `jobs/`. */

export type MeasureName =
  | 'push'
  | 'drain'
  | 'latency'
  | 'children'
  | 'timer'
  | 'growth'
  | 'snapshot'
  | 'idle'
  | 'stalled'
  | 'storm'
  | 'throughput'
  | 'scale'
  | 'rolling'
  | 'costs'
  | 'start'
  | 'work'
  | 'scheduling';

export interface Contender {
  readonly name: string;
  /** Tasks that one drain takes: about half a second to a second of work. */
  readonly drainTasks: number;
  /** So slow that one round tells all there is to tell. */
  readonly slow?: boolean;
  /** Tasks that a process works off before it is measured; default 4000. */
  readonly warmTasks?: number;
  /** Its queue has `seedFinished`. */
  readonly seedsFinished?: boolean;
  /** False when completing deletes the task, so that nothing finished ever lies behind; default true. */
  readonly keepsFinished?: boolean;
  /** Measures that say nothing new about this contender. */
  readonly without?: readonly MeasureName[];
  /** Opens (and creates) the queue in this file or database. Several processes may have the same one open. */
  open(place: string): Promise<Queue>;
}

export interface Queue {
  /** Resolves when the task is committed. */
  push(payload: Payload): Promise<void>;
  /** All of them in one call, in one transaction where the contender has such a call. */
  pushMany(payloads: readonly Payload[]): Promise<void>;
  /** The same into a queue of the same tables that no worker takes from and `counts` leaves out; not measured. */
  pushAside?(payloads: readonly Payload[]): Promise<void>;
  /** Gets a worker of this process ready (threads, registration); it claims nothing before `start`. */
  worker(hooks: Hooks): Promise<Worker>;
  counts(): Promise<Counts>;
  /** Adds finished tasks by the quickest way there is; not measured. */
  seedFinished?(count: number): Promise<void>;
  close(): Promise<void>;
}

export interface Worker {
  /** A promise: what cannot be got ready before, and is no part of the drain. */
  start(): void | Promise<void>;
  /** Resolves when nothing is in flight any more. */
  stop(): Promise<void>;
}

export interface Hooks {
  /** The no-op handler: called once per execution with the payload as the worker gets it (text or object). */
  handle(data: unknown): void;
  /**
   * Called when `count` completions are committed. A contender that does not show its commits calls it when the handlers end, and
   * once more with 0 when it is stopped: all is committed then.
   */
  settled(count: number): void;
}

export interface Counts {
  readonly unfinished: number;
  readonly finished: number;
}

/** 0.4 KB in both forms, made before the clock starts: a contender takes the one its API wants. */
export interface Payload {
  readonly value: Body;
  readonly text: string;
}

export interface Body {
  /** Monotonic µs of the push, or which task of a drain it is. */
  readonly sent: number;
  readonly pad: string;
}

const pad = 'x'.repeat(375);

export function payload(sent = 0): Payload {
  const value = { sent, pad };
  return { value, text: JSON.stringify(value) };
}

/** A chunk for bulk pushes, made once. */
export const thousand: readonly Payload[] = Array.from({ length: 1000 }, () => payload());

/** The same, for a payload that is known to be whole: it does not parse text, which only some contenders deliver. */
export function numberOf(data: unknown): number {
  return typeof data === 'string'
    ? Number.parseInt(data.slice(data.indexOf(':') + 1, 24), 10)
    : ((data as Partial<Body>).sent ?? Number.NaN);
}

export function sentAt(data: unknown): number {
  const body: unknown = typeof data === 'string' ? JSON.parse(data) : data;
  if (typeof body !== 'object' || body === null || !('sent' in body) || typeof body.sent !== 'number') {
    throw new Error('the handler did not get the payload that was pushed');
  }
  return body.sent;
}
