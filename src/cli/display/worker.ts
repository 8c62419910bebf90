import { styleText } from 'node:util';
import { formatCount } from '../kit/figures.ts';
import { STILL_STOPPING, withFields } from './display.ts';
import { safeJson, safeText } from './safe.ts';

/** A task that a worker has settled, and its outcome. */
export interface SettledTask {
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  readonly outcome: 'completed' | 'failed' | 'retried' | 'cancelled' | 'released' | 'lost';
  readonly ranMs: number;
}

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Above this many lines a second only their number is shown. */
const LINES_A_SECOND = 20;

const OUTCOME_STYLES = {
  completed: ['✓', 'green'],
  failed: ['✗', 'red'],
  retried: ['↻', 'yellow'],
  cancelled: ['⊘', 'yellow'],
  released: ['↩', 'dim'],
  lost: ['?', 'red'],
} as const;

/** Parked tasks run again; only their number is shown, at the end. */
const WORDS: Readonly<Record<string, string>> = { parked: 'gave their slot back to wait' };

/** The output of `leasehold worker`: a line for each task while they are few, their number while they are many. */
export class WorkerDisplay {
  readonly #json: boolean;
  readonly #stream: Output;
  #second = 0;
  #lines = 0;
  #unsaid = 0;

  constructor(options: { readonly json: boolean; readonly stream: Output }) {
    this.#json = options.json;
    this.#stream = options.stream;
  }

  started(worker: { name: string; handlers: readonly string[]; slots: number; store: string }): void {
    const { name, handlers, slots, store } = worker;
    this.#say('started', worker, `Worker ${name} runs ${handlers.join(', ')} from ${store}, ${slots} at a time.`);
  }

  settled(one: SettledTask): void {
    if (this.#json) {
      this.#say('parted', one, '');
      return;
    }
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) {
      this.#tellUnsaid();
      this.#second = second;
      this.#lines = 0;
    }
    if (++this.#lines > LINES_A_SECOND) {
      this.#unsaid++;
      return;
    }
    const [symbol, colour] = OUTCOME_STYLES[one.outcome];
    const time = `${formatCount(one.ranMs)} ms`;
    this.#line(`${this.#style(colour, symbol)} ${one.id}  ${one.handler}  ${one.outcome}  ${this.#style('dim', time)}`);
  }

  readonly warning = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    this.#say('warning', { message, fields }, this.#style('yellow', withFields(message, fields)));
  };

  stopping(): void {
    this.#say('stopping', {}, 'Stopping: running tasks come to their end first.');
  }

  upgrading(wanted: string): void {
    const words = wanted === '' ? 'another release' : `release ${wanted}`;
    this.#say('upgrading', { wanted }, `The node wants ${words}: running tasks come to their end first.`);
  }

  stillStopping(): void {
    this.#say('still-stopping', {}, STILL_STOPPING);
  }

  stopped(settled: Readonly<Record<SettledTask['outcome'] | 'parked', number>>): void {
    this.#tellUnsaid();
    const parts = Object.entries(settled).filter(([, count]) => count > 0);
    const words = parts.map(([outcome, count]) => `${formatCount(count)} ${WORDS[outcome] ?? outcome}`).join(', ');
    this.#say('stopped', { settled }, `Stopped. ${words === '' ? 'No task was run' : words}.`);
  }

  #tellUnsaid(): void {
    if (this.#unsaid === 0) return;
    this.#line(this.#style('dim', `… and ${formatCount(this.#unsaid)} more`));
    this.#unsaid = 0;
  }

  #say(event: string, body: object, line: string): void {
    if (this.#json) this.#stream.write(`${safeJson({ event, ...body })}\n`);
    else this.#line(line);
  }

  #line(text: string): void {
    this.#stream.write(`${this.#stream.isTTY ? text : safeText(text)}\n`);
  }

  #style(format: 'green' | 'red' | 'yellow' | 'dim', text: string): string {
    return this.#stream.isTTY ? styleText(format, text) : text;
  }
}
