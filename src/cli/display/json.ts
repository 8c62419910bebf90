import { type Figures, isNews } from '../kit/figures.ts';
import type { Banner, Display } from './display.ts';

/** One object a line, with its kind in `event`; figures come when something has changed. */
export class JsonDisplay implements Display {
  readonly #write: (text: string) => void;
  readonly #wall: () => number;
  #shown: Figures | undefined;

  constructor(options: { write: (text: string) => void; wall: () => number }) {
    this.#write = options.write;
    this.#wall = options.wall;
  }

  started({ version, address, store, pid }: Banner): void {
    this.#line('started', { version, address, ui: `${address}/ui/`, store, pid });
  }

  figures(figures: Figures): void {
    if (!isNews(figures, this.#shown)) return;
    this.#shown = figures;
    this.#line('figures', figures);
  }

  note(message: string): void {
    this.#line('note', { message });
  }

  info(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#line('told', { message, fields });
  }

  warning(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#line('warning', { message, fields });
  }

  stopping(): void {
    this.#line('stopping', {});
  }

  stillStopping(): void {
    this.#line('still-stopping', {});
  }

  stopped(uptimeMs: number): void {
    this.#line('stopped', { uptimeMs });
  }

  restore(): void {}

  #line(event: string, body: object): void {
    this.#write(`${JSON.stringify({ event, at: this.#wall(), ...body })}\n`);
  }
}
