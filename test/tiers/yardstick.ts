/**
 * How dear a second of CPU is on this machine while the tier runs. A host that is shared by others made the same tests cost 728 s one day and 1,319 s
 * another, and neither was slower code. So a fixed piece of work is done every few seconds, and the budget grows with what it costs.
 */
const EVERY_MS = 5000;
/** What the piece costs where the stage `core` costs 9 s, as on the day when the budgets were set: 12.6 ms where it cost 12.3 s. */
const REFERENCE_MS = 9;

export class Yardstick {
  readonly #costs: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    piece();
    this.#timer = setInterval(() => this.#measure(), EVERY_MS).unref();
  }

  #measure(): void {
    const before = process.threadCpuUsage();
    piece();
    const { user, system } = process.threadCpuUsage(before);
    this.#costs.push((user + system) / 1000);
  }

  /** How many times as dear as on that machine; at least 1, so that a fast machine hides nothing. */
  stop(): number {
    clearInterval(this.#timer);
    return dearness(this.#costs);
  }
}

export function dearness(costsMs: readonly number[]): number {
  const sorted = costsMs.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? REFERENCE_MS;
  return Math.max(1, median / REFERENCE_MS);
}

/** As tests are: objects, texts and memory that does not fit a cache. */
function piece(): void {
  const rows = Array.from({ length: 6000 }, (_, i) => ({ id: i, name: `row ${i}`, tags: ['a', 'b'], at: i * 1.5 }));
  const back = JSON.parse(JSON.stringify(rows)) as typeof rows;
  back.sort((a, b) => b.at - a.at);
  if (back.length !== rows.length) throw new Error('no yardstick');
}
