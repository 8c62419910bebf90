import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { fault } from '../../../core/errors.ts';

/** How long a file may be gone before the next call notices it. One look takes 30 µs. */
const LOOK_MS = 1000;
/** A log that lies elsewhere, or is gone, is as bad as the file: the next process would start another one. */
const PARTS = ['', '-wal', '-shm'] as const;

/** The first bytes of every log that is not empty, without the last bit, which tells the order of bytes in its sums. */
const LOG_MAGIC = 0x377f0682;

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
}

/**
 * The name of an open SQLite file. A handle goes on working when its file is deleted or another one is put in its place:
 * everything would be acknowledged, and all of it would be lost with the last handle. So calls ask here first whether the
 * name still leads to the file that was opened, and whether somebody has emptied or overwritten that. A file that is moved back is
 * accepted again. A copy of the same size that is written into the file is not noticed.
 */
export class NamedFile {
  readonly #file: string;
  /** How many bytes the database has, with what is only in the log. */
  readonly #bytes: () => number;
  readonly #known = new Map<string, Identity>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(file: string, bytes: () => number) {
    this.#file = file;
    this.#bytes = bytes;
    this.#remember();
  }

  /** Throws if the file is not there. It looks at most once a second; `now` is monotonic time. */
  require(now: number): void {
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      this.#problem = this.#find();
    }
    if (this.#problem !== undefined) throw this.#gone(this.#problem);
  }

  /** The handle is a new one. Its file must be the same; its device may have another number after a mount. */
  requireSame(): void {
    const { ino } = this.#known.get('') ?? {};
    if (ino !== undefined && identityOf(this.#file)?.ino !== ino) throw this.#gone(REPLACED);
    this.#known.clear();
    this.#remember();
    this.#problem = undefined;
  }

  /** The log is made with the first access, so it is remembered when it is first seen. */
  #remember(): void {
    for (const part of PARTS) {
      const found = this.#known.has(part) ? undefined : identityOf(this.#file + part);
      if (found !== undefined) this.#known.set(part, found);
    }
  }

  #find(): string | undefined {
    for (const [part, { dev, ino }] of this.#known) {
      const now = identityOf(this.#file + part);
      const name = part === '' ? 'it' : `its ${part === '-wal' ? 'log' : 'index'} ${this.#file}${part}`;
      if (now === undefined) return `${name} was deleted or moved away`;
      if (now.dev !== dev || now.ino !== ino) return part === '' ? REPLACED : `${name} was replaced`;
      if (part === '' ? this.#isCut(now) : part === '-wal' && !isLog(this.#file + part, now)) {
        return `${name} was emptied or overwritten`;
      }
    }
    this.#remember();
    return undefined;
  }

  /** Only VACUUM makes a file smaller, and then the database is smaller too. */
  #isCut(now: Identity): boolean {
    const { size } = this.#known.get('') ?? now;
    if (now.size < size && (now.size === 0n || this.#bytes() >= size)) return true;
    this.#known.set('', now);
    return false;
  }

  #gone(problem: string): Error {
    const file = this.#file;
    return fault(
      'STORE_UNAVAILABLE',
      { file, problem: `${file} is no longer the file that this process opened: ${problem}` },
      {
        hint:
          'Stop all processes that use the store, put the right file in its place with leasehold restore, and start them again. ' +
          'Nothing more is acknowledged until then; what was acknowledged since the file was changed, at most a second, is lost.',
      },
    );
  }
}

const REPLACED = 'another file was put in its place';

function identityOf(path: string): Identity | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** A log that was emptied by somebody else goes on behind a hole, and the next process takes it for none. */
function isLog(path: string, { size }: Identity): boolean {
  const head = Buffer.alloc(4);
  if (size < head.length) return true;
  // SQLite has no locks on the log, so closing this handle takes none from it; with the file itself it would.
  const fd = openSync(path, 'r');
  try {
    // Emptied by a checkpoint since the look at its size.
    if (readSync(fd, head, 0, head.length, 0) < head.length) return true;
  } finally {
    closeSync(fd);
  }
  return ((head.readUInt32BE() ^ LOG_MAGIC) & ~1) === 0;
}
