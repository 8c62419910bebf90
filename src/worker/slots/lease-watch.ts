import type { Session } from '../../protocol/link.ts';
import type { Attempt } from '../attempt.ts';
import type { LeaseNotice } from '../renewal/renewal-rounds.ts';
import type { Ladder } from '../runner/runner.ts';
import { DEFAULT_LADDER, type Warn } from '../worker-options.ts';
import type { ClaimControl } from './claim-control.ts';
import type { HeldAttempts } from './held-attempts.ts';
import type { Slots } from './slots.ts';

export interface LeaseWatchDeps {
  readonly options: { readonly name: string; readonly ladder?: Ladder };
  readonly held: HeldAttempts;
  readonly slots: Slots;
  readonly claims: ClaimControl;
  /** Of the session. */
  readonly leaseMs: () => number;
  readonly warn: Warn;
}

/** Stops attempts whose lease is gone, and tasks that are to be cancelled. */
export class LeaseWatch {
  readonly #deps: LeaseWatchDeps;

  constructor(deps: LeaseWatchDeps) {
    this.#deps = deps;
  }

  onNotice({ task, attempt, kind }: LeaseNotice): void {
    const { held, slots, claims, warn, options } = this.#deps;
    const one = held.find(task, attempt);
    if (one === undefined) return;
    if (kind === 'cancel') {
      this.cancel(task);
      return;
    }
    const { id } = one.assignment;
    // While the attempt settles or parks, the store's answer to that counts: it may be what ended the lease.
    if (kind === 'lost' && (held.settling.has(one) || one.parking)) return;
    const about = { worker: options.name, task: id, attempt, lease: `${id}#${attempt}` };
    const blocked = `the loop was blocked past the run timeout of ${id}: its lease is lost`;
    const lost = `the lease of ${id} is lost${kind === 'lost' ? '' : ': it could not be renewed in time'}`;
    warn(kind === 'blocked' ? blocked : lost, undefined, about);
    if (kind === 'away' && !claims.stopped) {
      this.#suspend(one);
      return;
    }
    one.stop('lost', this.#steep());
    slots.dropLost(one);
  }

  /** Stops the work as if the lease were lost. But the store is only away: once it is back, it says who owns the task. */
  #suspend(one: Attempt): void {
    const { held, slots } = this.#deps;
    held.suspended.add(one);
    if (held.takeAhead(one)) void slots.giveBack([one]);
    else one.stop('away', this.#steep());
  }

  cancel(task: number): void {
    const { held, slots } = this.#deps;
    const one = held.find(task);
    if (one === undefined || one.stopped !== undefined) return;
    // A task that was not started is given back, and ends as cancelled.
    if (held.takeAhead(one)) void slots.giveBack([one]);
    else if (one.started || one === held.suspect) one.stop('cancelled');
  }

  async lookForCancels(session: Session): Promise<void> {
    const { held } = this.#deps;
    if (!held.any) return;
    for (const { task, attempt } of await session.cancels()) if (held.find(task, attempt)) this.cancel(task);
  }

  /** The ladder for a lost lease: all of it must be over before the task runs again elsewhere. */
  #steep(): Ladder {
    const { abortMs, termMs } = this.#deps.options.ladder ?? DEFAULT_LADDER;
    const part = this.#deps.leaseMs() / 12;
    return { abortMs: Math.min(abortMs, part), termMs: Math.min(termMs, part) };
  }
}
