/**
 * Hashes large files on a thread of its own, one for all transfers of this process: SHA-256 takes longer than all else that is done with the bytes, and
 * the loop goes on meanwhile. What is given is copied; nothing is waited for but a thread that has fallen behind.
 */
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

export interface Hashing {
  /** Resolves when there is room for more. */
  update(chunk: Uint8Array): Promise<void> | undefined;
  digest(): Promise<string>;
  /** Nobody wants to know any more. */
  drop(): void;
}

/** A smaller file is hashed before a thread has begun. */
const LARGE = 32 * 2 ** 20;
/** Bytes of one file that wait for the thread. */
const MOST_AHEAD = 8 * 2 ** 20;

const PROGRAM = `
const { createHash } = require('node:crypto');
const { parentPort } = require('node:worker_threads');
const hashes = new Map();
parentPort.on('message', ({ n, chunk, end, drop }) => {
  if (drop) return void hashes.delete(n);
  let hash = hashes.get(n);
  if (hash === undefined) hashes.set(n, (hash = createHash('sha256')));
  if (end) {
    hashes.delete(n);
    parentPort.postMessage({ n, digest: hash.digest('hex') });
    return;
  }
  hash.update(chunk);
  const done = chunk.length;
  // Its memory is free at once, and not when somebody collects it.
  chunk.buffer.transfer(0);
  parentPort.postMessage({ n, done });
});
`;

interface Said {
  readonly n: number;
  readonly done?: number;
  readonly digest?: string;
}

class Thread {
  readonly #worker = new Worker(PROGRAM, { eval: true, env: {}, execArgv: [], stdin: false });
  readonly #open = new Map<number, (said: Said | Error) => void>();
  #next = 0;

  constructor(onGone: () => void) {
    this.#worker.unref();
    this.#worker.on('message', (said: Said) => this.#open.get(said.n)?.(said));
    const end = (error: Error): void => {
      onGone();
      for (const tell of this.#open.values()) tell(error);
      this.#open.clear();
    };
    this.#worker.on('error', end);
    this.#worker.on('exit', () => end(new Error('the thread that hashes has ended')));
  }

  begin(tell: (said: Said | Error) => void): number {
    this.#next += 1;
    if (this.#open.size === 0) this.#worker.ref();
    this.#open.set(this.#next, tell);
    return this.#next;
  }

  end(n: number): void {
    this.#open.delete(n);
    if (this.#open.size === 0) this.#worker.unref();
  }

  send(message: object, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer as ArrayBuffer[]);
  }
}

let thread: Thread | undefined;

/** The hash of a file of this size, on the thread if it is worth it. */
export function hashing(size: number): Hashing {
  if (size < LARGE) return hashingHere();
  thread ??= new Thread(() => {
    thread = undefined;
  });
  return hashingThere(thread);
}

function hashingHere(): Hashing {
  const hash = createHash('sha256');
  return {
    update: (chunk) => void hash.update(chunk),
    digest: async () => hash.digest('hex'),
    drop: () => {},
  };
}

function hashingThere(on: Thread): Hashing {
  const digest = Promise.withResolvers<string>();
  digest.promise.catch(() => {});
  let ahead = 0;
  let failed: Error | undefined;
  let room: (() => void) | undefined;
  const n = on.begin((said) => {
    if (said instanceof Error) {
      failed = said;
      digest.reject(said);
    } else if (said.digest !== undefined) {
      on.end(n);
      digest.resolve(said.digest);
    } else ahead -= said.done ?? 0;
    if (failed !== undefined || ahead < MOST_AHEAD) room?.();
  });
  return {
    update(chunk) {
      if (failed !== undefined) throw failed;
      const copy = new Uint8Array(chunk);
      ahead += copy.length;
      on.send({ n, chunk: copy }, [copy.buffer]);
      return ahead < MOST_AHEAD ? undefined : new Promise((resolve) => void (room = resolve));
    },
    digest() {
      on.send({ n, end: true });
      return digest.promise;
    },
    drop() {
      on.end(n);
      on.send({ n, drop: true });
    },
  };
}
