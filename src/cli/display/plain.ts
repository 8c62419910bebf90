import {
  type Figures,
  formatCount,
  formatRate,
  formatUptime,
  formatWorker,
  isNews,
  type QueueFigures,
} from '../kit/figures.ts';
import {
  type Banner,
  type Display,
  duties,
  farewell,
  greeting,
  plainInvitation,
  STILL_STOPPING,
  withFields,
} from './display.ts';

/** The least time between two lines of figures. */
const QUIET_MS = 10_000;

/** Plain lines for a pipe or a log: figures only when something changed, and then at most one line in ten seconds. */
export class PlainDisplay implements Display {
  readonly #write: (text: string) => void;
  #banner: Banner | undefined;
  #shown: Figures | undefined;

  constructor(options: { write: (text: string) => void }) {
    this.#write = options.write;
  }

  started(banner: Banner): void {
    this.#banner = banner;
    this.#line(greeting(banner));
    this.#line(plainInvitation(banner));
  }

  figures(figures: Figures): void {
    const early = this.#shown !== undefined && figures.uptimeMs - this.#shown.uptimeMs < QUIET_MS;
    if (early || !isNews(figures, this.#shown)) return;
    this.#shown = figures;
    const queues = figures.queues.length === 0 ? ['no queues yet'] : figures.queues.map(describeQueue);
    const worker = figures.worker === undefined ? [] : [`worker: ${formatWorker(figures.worker)}`];
    const parts = [`up ${formatUptime(figures.uptimeMs)}`, ...queues, ...worker, `duties: ${duties(figures)}`];
    this.#line(parts.join(' | '));
  }

  note(message: string): void {
    this.#line(message);
  }

  info(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#line(withFields(message, fields));
  }

  warning(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#line(`warning: ${withFields(message, fields)}`);
  }

  stopping(): void {
    this.#line('Stopping.');
  }

  stillStopping(): void {
    this.#line(STILL_STOPPING);
  }

  stopped(uptimeMs: number): void {
    this.#line(farewell(this.#banner, uptimeMs));
  }

  restore(): void {}

  #line(text: string): void {
    this.#write(`${text}\n`);
  }
}

function describeQueue(queue: QueueFigures): string {
  const counts = (['ready', 'running', 'scheduled', 'completed', 'failed'] as const).map(
    (state) => `${formatCount(queue[state])} ${state}`,
  );
  return `${queue.name}${queue.paused ? ' (paused)' : ''}: ${counts.join(', ')}, ${formatRate(queue.perSecond)}`;
}
