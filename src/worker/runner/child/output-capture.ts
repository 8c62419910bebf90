import { Writable } from 'node:stream';
import { LineSplitter } from './line-splitter.ts';

type Done = (error?: Error | null) => void;
export type OutputName = 'stdout' | 'stderr';

/**
 * Replaces `process.stdout` and `process.stderr`, and so the target of `console`: their output goes the same way as `ctx.log`
 * and the outcome, in the same order. Native code and other processes write to the descriptors themselves, and the worker reads
 * that from the pipes. Node's own streams are never created, because they make the descriptors non-blocking: then a raw write
 * of more than 64 KiB fails with EAGAIN.
 */
export class OutputCapture {
  readonly #outlets: readonly OutputStream[];

  constructor(line: (stream: OutputName, text: string) => void, full: () => boolean) {
    this.#outlets = (['stdout', 'stderr'] as const).map((name, index) => {
      const stream = new OutputStream(index + 1, new LineSplitter((text) => line(name, text)), full);
      Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
      return stream;
    });
  }

  /** Emits lines that have no newline yet. */
  flush(): void {
    for (const stream of this.#outlets) stream.lines.flush();
  }

  /** Lets waiting writers go on. */
  drain(): void {
    for (const stream of this.#outlets) stream.emit('drain');
  }
}

class OutputStream extends Writable {
  readonly fd: number;
  readonly lines: LineSplitter;
  readonly #full: () => boolean;

  constructor(fd: number, lines: LineSplitter, full: () => boolean) {
    super({ autoDestroy: false, emitClose: false });
    this.fd = fd;
    this.lines = lines;
    this.#full = full;
  }

  /** The stream buffers nothing: every line goes to the worker, whatever the writer makes of backpressure. */
  override write(chunk: Uint8Array | string, encodingOrDone?: BufferEncoding | Done, done?: Done): boolean {
    const encoding = typeof encodingOrDone === 'string' ? encodingOrDone : 'utf8';
    this.lines.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    const callback = typeof encodingOrDone === 'function' ? encodingOrDone : done;
    if (callback !== undefined) process.nextTick(callback);
    return !this.#full();
  }

  /** The stream never ends: the next task of this process prints as well. */
  override end(...args: readonly unknown[]): this {
    const [chunk] = args;
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk);
    const done = args.find((arg) => typeof arg === 'function');
    if (done !== undefined) this.once('finish', done as () => void);
    process.nextTick(() => this.emit('finish'));
    return this;
  }

  /** Does nothing, as with Node's own streams. */
  override destroy(): this {
    return this;
  }
}
