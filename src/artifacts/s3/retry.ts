import { setTimeout as pause } from 'node:timers/promises';
import { fault } from '../../core/errors.ts';

/** A call is tried until one of these is used up; pauses grow from `baseMs` to `capMs` and are drawn by chance. */
export interface RetryPolicy {
  readonly tries: number;
  readonly withinMs: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/** Longer than a minute's outage, shorter than anybody's patience. */
export const PATIENT: RetryPolicy = { tries: 20, withinMs: 150_000, baseMs: 200, capMs: 10_000 };

/** What may be over at the next try. */
export class TransientError extends Error {
  override readonly name = 'TransientError';
  readonly retryAfterMs: number;

  constructor(problem: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(problem, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

export interface Tried {
  /** What is tried, for people: it is named when all tries have failed. */
  readonly doing: string;
  readonly signal?: AbortSignal | undefined;
}

/** Calls again after a `TransientError`; any other error is final. */
export async function retrying<T>(policy: RetryPolicy, tried: Tried, call: () => Promise<T>): Promise<T> {
  const retries = new Retries(policy, tried);
  for (;;) {
    try {
      return await call();
    } catch (error) {
      await retries.after(error);
    }
  }
}

/** The tries of one call. Progress begins them anew. */
export class Retries {
  readonly #policy: RetryPolicy;
  readonly #tried: Tried;
  #failed = 0;
  /** Of the first failure. */
  #since = 0;

  constructor(policy: RetryPolicy, tried: Tried) {
    this.#policy = policy;
    this.#tried = tried;
  }

  progress(): void {
    this.#failed = 0;
  }

  /** Resolves when it is time for the next try; throws when there is none. */
  async after(error: unknown): Promise<void> {
    const { doing, signal } = this.#tried;
    signal?.throwIfAborted();
    if (!(error instanceof TransientError)) throw error;
    const { tries, withinMs, baseMs, capMs } = this.#policy;
    if (this.#failed === 0) this.#since = performance.now();
    this.#failed += 1;
    // Half of it for certain: many callers that failed together come back apart, and none at once.
    const grown = Math.min(capMs, baseMs * 2 ** (this.#failed - 1));
    const waitMs = Math.max(grown / 2 + (Math.random() * grown) / 2, Math.min(error.retryAfterMs, capMs));
    const tookMs = performance.now() - this.#since;
    if (this.#failed >= tries || tookMs + waitMs > withinMs) {
      const seconds = Math.round(tookMs / 1000);
      const problem = `${doing} failed ${this.#failed} ${this.#failed === 1 ? 'time' : 'times'} in ${seconds} s: ${error.message}`;
      throw fault('ARTIFACT_FAILED', { problem, tries: this.#failed }, { cause: error });
    }
    await pause(waitMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}
