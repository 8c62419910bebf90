import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { invariant } from '../../core/errors.ts';
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

/** A request that ends an attempt; a result that is kept for reuse counts as one. */
export type EndRequest = Extract<
  NewRequest,
  { type: 'task_complete' | 'task_failed' | 'task_release' | 'task_cancelled' | 'task_turn' | 'keep' }
>;

/** A line of the ends file. */
export type EndLine = { readonly end: EndRequest; readonly id: string } | { readonly gone: string };

export interface SpoolOptions {
  /** For all processes of the data directory; each has its own folder in it. */
  readonly folder: string;
  readonly owner: Pick<Owner, 'url' | 'name' | 'incarnation'>;
  readonly log?: WorkerLog | undefined;
  /** For the spilled logs of all attempts together; default 256 MiB. */
  readonly maxLogBytes?: number | undefined;
  readonly maxEndBytes?: number | undefined;
}

const MAX_LOG_BYTES = 256 * 1024 * 1024;

/**
 * The folder of one worker process, for what its node has not acknowledged: ends of attempts, and the logs before them. Nothing here
 * throws: a failing disk is reported once, and from then on unacknowledged ends are in memory only, as without a spool.
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

  /** Ends that the node has not acknowledged. */
  get unacknowledged(): number {
    return this.#ends?.count ?? 0;
  }

  put(end: EndRequest, id: string, durable: boolean): void {
    this.putAll([{ end, id }], durable);
  }

  putAll(ends: readonly { readonly end: EndRequest; readonly id: string }[], durable: boolean): void {
    const lines = ends.map(({ end, id }) => [endKey(end), JSON.stringify({ end, id } satisfies EndLine)] as const);
    const kept = this.#guarded(() => this.#open().putAll(lines, durable));
    if (kept === false) this.#warnOnce('there is no room for more unacknowledged ends');
  }

  drop(end: EndRequest): void {
    this.dropAll([end]);
  }

  dropAll(ends: readonly EndRequest[]): void {
    this.#guarded(() => this.#ends?.dropAll(ends.map(endKey)));
  }

  /** False: the entries are not on disk. */
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

  /** The first spilled shipments of this attempt's log; undefined: none is left. */
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

  /** Unacknowledged ends and logs stay for the next start. */
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
    // For this user only: it holds results and proofs of leases.
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    const head = JSON.stringify({ owner: this.owner });
    this.#ends = new EndsFile({ path: join(this.path, ENDS), head, maxBytes: this.#options.maxEndBytes });
    return this.#ends;
  }

  #logFile({ task, attempt, token }: LeaseProof): LogFile {
    const key = keyOf({ task, attempt });
    const known = this.#logs.get(key);
    if (known !== undefined) return known;
    // The ends file names the owner, so it is created first.
    this.#open().touch();
    const head = JSON.stringify({ lease: { task, attempt, token } });
    // A name of a file: nothing but two numbers may get into it, whoever granted the lease.
    invariant(Number.isSafeInteger(task) && Number.isSafeInteger(attempt), 'a lease is not two whole numbers');
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
      // Other spools are beside it, or it was removed.
      if (code !== 'ENOTEMPTY' && code !== 'ENOENT') this.#warnOnce((error as Error).message);
      return undefined;
    }
  }

  #warnOnce(problem: string): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#options.log?.warn('unacknowledged ends and logs cannot be kept on disk', {
      folder: this.path,
      error: problem,
    });
  }
}

function endKey({ type, lease }: EndRequest): string {
  return type === 'keep' ? `${keyOf(lease)}/keep` : keyOf(lease);
}
