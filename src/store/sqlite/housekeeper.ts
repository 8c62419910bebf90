import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { fault } from '../../core/errors.ts';
import type { CounterDrift } from './verbs/audit.ts';

interface Answer {
  readonly id: number;
  readonly drifts?: readonly CounterDrift[];
  readonly error?: string;
}

const GONE = 'its housekeeping thread has ended';

/** The near end of `housekeeper-thread.ts`. It never keeps the process alive. */
export class Housekeeper {
  readonly #thread: Worker;
  readonly #asked = new Map<
    number,
    { resolve: (drifts: readonly CounterDrift[]) => void; reject: (error: unknown) => void }
  >();
  readonly #ended: Promise<void>;
  #gone = false;
  #next = 1;

  constructor(file: string) {
    // The extension is taken from this file, so that the built package finds the built thread.
    const url = new URL(`./housekeeper-thread${extname(import.meta.url)}`, import.meta.url);
    this.#thread = new Worker(url, { workerData: { file } });
    this.#thread.unref();
    this.#thread.on('message', (answer: Answer) => {
      const asked = this.#asked.get(answer.id);
      this.#asked.delete(answer.id);
      if (answer.drifts === undefined) asked?.reject(fault('STORE_UNAVAILABLE', { sqlite: answer.error }));
      else asked?.resolve(answer.drifts);
    });
    this.#thread.on('error', (error) => this.#refuse(error));
    this.#ended = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        this.#gone = true;
        this.#refuse();
        resolve();
      });
    });
  }

  recount(): Promise<readonly CounterDrift[]> {
    if (this.#gone) return Promise.reject(fault('STORE_UNAVAILABLE', { problem: GONE }));
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#asked.set(id, { resolve, reject });
      this.#thread.postMessage({ ask: 'recount', id });
    });
  }

  async close(): Promise<void> {
    this.#thread.ref();
    this.#thread.postMessage({ ask: 'stop', id: 0 });
    await this.#ended;
  }

  #refuse(cause?: unknown): void {
    for (const { reject } of this.#asked.values()) reject(fault('STORE_UNAVAILABLE', { problem: GONE }, { cause }));
    this.#asked.clear();
  }
}
