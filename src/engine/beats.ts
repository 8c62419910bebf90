import type { World } from '../core/world.ts';
import type { Beat } from './check.ts';

type State = Beat['state'];

/** Beats that come within this time share a write. */
const GATHER_MS = 1000;
/** The feed carries one beat of a worker in each span of this length: those of many workers in few events, and then none for a while. */
const TOLD_MS = 60_000;
/** Above this many known workers the silent ones are forgotten: a worker that vanishes says no goodbye. */
const MANY = 5000;

/** What is known of one worker here. */
interface Pulse {
  /** What its last beat said. */
  state: State;
  /** Tasks that it has ended since. */
  ended: number;
  /** When its life was last told in the feed; undefined: not yet. */
  toldAt: number | undefined;
}

const spanOf = (at: number): number => Math.floor(at / TOLD_MS);

export interface BeatsDeps {
  readonly world: World;
  /** How long a worker may be silent before it counts as lost. */
  readonly staleMs: number;
  readonly beat: (beat: Beat) => Promise<boolean>;
}

/**
 * The beats of all workers that are connected to this engine, whichever way they came. A beat that says the same as the last one can wait:
 * those of a second are written together, and nobody waits for the write. A new state is written at once, together with all that
 * wait. Tasks that a worker has ended are counted here and go with its next beat.
 */
export class Beats {
  readonly #deps: BeatsDeps;
  readonly #gatherMs: number;
  readonly #pulses = new Map<number, Pulse>();
  readonly #waiting = new Set<number>();
  #planned: (() => void) | undefined;

  constructor(deps: BeatsDeps) {
    this.#deps = deps;
    this.#gatherMs = Math.min(GATHER_MS, deps.staleMs / 10);
  }

  /** The worker has ended a task. */
  ended(worker: number): void {
    this.#pulseOf(worker).ended++;
  }

  async beat(worker: number, state: State): Promise<void> {
    const pulse = this.#pulseOf(worker);
    const same = pulse.state === state;
    pulse.state = state;
    this.#waiting.add(worker);
    if (!same) await this.#flush(worker);
    else
      this.#planned ??= this.#deps.world.timers.after(this.#gatherMs, () => void this.#flush(), {
        unref: true,
      });
  }

  /** All leave in one turn, and so in one write. Only the caller with a new state hears whether it was written. */
  async #flush(urgent?: number): Promise<void> {
    this.#planned?.();
    this.#planned = undefined;
    const workers = [...this.#waiting];
    this.#waiting.clear();
    const sent = workers.map((worker) => ({ worker, written: this.#send(worker) }));
    if (this.#pulses.size > MANY) this.#forgetSilent();
    for (const { worker, written } of sent) if (worker !== urgent) written.catch(() => {});
    await sent.find(({ worker }) => worker === urgent)?.written;
  }

  async #send(worker: number): Promise<void> {
    const pulse = this.#pulseOf(worker);
    const { state, ended } = pulse;
    const told = this.#isDue(pulse);
    pulse.ended = 0;
    // Nobody will speak of it again, unless it comes back.
    if (state === 'offline') this.#pulses.delete(worker);
    try {
      await this.#deps.beat({ worker, state, ...(ended === 0 ? {} : { ended }), ...(told ? { told } : {}) });
    } catch (error) {
      pulse.ended += ended;
      // Said, and heard by nobody: it is new when it is said again.
      pulse.state = undefined;
      throw error;
    }
  }

  #isDue(pulse: Pulse): boolean {
    if (pulse.state !== 'online') return false;
    const now = this.#deps.world.clock.monotonic();
    if (pulse.toldAt !== undefined && spanOf(pulse.toldAt) === spanOf(now)) return false;
    pulse.toldAt = now;
    return true;
  }

  /** Should one of them beat after all, it says something new, and is written at once. */
  #forgetSilent(): void {
    const before = this.#deps.world.clock.monotonic() - 10 * TOLD_MS;
    for (const [worker, { toldAt = 0, ended }] of this.#pulses) {
      if (toldAt < before && ended === 0) this.#pulses.delete(worker);
    }
  }

  #pulseOf(worker: number): Pulse {
    const known = this.#pulses.get(worker) ?? { state: undefined, ended: 0, toldAt: undefined };
    this.#pulses.set(worker, known);
    return known;
  }
}
