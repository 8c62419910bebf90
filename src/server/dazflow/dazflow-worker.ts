import type { DazflowLine, DazflowTask } from '../../protocol/dazflow.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { SendBuffer } from '../workers/send-buffer.ts';
import { DazflowAttempt, type DazflowAttemptParts, NOT_YOURS, type Refusal } from './dazflow-attempt.ts';

export interface DazflowWorkerParts extends DazflowAttemptParts {
  readonly buffer: SendBuffer;
}

const CLAIM_WAIT_MS = 30_000;
const FAULT_PAUSE_MS = 1000;
/** An agent that leaves an offer is asked again after this long, and after ever longer if it leaves those too. */
const REST_MS = 5000;
const MAX_REST_MS = 60_000;

/**
 * An agent of document 004 as the engine sees it: a worker with one slot, for which this side claims. A task is its own before it
 * hears of it, so that nobody races for it and no limit is passed.
 */
export class DazflowWorker {
  readonly #parts: DazflowWorkerParts;
  readonly #gone = new AbortController();
  #attempt: DazflowAttempt | undefined;
  #working: Promise<void> | undefined;
  #wake = (): void => {};

  constructor(parts: DazflowWorkerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#working = this.#work();
  }

  /** The task that it may run from now on, or why not. */
  async claim(id: string): Promise<DazflowTask | string> {
    const attempt = this.#of(id);
    if (attempt === undefined) return NOT_YOURS;
    return (await attempt.claim()) ?? attempt.task;
  }

  async say(id: string, lines: readonly DazflowLine[]): Promise<Refusal> {
    return this.#of(id)?.say(lines) ?? NOT_YOURS;
  }

  async complete(id: string, result: unknown): Promise<Refusal> {
    return this.#of(id)?.complete(result) ?? NOT_YOURS;
  }

  async fail(id: string, error: unknown): Promise<Refusal> {
    return this.#of(id)?.fail(error) ?? NOT_YOURS;
  }

  /** Its connection is gone: nothing more is claimed for it. What it has said before that may still come here. */
  part(): void {
    this.#gone.abort();
    this.#wake();
    this.#attempt?.part();
  }

  /** And that was all. Resolves when nothing more is written for it. */
  async leave(): Promise<void> {
    await this.#attempt?.leave();
    await this.#working;
  }

  #of(id: string): DazflowAttempt | undefined {
    return this.#attempt?.task.id === id ? this.#attempt : undefined;
  }

  async #work(): Promise<void> {
    let left = 0;
    while (!this.#gone.signal.aborted) {
      const one = await this.#next();
      if (one === undefined || (await this.#reused(one))) continue;
      if (this.#gone.signal.aborted || this.#parts.buffer.isFull) {
        await this.#giveBack(one);
        continue;
      }
      this.#attempt = new DazflowAttempt(this.#parts, one);
      left = (await this.#attempt.attend()) ? 0 : left + 1;
      this.#attempt = undefined;
      // It has something else to do: what it was offered may go to others meanwhile.
      if (left > 0) await this.#rest(Math.min(MAX_REST_MS, REST_MS * 2 ** (left - 1)));
    }
  }

  async #next(): Promise<Assignment | undefined> {
    const { session, buffer } = this.#parts;
    const { signal } = this.#gone;
    try {
      await buffer.room(signal);
      const filled = new AbortController();
      const want = { max: 1, waitMs: CLAIM_WAIT_MS, signal: AbortSignal.any([signal, filled.signal]) };
      const deafen = buffer.onFull(() => filled.abort());
      return (await session.claim(want).finally(deafen))[0];
    } catch {
      await this.#rest(FAULT_PAUSE_MS);
      return undefined;
    }
  }

  async #giveBack(one: Assignment): Promise<void> {
    await this.#parts.session.release(one).catch(() => {});
  }

  /** Pushed to take the result of a task like it, and there is one. */
  async #reused(one: Assignment): Promise<boolean> {
    if (one.reuses !== true) return false;
    const { session, world } = this.#parts;
    try {
      const kept = await session.reusable(one);
      if (kept === undefined) return false;
      const at = Math.floor(world.clock.wall());
      await session.log(one, [{ seq: 1, at, stream: 'system', text: `reused the result of ${kept.id}` }]);
      await session.complete(one, kept.result === undefined ? undefined : JSON.parse(kept.result));
      return true;
    } catch {
      // It is offered all the same; a lease that is lost shows when it is claimed.
      return false;
    }
  }

  #rest(ms: number): Promise<void> {
    if (this.#gone.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#parts.world.timers.after(ms, resolve, { unref: true });
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
