import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Lease } from '../../core/task/lease.ts';
import type { LogEntry } from '../../core/task/log.ts';
import type { LeaseProof, NewRequest } from '../../protocol/frames.ts';
import { keyOf } from '../../protocol/held-leases.ts';
import type { WorkerLog } from '../logs/worker-log.ts';
import { EndsFile } from './ends-file.ts';
import { type Batch, LogFile } from './log-file.ts';
import { folderOf, type Owner, ownerHere } from './owner.ts';

export const ENDS = 'ends';
export const LOG = 'log-';

/** What says how an attempt has ended; a result that is kept for others is one, too. */
export type EndRequest = Extract<
  NewRequest,
  { type: 'task_complete' | 'task_failed' | 'task_release' | 'task_cancelled' | 'task_turn' | 'keep' }
>;

/** A line of the file of ends. */
export type EndLine = { readonly end: EndRequest; readonly id: string } | { readonly gone: string };

export interface SpoolOptions {
  /** For all processes of the data directory; each has a folder of its own in it. */
  readonly folder: string;
  readonly owner: Pick<Owner, 'url' | 'name' | 'incarnation'>;
  readonly log?: WorkerLog | undefined;
  /** For spilled logs, of all attempts; default 256 MiB. */
  readonly maxLogBytes?: number | undefined;
  readonly maxEndBytes?: number | undefined;
}

const MAX_LOG_BYTES = 256 * 1024 * 1024;

/**
 * What one process of a worker has on disk because its node has not heard it: ends of attempts, and the logs that came before them.
 * Nothing here throws: a disk that fails is told of once, and then what is owed is in memory alone, as it would be without.
 */
export class Spool {
  readonly path: string;
  readonly owner: Owner;
  readonly #options: SpoolOptions;
  readonly #logs = new Map<string, LogFile>();
  #ends: EndsFile | undefined;
  #logBytes = 0;
  #warned = false;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.owner = ownerHere(options.owner);
    this.path = join(options.folder, folderOf(this.owner));
  }

  /** Ends that nobody has heard. */
  get unacknowledged(): number {
    return this.#ends?.count ?? 0;
  }

  put(end: EndRequest, id: string, durable: boolean): void {
    const line: EndLine = { end, id };
    const kept = this.#guarded(() => this.#open().put(endKey(end), JSON.stringify(line), durable));
    if (kept === false) this.#warnOnce('there is no room for more ends that the node has not heard');
  }

  drop(end: EndRequest): void {
    this.#guarded(() => this.#ends?.drop(endKey(end)));
  }

  /** False: it is not on disk. */
  spill(lease: LeaseProof, entries: readonly LogEntry[]): boolean {
    if (this.#logBytes >= (this.#options.maxLogBytes ?? MAX_LOG_BYTES)) return false;
    const done = this.#guarded(() => {
      const file = this.#logFile(lease);
      const before = file.bytes;
      file.append(entries);
      this.#logBytes += file.bytes - before;
      return true;
    });
    return done === true;
  }

  /** What was spilled first of this attempt's log; undefined: nothing is left of it. */
  nextLog(lease: Lease): Batch | undefined {
    const file = this.#logs.get(keyOf(lease));
    return file === undefined || file.isEmpty ? undefined : this.#guarded(() => file.next());
  }

  shiftLog(lease: Lease, batch: Batch): void {
    this.#logs.get(keyOf(lease))?.shift(batch);
  }

  dropLog(lease: Lease): void {
    const file = this.#logs.get(keyOf(lease));
    if (file === undefined) return;
    this.#logs.delete(keyOf(lease));
    this.#logBytes -= file.bytes;
    this.#guarded(() => file.remove());
  }

  /** What is owed stays for the next start. */
  close(): void {
    const owes = this.unacknowledged > 0 || this.#logs.size > 0;
    this.#guarded(() => {
      for (const file of this.#logs.values()) file.close();
      this.#logs.clear();
      if (this.#ends === undefined) return;
      this.#ends.close();
      if (owes) return;
      rmSync(this.path, { recursive: true, force: true });
      rmdirSync(this.#options.folder);
    });
  }

  #open(): EndsFile {
    if (this.#ends !== undefined) return this.#ends;
    // Results are in it, and proofs of leases.
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    const head = JSON.stringify({ owner: this.owner });
    this.#ends = new EndsFile({ path: join(this.path, ENDS), head, maxBytes: this.#options.maxEndBytes });
    return this.#ends;
  }

  #logFile({ task, attempt, token }: LeaseProof): LogFile {
    const key = keyOf({ task, attempt });
    const known = this.#logs.get(key);
    if (known !== undefined) return known;
    // Whose it is stands in the file of ends, which is therefore there first.
    this.#open().touch();
    const head = JSON.stringify({ lease: { task, attempt, token } });
    const file = new LogFile(join(this.path, `${LOG}${task}-${attempt}`), head);
    this.#logs.set(key, file);
    this.#logBytes += file.bytes;
    return file;
  }

  #guarded<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Others have theirs beside it, or it was tidied away.
      if (code !== 'ENOTEMPTY' && code !== 'ENOENT') this.#warnOnce((error as Error).message);
      return undefined;
    }
  }

  #warnOnce(problem: string): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#options.log?.warn('what the node has not heard cannot be kept on disk', {
      folder: this.path,
      error: problem,
    });
  }
}

function endKey({ type, lease }: EndRequest): string {
  return type === 'keep' ? `${keyOf(lease)}/keep` : keyOf(lease);
}
