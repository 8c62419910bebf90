import type { World } from '../../core/world.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { Attempt } from '../attempt.ts';
import type { ClaimControl } from './claim-control.ts';
import type { HeldAttempts } from './held-attempts.ts';

export interface QuarantineDeps {
  readonly world: World;
  readonly once: boolean;
  readonly held: HeldAttempts;
  readonly claims: ClaimControl;
  readonly leaseMs: () => number;
}

/** What a quarantine asks of the slots. */
export interface QuarantineSlots {
  run(attempt: Attempt): Promise<void>;
  giveBack(attempts: readonly Attempt[], delayMs?: number): Promise<void>;
  giveAllBack(): Promise<void>;
  freed(): void;
}

/** A suspect that was given back so often keeps its place, however long its neighbours take. */
const MAX_DEFERRALS = 10;
const MAX_DEFERRAL_MS = 5000;

/**
 * Runs a task whose last worker died under it. Without a process of its own it runs alone: nothing else is started until it
 * has ended, and all other claims are given back first. So one bad task costs only its own tries.
 */
export class Quarantine {
  readonly #deps: QuarantineDeps;
  readonly #slots: QuarantineSlots;

  constructor(deps: QuarantineDeps, slots: QuarantineSlots) {
    this.#deps = deps;
    this.#slots = slots;
  }

  admit(suspect: Attempt): void {
    const { held, claims } = this.#deps;
    held.suspect = suspect;
    // Given back before it starts: a task that is still held when the suspect kills this process loses a try too. A
    // waiting claim is interrupted, because it would take those tasks again.
    claims.interrupt();
    void this.#slots.giveAllBack();
    void this.#runAlone(suspect);
  }

  async #runAlone(suspect: Attempt): Promise<void> {
    const { held, claims, once } = this.#deps;
    const { expired, cancel } = this.#patienceWith(suspect.assignment);
    while (held.running.size + held.settling.size > 0 || claims.pending) {
      if (expired() && held.running.size > 0) break;
      await held.changed.next();
    }
    cancel();
    const unwanted = suspect.stopped !== undefined || (claims.stopped && !once);
    // The neighbours take long: another worker may be free, and this one has other work to do meanwhile.
    const deferred = !unwanted && held.running.size > 0;
    if (unwanted || deferred) await this.#slots.giveBack([suspect], deferred ? this.#deferralMs() : 0);
    else await this.#slots.run(suspect);
    held.suspect = undefined;
    this.#slots.freed();
  }

  /** How long a suspect may keep this worker from other work while it waits for its neighbours to end. */
  #patienceWith({ attempt, tries }: Assignment): { readonly expired: () => boolean; readonly cancel: () => void } {
    // Given back often enough: otherwise it would never run on a worker that is never empty.
    if (attempt - tries >= MAX_DEFERRALS) return { expired: () => false, cancel: () => {} };
    let over = false;
    const cancel = this.#deps.world.timers.after(this.#deferralMs(), () => {
      over = true;
      this.#deps.held.changed.open();
    });
    return { expired: () => over, cancel };
  }

  #deferralMs(): number {
    return Math.ceil(Math.min(MAX_DEFERRAL_MS, this.#deps.leaseMs() / 6));
  }
}
