import type { Ladder, StopReason } from '../runner.ts';

export type Step = 'abort' | 'SIGTERM' | 'SIGKILL';

/** `afterMs` counts from the first call of `stop`. */
export type TakeStep = (step: Step, why: StopReason, afterMs: number) => void;

/** setTimeout fires at once for a time that does not fit into 32 bits. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Times the steps of a stop. A later call can only bring steps forward. A step that is due together with the next is skipped.
 *
 *   (going) ──stop──> abort ──abortMs──> SIGTERM ──termMs──> SIGKILL
 */
export class StopLadder {
  readonly #take: TakeStep;
  readonly #now: () => number;
  #why: StopReason | undefined;
  #reached: Step | undefined;
  #reachedAfterMs = 0;
  #begunAt = 0;
  #termAt = Number.POSITIVE_INFINITY;
  #killAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #finished = false;

  constructor(take: TakeStep, now: () => number = () => performance.now()) {
    this.#take = take;
    this.#now = now;
  }

  get why(): StopReason | undefined {
    return this.#why;
  }

  get reached(): Step | undefined {
    return this.#reached;
  }

  get reachedAfterMs(): number {
    return this.#reachedAfterMs;
  }

  stop(why: StopReason, { abortMs, termMs }: Ladder): void {
    if (this.#finished) return;
    const now = this.#now();
    this.#termAt = Math.min(this.#termAt, now + abortMs);
    this.#killAt = Math.min(this.#killAt, now + abortMs + termMs);
    if (this.#why === undefined) {
      this.#why = why;
      this.#begunAt = now;
      this.#step('abort');
    }
    this.#descend();
  }

  /** Takes no further step. */
  finish(): void {
    this.#finished = true;
    clearTimeout(this.#timer);
  }

  #descend(): void {
    clearTimeout(this.#timer);
    if (this.#finished || this.#reached === 'SIGKILL') return;
    const now = this.#now();
    if (this.#killAt <= now) this.#step('SIGKILL');
    else if (this.#termAt <= now && this.#reached === 'abort') this.#step('SIGTERM');
    if (this.#finished || (this.#reached as Step) === 'SIGKILL') return;
    const due = this.#reached === 'abort' ? this.#termAt : this.#killAt;
    const ms = Math.max(0, Math.ceil(due - this.#now()));
    this.#timer = setTimeout(() => this.#descend(), Math.min(ms, LONGEST_MS));
  }

  #step(step: Step): void {
    this.#reached = step;
    this.#reachedAfterMs = Math.round(this.#now() - this.#begunAt);
    this.#take(step, this.#why ?? 'shutdown', this.#reachedAfterMs);
  }
}
