import { pause } from '../../core/pause.ts';
import type { DazflowLine, DazflowPlace, DazflowTask } from '../../protocol/dazflow.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { SendBuffer } from '../workers/send-buffer.ts';
import { DazflowAttempt, type DazflowAttemptParts, NOT_YOURS, type Refusal } from './dazflow-attempt.ts';

export interface DazflowWorkerParts extends DazflowAttemptParts {
  readonly buffer: SendBuffer;
}

const CLAIM_WAIT_MS = 30_000;
const FAULT_PAUSE_MS = 1000;
/** An agent that ignores an offer gets the next one after this long, and after ever longer if it ignores those too. */
const REST_MS = 5000;
const MAX_REST_MS = 60_000;

/**
 * A dazflow agent as the engine sees it: a worker with one slot, for which the node claims. A task is leased to it before it
 * is offered, so that nobody races for it and every limit holds.
 */
export class DazflowWorker {
  readonly #parts: DazflowWorkerParts;
  readonly #hangUp = new AbortController();
  #attempt: DazflowAttempt | undefined;
  #working: Promise<void> | undefined;

  constructor(parts: DazflowWorkerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#working = this.#work();
  }

  /** The task that the agent may run now, or the reason why not. */
  async claim(id: string): Promise<DazflowTask | string> {
    const attempt = this.#attemptAt(id);
    if (attempt === undefined) return NOT_YOURS;
    return (await attempt.claim()) ?? attempt.task;
  }

  async log(id: string, lines: readonly DazflowLine[]): Promise<Refusal> {
    return this.#attemptAt(id)?.log(lines) ?? NOT_YOURS;
  }

  async complete(id: string, result: unknown): Promise<Refusal> {
    return this.#attemptAt(id)?.complete(result) ?? NOT_YOURS;
  }

  async fail(id: string, error: unknown): Promise<Refusal> {
    return this.#attemptAt(id)?.fail(error) ?? NOT_YOURS;
  }

  /** The connection is gone: nothing more is claimed. Messages that arrived before may still come here. */
  disconnect(): void {
    this.#hangUp.abort();
    this.#attempt?.disconnect();
  }

  /** No more messages come. Resolves when nothing more is written. */
  async close(): Promise<void> {
    await this.#attempt?.close();
    await this.#working;
  }

  #attemptAt(id: string): DazflowAttempt | undefined {
    return this.#attempt?.task.id === id ? this.#attempt : undefined;
  }

  async #work(): Promise<void> {
    let ignored = 0;
    while (!this.#hangUp.signal.aborted) {
      const one = await this.#next();
      if (one === undefined || (await this.#reused(one))) continue;
      if (this.#hangUp.signal.aborted || this.#parts.buffer.isFull) {
        await this.#giveBack(one);
        continue;
      }
      this.#attempt = new DazflowAttempt(this.#parts, one, await this.#placeOf(one));
      ignored = (await this.#attempt.run()) ? 0 : ignored + 1;
      this.#attempt = undefined;
      // The agent is busy with something else: the task may go to others meanwhile.
      if (ignored > 0) await this.#pause(Math.min(MAX_REST_MS, REST_MS * 2 ** (ignored - 1)));
    }
  }

  async #next(): Promise<Assignment | undefined> {
    const { session, buffer } = this.#parts;
    const { signal } = this.#hangUp;
    try {
      await buffer.room(signal);
      const filled = new AbortController();
      const want = { max: 1, waitMs: CLAIM_WAIT_MS, signal: AbortSignal.any([signal, filled.signal]) };
      const unlisten = buffer.onFull(() => filled.abort());
      return (await session.claim(want).finally(unlisten))[0];
    } catch {
      await this.#pause(FAULT_PAUSE_MS);
      return undefined;
    }
  }

  /** It is offered all the same. */
  async #placeOf(one: Assignment): Promise<DazflowPlace | undefined> {
    try {
      return await this.#parts.placeOf?.(one);
    } catch {
      return undefined;
    }
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#parts.world.timers, ms, { signal: this.#hangUp.signal, unref: true });
  }

  async #giveBack(one: Assignment): Promise<void> {
    await this.#parts.session.release(one).catch(() => {});
  }

  /** Completes a task with `reuse` from a kept result, if there is one. */
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
      // It is offered all the same; a lost lease shows at the claim.
      return false;
    }
  }
}
