import type { ClaimAnswer, ClaimStore, Grant, NewClaim } from '../../store.ts';
import type { Session, Try } from '../connect/database.ts';
import { apart, claimTasks, needsTransaction } from '../verbs/queue/claim.ts';
import { cappedOf, claimCapped } from '../verbs/queue/claim-capped.ts';
import { claimOptimistically, mayClaimOptimistically } from '../verbs/queue/claim-optimistic.ts';
import type { StoreParts } from './store-parts.ts';

export function claimStore(parts: StoreParts): ClaimStore {
  const claimer = new Claimer(parts);
  return { taskClaim: ({ claims }) => claimer.claimAll(claims) };
}

class Claimer {
  readonly #parts: StoreParts;
  /** Numbers the claims of this store. */
  #claims = 0;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /** One after another: concurrent claims would only skip each other's rows. */
  async claimAll(claims: readonly NewClaim[]): Promise<readonly (ClaimAnswer | undefined)[]> {
    const answers: (ClaimAnswer | undefined)[] = claims.map(() => undefined);
    for (const [i, request] of claims.entries()) {
      try {
        answers[i] = await this.#claim(request);
      } catch (error) {
        // Earlier claims of this call were granted: an error now must not hide that from their callers.
        if (answers.every((answer) => answer === undefined || answer.grants.length === 0)) throw error;
        break;
      }
    }
    return answers;
  }

  async #claim(request: NewClaim): Promise<ClaimAnswer | undefined> {
    const [first, ...others] = apart(this.#parts.lanes, request) as [NewClaim, ...NewClaim[]];
    let answer = await this.#claimPart(first);
    for (const part of others) {
      if (answer === undefined) return undefined;
      const { grants, blocked }: ClaimAnswer = answer;
      const left = request.max - grants.length;
      const next = left > 0 ? await this.#claimMore({ ...part, max: left }, grants) : undefined;
      if (next === undefined && grants.length === 0) return undefined;
      // These lanes were not looked at, so the caller comes again.
      const unasked = part.lanes.map(({ lane }) => ({ lane, counter: 0, freesInMs: 1, left: 0 }));
      answer = { grants: [...grants, ...(next?.grants ?? [])], blocked: [...blocked, ...(next?.blocked ?? unasked)] };
    }
    return answer;
  }

  /** Earlier parts were granted: an error now must not hide that from the caller. */
  #claimMore(part: NewClaim, before: readonly Grant[]): Promise<ClaimAnswer | undefined> {
    return this.#claimPart(part).catch((error: unknown) => {
      if (before.length === 0) throw error;
      return undefined;
    });
  }

  async #claimPart(request: NewClaim): Promise<ClaimAnswer | undefined> {
    const parts = this.#parts;
    const { calls } = parts;
    const note = `${parts.store}/${++this.#claims}`;
    const capped = cappedOf(parts, request);
    if (capped !== undefined && mayClaimOptimistically(parts, capped.counters)) {
      const free = await calls.run((session, tried) =>
        claimOptimistically(session, parts, request, capped.counters, note, tried),
      );
      if (free !== 'tight') return free;
    }
    const quick =
      capped === undefined
        ? 'long'
        : await calls.run((session, tried) => claimCapped(session, parts, request, capped, note, tried));
    if (quick !== 'long') return quick;
    const body = (session: Session, tried: Try): ReturnType<typeof claimTasks> =>
      claimTasks(session, parts, request, note, tried);
    // Grants, what they take of limits, and their record under an operation id commit together.
    return needsTransaction(parts, request) ? calls.transaction(body) : calls.run(body);
  }
}
