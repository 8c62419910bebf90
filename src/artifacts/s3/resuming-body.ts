import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { BlobCall } from '../blob-store.ts';
import { Retries, type RetryPolicy, TransientError, type Tried } from './retry.ts';

export interface Resumable extends BlobCall {
  readonly retry: RetryPolicy;
  /** How long a reader waits for the next byte. */
  readonly idleMs: number;
  /** What is still to come, from this byte of the blob on. */
  readonly from: number;
  readonly left: number;
  /** Asks for the rest, once. */
  readonly ask: (from: number) => Promise<IncomingMessage>;
}

/** The body of an answer that goes on where it was cut: by a new request for the rest. Ends only after the last byte that was promised. */
export class ResumingBody extends Readable {
  readonly #with: Resumable;
  readonly #retries: Retries;
  #answer: IncomingMessage | undefined;
  #from: number;
  #left: number;
  /** What this answer is to bring. */
  #whole = 0;
  #done = 0;
  #silence: NodeJS.Timeout | undefined;

  constructor(answer: IncomingMessage, given: Resumable) {
    super({ highWaterMark: 256 * 1024, ...(given.signal === undefined ? {} : { signal: given.signal }) });
    this.#with = given;
    this.#from = given.from;
    this.#left = given.left;
    const tried: Tried = { doing: 'reading a blob', signal: given.signal };
    this.#retries = new Retries(given.retry, tried);
    this.#take(answer);
  }

  override _read(): void {
    if (this.#answer === undefined) return;
    this.#listen(this.#answer);
    this.#answer.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#silence);
    this.#answer?.destroy();
    this.#answer = undefined;
    done(error);
  }

  #take(answer: IncomingMessage): void {
    this.#answer = answer;
    this.#whole = this.#left;
    // A slow reader lets the connection rest: only time in which it waits for bytes counts.
    answer.socket?.setTimeout(0);
    answer.pause();
    answer.on('data', (chunk: Buffer) => this.#give(chunk));
    answer.once('error', (error) => this.#cut(answer, error));
    answer.once('close', () => this.#cut(answer, new Error('the connection was cut')));
  }

  #listen(answer: IncomingMessage): void {
    clearTimeout(this.#silence);
    const { idleMs } = this.#with;
    this.#silence = setTimeout(
      () => this.#cut(answer, new Error(`it was silent for ${Math.round(idleMs / 1000)} s`)),
      idleMs,
    );
  }

  #give(chunk: Buffer): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    const bytes = chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk;
    this.#from += bytes.length;
    this.#left -= bytes.length;
    this.#retries.progress();
    this.#with.onProgress?.((this.#done += bytes.length));
    const more = this.push(bytes);
    if (this.#left === 0) {
      clearTimeout(this.#silence);
      this.#answer = undefined;
      // Its end is in the same packets as a rule; read to it, the connection is good for the next call. A server that sends more than it was asked for is cut off.
      if (Number(answer.headers['content-length']) === this.#whole) answer.resume();
      else answer.destroy();
      this.push(null);
    } else if (more) this.#listen(answer);
    else {
      clearTimeout(this.#silence);
      answer.pause();
    }
  }

  #cut(answer: IncomingMessage, error: Error): void {
    if (this.#answer !== answer) return;
    this.#answer = undefined;
    clearTimeout(this.#silence);
    answer.destroy();
    void this.#resume(new TransientError(`after ${this.#done} bytes: ${error.message}`, { cause: error }));
  }

  async #resume(reason: unknown): Promise<void> {
    try {
      for (let last = reason; ; ) {
        await this.#retries.after(last);
        if (this.destroyed) return;
        try {
          const answer = await this.#with.ask(this.#from);
          if (this.destroyed) return void answer.destroy();
          this.#take(answer);
          this._read();
          return;
        } catch (error) {
          last = error;
        }
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('The transfer was aborted.'));
    }
  }
}
