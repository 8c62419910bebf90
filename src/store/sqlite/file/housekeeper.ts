import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { fault } from '../../../core/errors.ts';
import type { StatsDrift } from '../verbs/admin/audit.ts';

interface Answer {
  readonly id: number;
  readonly drifts?: readonly StatsDrift[];
  readonly error?: string;
}

const GONE = 'its housekeeping thread has ended';
/**
 * A process with this many commits in a second is busy. In the second such second the thread starts: its 100 ms of CPU were 7 % of
 * the first 10,000 tasks of a process, and many processes have only one burst.
 */
const BUSY_COMMITS = 50;
const SECOND_MS = 1000;

/**
 * Starts and stops `housekeeper-thread.ts`. The thread runs only while it has work: an idle process saves its 12 MB,
 * and the writer's own checkpoints are enough for a slow one. It never keeps the process alive.
 */
export class Housekeeper {
  readonly #file: string;
  #thread: Thread | undefined;
  #closed = false;
  #since = 0;
  #commits = 0;
  #wasBusy = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** The process has committed at this monotonic time. */
  wrote(now: number): void {
    if (now - this.#since > SECOND_MS) {
      this.#wasBusy = this.#commits >= BUSY_COMMITS && now - this.#since <= 2 * SECOND_MS;
      this.#since = now;
      this.#commits = 0;
    }
    if (++this.#commits >= BUSY_COMMITS && this.#wasBusy) this.#start();
  }

  recount(): Promise<readonly StatsDrift[]> {
    const thread = this.#start();
    return thread === undefined ? Promise.reject(fault('STORE_UNAVAILABLE', { problem: GONE })) : thread.recount();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.close();
  }

  #start(): Thread | undefined {
    if (this.#thread !== undefined || this.#closed) return this.#closed ? undefined : this.#thread;
    const thread = new Thread(this.#file);
    this.#thread = thread;
    void thread.ended.then(() => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    return thread;
  }
}

class Thread {
  readonly ended: Promise<void>;
  readonly #worker: Worker;
  readonly #asked = new Map<
    number,
    { resolve: (drifts: readonly StatsDrift[]) => void; reject: (error: unknown) => void }
  >();
  #next = 1;

  constructor(file: string) {
    // The extension is that of this file, so that the built package finds the built thread.
    const url = new URL(`./housekeeper-thread${extname(import.meta.url)}`, import.meta.url);
    this.#worker = new Worker(url, { workerData: { file }, resourceLimits: { maxYoungGenerationSizeMb: 2 } });
    this.#worker.on('message', (answer: Answer) => {
      const asked = this.#asked.get(answer.id);
      this.#asked.delete(answer.id);
      if (this.#asked.size === 0) this.#worker.unref();
      if (answer.drifts === undefined) asked?.reject(fault('STORE_UNAVAILABLE', { sqlite: answer.error }));
      else asked?.resolve(answer.drifts);
    });
    this.#worker.on('error', (error) => this.#refuse(error));
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#refuse();
        resolve();
      });
    });
    // After the listeners: adding one refs the worker again.
    this.#worker.unref();
  }

  recount(): Promise<readonly StatsDrift[]> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#asked.set(id, { resolve, reject });
      // The process must stay alive until the answer is there.
      this.#worker.ref();
      this.#worker.postMessage({ ask: 'recount', id });
    });
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage({ ask: 'stop', id: 0 });
    await this.ended;
  }

  #refuse(cause?: unknown): void {
    for (const { reject } of this.#asked.values()) reject(fault('STORE_UNAVAILABLE', { problem: GONE }, { cause }));
    this.#asked.clear();
  }
}
