import { formatCount, formatRate, formatUptime } from '../kit/figures.ts';
import { clip } from './width.ts';

export interface ProgressOptions {
  /** The word before the figures: `pushed`. */
  readonly verb: string;
  /** How many there will be; undefined while it is not known. */
  readonly total: number | undefined;
  /** A terminal gets a bar that is redrawn in place, anything else a line now and then. */
  readonly screen: boolean;
  readonly columns: number;
  readonly write: (text: string) => void;
  readonly now: () => number;
  /** How an amount is written; default: as a count. */
  readonly amount?: ((amount: number) => string) | undefined;
}

const DRAW_MS = 100;
const LINE_MS = 5000;
const BAR = 24;

/** Shows the progress of long work; short work shows none. */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedAt: number;
  #shownAt: number;
  #done = 0;
  #drawn = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#shownAt = this.#startedAt;
  }

  get done(): number {
    return this.#done;
  }

  get tookMs(): number {
    return this.#options.now() - this.#startedAt;
  }

  add(count: number): void {
    this.#done += count;
    const now = this.#options.now();
    const { screen, write, total } = this.#options;
    // The caller reports the end.
    if (!this.#drawn && total !== undefined && this.#done >= total) return;
    if (now - this.#shownAt < (screen ? DRAW_MS : LINE_MS)) return;
    this.#shownAt = now;
    write(screen ? `\r\u001b[K${this.#bar(now)}` : `${this.#line(now)}\n`);
    this.#drawn = true;
  }

  /** Removes the bar, so that the next line takes its place. */
  end(): void {
    if (this.#drawn && this.#options.screen) this.#options.write('\r\u001b[K');
    this.#drawn = false;
  }

  #bar(now: number): string {
    const { total, columns } = this.#options;
    const filled = total === undefined ? 0 : Math.round((BAR * Math.min(this.#done, total)) / total);
    const bar = total === undefined ? '' : `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} `;
    return clip(`${bar}${this.#line(now)}`, columns - 1);
  }

  #line(now: number): string {
    const { verb, total, amount } = this.#options;
    const show = amount ?? formatCount;
    const seconds = (now - this.#startedAt) / 1000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const parts = [
      `${verb} ${show(this.#done)}${total === undefined ? '' : ` of ${show(total)}`}`,
      amount === undefined ? formatRate(rate) : `${show(rate)}/s`,
    ];
    if (total !== undefined && rate > 0 && this.#done < total) {
      parts.push(`${formatUptime(((total - this.#done) / rate) * 1000)} left`);
    }
    return parts.join(', ');
  }
}
