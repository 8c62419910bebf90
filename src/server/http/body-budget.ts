import { type EngineError, fault } from '../../core/errors.ts';

const MIB = 1024 * 1024;

export interface BodyShares {
  /** Bytes of all unfinished bodies of callers with a token. */
  readonly known: number;
  /** Bytes of one such caller. */
  readonly perCaller: number;
  /** Bytes of all callers without a token, beside those of the others: strangers cannot take what the others need. */
  readonly strangers: number;
}

/**
 * Eight of the largest bodies at once, four of them of one caller, and 256 of the largest bodies of an open route. Sixty
 * bodies of 16 MiB that never ended held 1 GB before.
 */
export const BODY_SHARES: BodyShares = { known: 128 * MIB, perCaller: 64 * MIB, strangers: MIB };

/**
 * The memory of the bodies that are being read, of the whole node. A byte counts when it arrives, so a length that is
 * declared and never sent takes nothing. A body that finds no room is refused; its caller may come again.
 */
export class BodyBudget {
  readonly #shares: BodyShares;
  readonly #callers = new Map<string, number>();
  #known = 0;
  #strangers = 0;

  constructor(shares: BodyShares = BODY_SHARES) {
    this.#shares = shares;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#known + this.#strangers;
  }

  /** Takes room for bytes of a caller; undefined: a caller without a token. Returns why there is none. */
  take(caller: string | undefined, bytes: number): EngineError | undefined {
    const { known, perCaller, strangers } = this.#shares;
    if (caller === undefined) {
      if (this.#strangers + bytes > strangers) return full('callers without a token');
      this.#strangers += bytes;
      return undefined;
    }
    const own = this.#callers.get(caller) ?? 0;
    if (own + bytes > perCaller) {
      return fault('TOO_MANY', { problem: `this caller has ${mibOf(own)} MiB of unfinished requests` });
    }
    if (this.#known + bytes > known) return full('all callers');
    this.#known += bytes;
    this.#callers.set(caller, own + bytes);
    return undefined;
  }

  give(caller: string | undefined, bytes: number): void {
    if (caller === undefined) {
      this.#strangers -= bytes;
      return;
    }
    this.#known -= bytes;
    const left = (this.#callers.get(caller) ?? 0) - bytes;
    if (left > 0) this.#callers.set(caller, left);
    else this.#callers.delete(caller);
  }
}

function full(whose: string): EngineError {
  return fault('TOO_MANY', { problem: `the unfinished requests of ${whose} take all the memory that they may have` });
}

const mibOf = (bytes: number): number => Math.round(bytes / MIB);
