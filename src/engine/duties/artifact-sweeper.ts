import { MAX_UPLOAD_MS } from '../../core/artifact/artifact-room.ts';
import type { DutyTenure, Sweep } from '../../store/store.ts';
import type { Engine } from '../engine.ts';
import type { Log } from '../log.ts';
import type { RemoveBlobs } from '../settings.ts';
import type { Duty, PassResult } from './duty.ts';

const BATCH = 200;
/** A place that is out of reach is asked again after this, and then after twice as long each time. */
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Removes artifacts that nobody needs any more: first their rows are marked, then their bytes are deleted, then the rows go. So a deletion that
 * fails, or a process that dies, leaves a row that is answered again.
 */
export class ArtifactSweeper implements Duty {
  readonly name = 'artifacts';
  readonly intervalMs = 60_000;
  readonly restMs = 5000;
  readonly #engine: Engine;
  readonly #removeBlobs: RemoveBlobs;
  readonly #log: Log;
  #failures = 0;
  /** Monotonic time; the place is left alone until then. */
  #restUntil = 0;

  constructor(engine: Engine, removeBlobs: RemoveBlobs, log: Log) {
    this.#engine = engine;
    this.#removeBlobs = removeBlobs;
    this.#log = log;
  }

  async tick(duty: DutyTenure): Promise<PassResult> {
    const { store, artifactRetentionMs } = this.#engine;
    const sweep = { duty, retentionMs: artifactRetentionMs, pendingMs: MAX_UPLOAD_MS, limit: BATCH };
    const { removed, gone, done } = await store.artifactSweep(sweep);
    const swept = await this.#delete(duty, gone);
    const more = !done || removed >= BATCH || (swept > 0 && gone.length >= BATCH);
    // Not at once: a walk over many should leave time between its steps.
    return { did: removed + swept, nextInMs: more ? 50 : Math.min(this.intervalMs, this.#pauseMs()) };
  }

  /** Answers how many are gone for good. What only shared its bytes goes also while the place is out of reach. */
  async #delete(duty: DutyTenure, gone: Sweep['gone']): Promise<number> {
    const blobs = this.#someOf([...new Set(gone.flatMap(({ blob }) => blob ?? []))]);
    const deleted = new Set(blobs.length > 0 && (await this.#deleteBlobs(blobs)) ? blobs : []);
    const ids = gone.filter(({ blob }) => blob === undefined || deleted.has(blob)).map(({ id }) => id);
    if (ids.length > 0) await this.#engine.store.artifactSwept({ duty, ids });
    return ids.length;
  }

  /** All of them. After a failure some that lie together, fewer with each: it may be one alone that cannot be deleted. */
  #someOf(blobs: readonly string[]): readonly string[] {
    if (this.#failures === 0) return blobs;
    const from = Math.floor(this.#engine.world.random() * blobs.length);
    const most = Math.ceil(blobs.length / 2 ** this.#failures);
    return [...blobs.slice(from), ...blobs.slice(0, from)].slice(0, most);
  }

  async #deleteBlobs(blobs: readonly string[]): Promise<boolean> {
    const now = this.#engine.world.clock.monotonic();
    if (now < this.#restUntil) return false;
    try {
      await this.#removeBlobs(blobs);
      this.#failures = 0;
      return true;
    } catch (error) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
      this.#failures = Math.min(this.#failures + 1, 30);
      this.#restUntil = this.#engine.world.clock.monotonic() + pauseMs;
      const details = { blobs: blobs.length, error: String(error), againInMs: pauseMs };
      this.#log.warn('bytes of artifacts could not be deleted, and will be tried again', details);
      return false;
    }
  }

  /** Until the place may be asked again. */
  #pauseMs(): number {
    if (this.#failures === 0) return this.intervalMs;
    return Math.max(1, this.#restUntil - this.#engine.world.clock.monotonic());
  }
}
