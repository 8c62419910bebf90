import { styleText } from 'node:util';
import type { PoolStats } from '../../compat/index.ts';
import { STILL_STOPPING, withFields } from '../display/display.ts';
import { safeJson, safeText } from '../display/safe.ts';
import { formatCount } from '../kit/figures.ts';

export interface PoolPlace {
  readonly store: string;
  readonly queue: string;
  readonly min: number;
  readonly max: number;
  readonly processes: boolean;
}

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The output of `leasehold pool run`: a line whenever its figures have changed. */
export class PoolDisplay {
  readonly #json: boolean;
  readonly #stream: Output;
  #last = '';

  constructor(options: { readonly json: boolean; readonly stream: Output }) {
    this.#json = options.json;
    this.#stream = options.stream;
  }

  started(place: PoolPlace): void {
    const { store, queue, min, max, processes } = place;
    const kind = processes ? 'workers that are processes' : 'workers';
    const count = min === max ? String(min) : `${min} to ${max}`;
    this.#say('started', place, `A pool of ${count} ${kind} performs the runs in ${queue} on ${store}.`);
  }

  /** Says nothing while the figures are the same. */
  figures(stats: PoolStats): void {
    const { workers: _, ...counts } = stats;
    const text = JSON.stringify(counts);
    if (text === this.#last) return;
    this.#last = text;
    this.#say('figures', stats, wordsOf(stats));
  }

  readonly warning = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    this.#say('warning', { message, fields }, this.#style('yellow', withFields(message, fields)));
  };

  stopping(): void {
    this.#say('stopping', {}, 'Stopping: runs come to their ends first.');
  }

  stillStopping(): void {
    this.#say('still-stopping', {}, STILL_STOPPING);
  }

  stopped({ total_completed, total_failed }: PoolStats): void {
    const text = `Stopped. ${formatCount(total_completed)} completed, ${formatCount(total_failed)} failed.`;
    this.#say('stopped', { total_completed, total_failed }, text);
  }

  #say(event: string, fields: object, text: string): void {
    if (this.#json) this.#stream.write(`${safeJson({ event, ...fields })}\n`);
    else this.#stream.write(`${this.#stream.isTTY === true ? text : safeText(text)}\n`);
  }

  #style(format: 'yellow', text: string): string {
    return this.#stream.isTTY === true ? styleText(format, text) : text;
  }
}

function wordsOf({
  total_workers,
  idle_workers,
  processing_workers,
  total_completed,
  total_failed,
}: PoolStats): string {
  const workers = `${total_workers} ${total_workers === 1 ? 'worker' : 'workers'}`;
  const runs = `${formatCount(total_completed)} completed, ${formatCount(total_failed)} failed`;
  return `${workers}: ${processing_workers} at work, ${idle_workers} idle; ${runs}`;
}
