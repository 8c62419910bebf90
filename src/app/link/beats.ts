import type { Engine } from '../../engine/engine.ts';
import type { WorkerState } from '../../protocol/link.ts';

/** Beats that come within this time share a write. */
const GATHER_MS = 1000;
/** In each span of this length a worker's beat is told once in the feed: those of many in few events, and the feed rests between. */
const TOLD_MS = 60_000;
/** Above this many it looks who has not been heard of for long: who vanishes says no goodbye. */
const MANY = 5000;

/** What is known of one worker here. */
interface Pulse {
  /** What its last beat said. */
  state: WorkerState | undefined;
  /** Tasks that it has ended since. */
  ended: number;
  /** When its life was last told in the feed; undefined: not yet. */
  toldAt: number | undefined;
}

const spanOf = (at: number): number => Math.floor(at / TOLD_MS);

const all = new WeakMap<Engine, Beats>();

/**
 * The beats of all workers that are connected to one engine. A worker that says the same as before lives, and that can wait:
 * those of a second are written together, and nobody waits for it. A word that is new is written at once, with all that wait.
 * What they have ended is counted here, and goes with the next beat.
 */
export class Beats {
  readonly #engine: Engine;
  readonly #gatherMs: number;
  readonly #pulses = new Map<number, Pulse>();
  readonly #waiting = new Set<number>();
  #planned: (() => void) | undefined;

  private constructor(engine: Engine) {
    this.#engine = engine;
    this.#gatherMs = Math.min(GATHER_MS, engine.workerStaleMs / 10);
  }

  /** There is one for each engine, whichever way its workers have come. */
  static of(engine: Engine): Beats {
    const known = all.get(engine) ?? new Beats(engine);
    all.set(engine, known);
    return known;
  }

  /** It has ended a task. */
  ended(worker: number): void {
    this.#pulseOf(worker).ended++;
  }

  async beat(worker: number, state: WorkerState): Promise<void> {
    const pulse = this.#pulseOf(worker);
    const same = pulse.state === state;
    pulse.state = state;
    this.#waiting.add(worker);
    if (!same) await this.#flush(worker);
    else
      this.#planned ??= this.#engine.world.timers.after(this.#gatherMs, () => void this.#flush(), {
        unref: true,
      });
  }

  /** All in one turn, so that they leave in one write. Only who says something new hears whether it was written. */
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
      await this.#engine.workers.beat({ worker, state, ...(ended === 0 ? {} : { ended }), ...(told ? { told } : {}) });
    } catch (error) {
      pulse.ended += ended;
      // Said, and heard by nobody: it is new when it is said again.
      pulse.state = undefined;
      throw error;
    }
  }

  #isDue(pulse: Pulse): boolean {
    if (pulse.state !== 'online') return false;
    const now = this.#engine.world.clock.monotonic();
    if (pulse.toldAt !== undefined && spanOf(pulse.toldAt) === spanOf(now)) return false;
    pulse.toldAt = now;
    return true;
  }

  /** Should one of them beat after all, it says something new, and is written at once. */
  #forgetSilent(): void {
    const before = this.#engine.world.clock.monotonic() - 10 * TOLD_MS;
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
