import type { World } from '../../core/world.ts';

/** One sample of the totals. The first two are totals since the beginning. */
export interface Sample {
  readonly completed: number;
  readonly failed: number;
  readonly waiting: number;
  readonly running: number;
  readonly ageMs: number;
}

export interface Figures {
  readonly stepMs: number;
  /** Calendar time of the last figure. */
  readonly until: number;
  readonly completed: Column;
  readonly failed: Column;
  readonly waiting: Column;
  readonly running: Column;
  readonly ageMs: Column;
}

/** The oldest first. Null: nothing is known of that step. */
type Column = readonly (number | null)[];

export interface SeriesOptions {
  readonly world: World;
  readonly look: () => Promise<Sample>;
  readonly stepMs?: number;
  /** How many steps are kept. */
  readonly kept?: number;
}

interface StepSample extends Sample {
  /** The step that it belongs to. */
  readonly step: number;
  readonly at: number;
}

const STEP_MS = 5000;
/** An hour. */
const KEPT = 720;

/** Samples of the last hour. A step without a sample stays empty. */
export class Series {
  readonly #world: World;
  readonly #look: () => Promise<Sample>;
  readonly #stepMs: number;
  readonly #most: number;
  #taken: StepSample[] = [];
  #wall: number;
  #stopTimer = (): void => {};
  #over = false;

  constructor({ world, look, stepMs = STEP_MS, kept = KEPT }: SeriesOptions) {
    this.#world = world;
    this.#look = look;
    this.#stepMs = stepMs;
    this.#most = kept;
    this.#wall = world.clock.wall();
  }

  start(): void {
    void this.tick().finally(() => {
      if (this.#over) return;
      this.#stopTimer = this.#world.timers.after(this.#stepMs, () => this.start(), { unref: true });
    });
  }

  stop(): void {
    this.#over = true;
    this.#stopTimer();
  }

  /** Takes one sample. A store that does not answer leaves a gap, and shows elsewhere. */
  async tick(): Promise<void> {
    try {
      const sample = await this.#look();
      const at = this.#world.clock.monotonic();
      const step = Math.round(at / this.#stepMs);
      this.#wall = this.#world.clock.wall();
      if (this.#taken.at(-1)?.step === step) this.#taken.pop();
      this.#taken.push({ ...sample, step, at });
      // One more than is shown: a rate needs the sample before.
      while ((this.#taken[0] as StepSample).step < step - this.#most) this.#taken.shift();
    } catch {
      // Nothing is known of this step.
    }
  }

  figures(): Figures {
    const last = this.#taken.at(-1)?.step ?? 0;
    const first = Math.max(last - this.#most + 1, this.#taken[0]?.step ?? last + 1);
    const rows: { readonly now: StepSample; readonly before: StepSample | undefined }[] = [];
    for (const [i, now] of this.#taken.entries()) {
      if (now.step >= first) rows[now.step - first] = { now, before: this.#taken[i - 1] };
    }
    const column = (figure: (now: StepSample, before: StepSample | undefined) => number | null): Column =>
      Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => {
        const row = rows[i];
        return row === undefined ? null : figure(row.now, row.before);
      });
    return {
      stepMs: this.#stepMs,
      until: this.#wall,
      completed: column((now, before) => rate(now, before, 'completed')),
      failed: column((now, before) => rate(now, before, 'failed')),
      waiting: column(({ waiting }) => waiting),
      running: column(({ running }) => running),
      ageMs: column(({ ageMs }) => ageMs),
    };
  }
}

/** The rate a second. A total that became smaller was recounted, and gives no rate. */
function rate(now: StepSample, before: StepSample | undefined, figure: 'completed' | 'failed'): number | null {
  if (before === undefined || now[figure] < before[figure] || now.at <= before.at) return null;
  return Math.round(((now[figure] - before[figure]) * 100_000) / (now.at - before.at)) / 100;
}
