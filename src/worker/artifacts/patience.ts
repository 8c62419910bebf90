import { type EngineError, fault, isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { World } from '../../core/world.ts';
import { TransferError } from './transfer-error.ts';

/** How long a transfer is tried again. */
export const DEFAULT_PATIENCE_MS = 5 * 60_000;
const FIRST_MS = 200;
const LONGEST_MS = 15_000;
/** An address that is refused again and again will not become good. */
const MOST_RENEWALS = 3;

export interface PatienceOptions {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
  /** For the error: what is transferred, and `stored` or `read`. */
  readonly name: string;
  readonly way: 'stored' | 'read';
}

/**
 * Tries again what can be tried again: with pauses that grow, and up to half of each shorter, until the patience is over. Then it is `ARTIFACT_FAILED`.
 * A lost lease and a signal end it at once. `attempt` is told whether the address was refused and must be a new one.
 */
export async function patiently<T>(options: PatienceOptions, attempt: (renew: boolean) => Promise<T>): Promise<T> {
  const { world, patienceMs, signal } = options;
  const until = world.clock.monotonic() + patienceMs;
  let renewals = 0;
  for (let tries = 0, renew = false; ; tries++) {
    let retry: TransferError['retry'];
    let problem: unknown;
    signal?.throwIfAborted();
    try {
      return await attempt(renew);
    } catch (error) {
      signal?.throwIfAborted();
      problem = error;
      retry = retryOf(error);
    }
    if (retry === 'never' && isEngineError(problem)) throw problem;
    renew = retry === 'renewed';
    if (renew) renewals++;
    const waitMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10)) * (0.5 + world.random() / 2);
    const isOver = world.clock.monotonic() + waitMs > until;
    if (retry === 'never' || renewals > MOST_RENEWALS || isOver) throw failed(options, problem);
    await pause(world.timers, waitMs, { signal });
  }
}

/** There is no room: more of it comes by nobody's waiting here. */
const NO_ROOM: ReadonlySet<unknown> = new Set(['ARTIFACT_QUOTA', 'STORE_FULL']);

function retryOf(error: unknown): TransferError['retry'] {
  if (error instanceof TransferError) return error.retry;
  return isEngineError(error) && error.retryable && !NO_ROOM.has(error.code) ? 'again' : 'never';
}

function failed({ name, way }: PatienceOptions, cause: unknown): EngineError {
  const problem = (cause instanceof Error ? cause.message : String(cause)).slice(0, 500);
  return fault('ARTIFACT_FAILED', { name, way, problem }, { cause });
}
