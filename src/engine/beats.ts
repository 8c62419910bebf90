import type { World } from '../core/world.ts';
import type { Beat } from './check.ts';

type State = Beat['state'];

/** Heartbeats that arrive within this time share a write. */
const GATHER_MS = 1000;
/**
 * The feed has one heartbeat of a worker in each span of this length. The heartbeats of many workers fall into few events, and then
 * there are none for a while.
 */
const TOLD_MS = 60_000;
/** Above this many workers the silent ones are forgotten: a worker that vanishes does not sign off. */
const MANY = 5000;

/** What is known of one worker here. */
interface Pulse {
  /** The state of its last heartbeat. */
  state: State;
  /** Tasks that it has ended since. */
  ended: number;
  /** What it said of itself since its last heartbeat was written. */
  report: WorkerReport | undefined;
  /** When the feed last had a heartbeat of it; undefined: never. */
  toldAt: number | undefined;
}

/** What a worker says of itself with a heartbeat: a word for its status, and any JSON value. */
export type WorkerReport = Pick<Beat, 'status' | 'metadata'>;

const spanOf = (at: number): number => Math.floor(at / TOLD_MS);

export interface BeatsDeps {
  readonly world: World;
  /** How long a worker may be silent before it counts as lost. */
  readonly staleMs: number;
  readonly beat: (beat: Beat) => Promise<boolean>;
}

/**
 * The heartbeats of all workers that are connected to this engine, over whichever link. One that repeats the last state can wait: those of
 * a second are written together, and no caller waits for the write. A new state is written at once, with all that wait. Tasks that a worker
 * has ended are counted here, and the count goes with its next heartbeat.
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

  async beat(worker: number, state: State, report?: WorkerReport): Promise<void> {
    const pulse = this.#pulseOf(worker);
    if (report !== undefined) pulse.report = { ...pulse.report, ...report };
    const same = pulse.state === state;
    pulse.state = state;
    this.#waiting.add(worker);
    if (!same) await this.#flush(worker);
    else
      this.#planned ??= this.#deps.world.timers.after(this.#gatherMs, () => void this.#flush(), {
        unref: true,
      });
  }

  /** All leave in one turn of the loop, and so in one write. Only the caller with a new state learns whether it was written. */
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
    const { state, ended, report } = pulse;
    const told = this.#isDue(pulse);
    pulse.ended = 0;
    pulse.report = undefined;
    // No more is heard of this worker, unless it comes back.
    if (state === 'offline') this.#pulses.delete(worker);
    try {
      await this.#deps.beat({ worker, state, ...report, ...(ended === 0 ? {} : { ended }), ...(told ? { told } : {}) });
    } catch (error) {
      pulse.ended += ended;
      if (report !== undefined) this.#pulseOf(worker).report = { ...report, ...this.#pulseOf(worker).report };
      // The state was not written, so the next heartbeat has to count as new.
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

  /** If one of these sends a heartbeat after all, its state counts as new and is written at once. */
  #forgetSilent(): void {
    const before = this.#deps.world.clock.monotonic() - 10 * TOLD_MS;
    for (const [worker, { toldAt = 0, ended }] of this.#pulses) {
      if (toldAt < before && ended === 0) this.#pulses.delete(worker);
    }
  }

  #pulseOf(worker: number): Pulse {
    const known = this.#pulses.get(worker) ?? { state: undefined, ended: 0, report: undefined, toldAt: undefined };
    this.#pulses.set(worker, known);
    return known;
  }
}
