import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Artifact, ArtifactKind } from '../../core/artifact/artifact.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import type { ArtifactLink, OutgoingFile, WhichArtifact } from '../../protocol/artifact-link.ts';
import type { Assignment } from '../../protocol/link.ts';
import { ProcessFolders } from '../spool/process-folders.ts';

/** The artifacts of one attempt as its run reaches them, in this process or in that of its worker. Files are named by their paths. */
export interface ArtifactReader {
  /** A folder for its temporary files, which goes with the attempt, and how much one of them may hold. */
  room(): Promise<ArtifactRoom>;
  put(file: OutgoingFile): Promise<Artifact>;
  find(which: WhichArtifact): Promise<Artifact>;
  fetch(artifact: Artifact, path: string): Promise<void>;
  list(task?: string): Promise<readonly Artifact[]>;
}

export interface ArtifactRoom {
  readonly folder: string;
  readonly maxBytes: number;
}

/** What a worker has for its attempts. */
export interface ArtifactStock {
  readonly folders: ProcessFolders;
  readonly maxSpoolBytes: number;
}

/** What a value that is stored as an artifact may hold while it lies in a temporary file. */
const MAX_SPOOL_BYTES = 8 * 2 ** 30;

/** `folder`: where temporary files go; default that of the system. */
export function artifactStock({ folder = tmpdir(), maxSpoolBytes = MAX_SPOOL_BYTES } = {}): ArtifactStock {
  return { folders: new ProcessFolders(folder, 'leasehold-artifacts'), maxSpoolBytes };
}

/** Removes what processes have left that are gone. */
export function sweepArtifactFolders({ folders }: ArtifactStock): Promise<void> {
  return folders.sweep((folder) => rm(folder, { recursive: true, force: true }));
}

/** What runs leave behind by themselves. The other kinds are made by the worker and by workspaces. */
const OF_RUNS: ReadonlySet<ArtifactKind> = new Set(['file', 'result', 'diff', 'bundle', 'output']);

export interface AttemptArtifactsOptions {
  readonly link: ArtifactLink | undefined;
  readonly lease: Assignment;
  readonly stock: ArtifactStock;
  /** The lease is lost. */
  readonly onLost: () => void;
}

/** The artifacts of one attempt, in its worker. */
export class AttemptArtifacts implements ArtifactReader {
  readonly #options: AttemptArtifactsOptions;
  readonly #over = new AbortController();
  #folder: Promise<string> | undefined;

  constructor(options: AttemptArtifactsOptions) {
    this.#options = options;
  }

  async room(): Promise<ArtifactRoom> {
    this.#over.signal.throwIfAborted();
    this.#folder ??= this.#makeFolder();
    return { folder: await this.#folder, maxBytes: this.#options.stock.maxSpoolBytes };
  }

  put(file: OutgoingFile): Promise<Artifact> {
    const { name, path, type, size, sha256, kind } = file;
    if (typeof path !== 'string' || !isAbsolute(path))
      throw fault('INVALID_INPUT', { field: 'artifact', problem: 'its path is not absolute' });
    if (kind !== undefined && !OF_RUNS.has(kind)) throw fault('INVALID_INPUT', { field: 'kind' });
    const whole = { name, path, type, size, sha256, ...(kind === undefined ? {} : { kind }) };
    return this.#do((link, lease, signal) => link.put(lease, whole, { signal }));
  }

  find({ id, name, task, run }: WhichArtifact): Promise<Artifact> {
    const which = {
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
      ...(task === undefined ? {} : { task }),
      ...(run === true ? { run } : {}),
    };
    return this.#do((link, lease) => link.find(lease, which));
  }

  fetch(artifact: Artifact, path: string): Promise<void> {
    if (typeof path !== 'string' || !isAbsolute(path))
      throw fault('INVALID_INPUT', { field: 'path', problem: 'it is not absolute' });
    return this.#do((link, lease, signal) => link.fetch(lease, artifact, path, { signal }));
  }

  list(task?: string): Promise<readonly Artifact[]> {
    return this.#do((link, lease) => link.list(lease, task));
  }

  /** Transfers end at once: nothing that they bring would count. */
  drop(): void {
    const { id, attempt } = this.#options.lease;
    this.#over.abort(fault('LEASE_LOST', { task: id, attempt }));
  }

  /** Its temporary files go. */
  async close(): Promise<void> {
    this.drop();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  async #do<T>(call: (link: ArtifactLink, lease: Assignment, signal: AbortSignal) => Promise<T>): Promise<T> {
    const { link, lease, onLost } = this.#options;
    const { signal } = this.#over;
    signal.throwIfAborted();
    if (link === undefined)
      throw fault(
        'UNSUPPORTED',
        {},
        { hint: 'This run has no place for artifacts: its worker has none, or its node keeps none.' },
      );
    try {
      return await call(link, lease, signal);
    } catch (error) {
      if (isEngineError(error, 'LEASE_LOST') && !signal.aborted) onLost();
      throw error;
    }
  }

  async #makeFolder(): Promise<string> {
    const { folders } = this.#options.stock;
    await folders.ready();
    const folder = join(folders.own, randomUUID());
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }
}
