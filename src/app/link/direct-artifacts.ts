import { createReadStream } from 'node:fs';
import type { BlobStore, SignedTransfer } from '../../artifacts/blob-store.ts';
import type { Artifact } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { Engine } from '../../engine/engine.ts';
import type {
  AnnouncedFile,
  ArtifactLink,
  ArtifactTransfers,
  BegunTransfer,
  OutgoingFile,
  Transfer,
  TransferCall,
  WhichArtifact,
} from '../../protocol/artifact-link.ts';
import type { ArtifactRecord } from '../../store/store.ts';
import { receiveFile } from '../../worker/artifacts/artifact-file.ts';
import { DEFAULT_PATIENCE_MS, patiently } from '../../worker/artifacts/patience.ts';
import type { NamedTask } from './readable-tasks.ts';

/** Where the bytes of artifacts lie, for the workers of this process and for those that have joined it. */
export interface ArtifactPlace {
  /** It is opened when it is first needed. */
  readonly blobs: () => Promise<BlobStore>;
  /** Says where joined workers send and fetch bytes; undefined: nobody joins here. */
  readonly transfers?: TransferAddresses | undefined;
  /** Refuses a joined worker that announces more than its share: each announcement is a write that all others wait for. */
  readonly admit?: ((worker: string) => void) | undefined;
  /** How long a worker of this process tries a transfer again; default five minutes. */
  readonly patienceMs?: number | undefined;
}

/** One that was begun, or is whole. */
type Travelling = Pick<ArtifactRecord, 'id' | 'blob' | 'size' | 'sha256' | 'name'>;

export interface TransferAddresses {
  upload(artifact: Omit<Travelling, 'name'>, worker: string): Promise<SignedTransfer>;
  download(artifact: Travelling, worker: string): Promise<SignedTransfer>;
}

export interface DirectArtifactsOptions {
  readonly engine: Engine;
  readonly place: ArtifactPlace;
  /** The name of the worker. */
  readonly worker: string;
  /** Whether the worker may read this task while it holds the lease. */
  readonly mayRead: (lease: Lease, named: NamedTask) => Promise<boolean>;
}

/** The artifacts of a session in the process of the engine: straight to it, and to the place of the bytes. */
export class DirectArtifacts implements ArtifactLink, ArtifactTransfers {
  readonly #engine: Engine;
  readonly #place: ArtifactPlace;
  readonly #worker: string;
  readonly #mayRead: DirectArtifactsOptions['mayRead'];

  constructor({ engine, place, worker, mayRead }: DirectArtifactsOptions) {
    this.#engine = engine;
    this.#place = place;
    this.#worker = worker;
    this.#mayRead = mayRead;
  }

  async put(lease: Lease, file: OutgoingFile, { signal, onProgress }: TransferCall = {}): Promise<Artifact> {
    const { path, name, type, kind, size, sha256 } = file;
    const { artifacts } = this.#engine;
    let begun: { readonly id: string; readonly blob: string } | undefined;
    return this.#patiently(name, 'stored', signal, async () => {
      begun ??= await artifacts.begin(lease, { name, type, kind, size, sha256 });
      const bytes = createReadStream(path);
      try {
        await (await this.#place.blobs()).put(begun.blob, bytes, { size, sha256 }, { signal, onProgress });
      } finally {
        bytes.destroy();
      }
      return artifactOf(await artifacts.end(lease, begun.id));
    });
  }

  /** Bytes of a joined worker are never shared: whoever knows a hash would be given the bytes for it. */
  async begin(lease: Lease, { name, type, kind, size, sha256 }: AnnouncedFile, again?: string): Promise<BegunTransfer> {
    this.#place.admit?.(this.#worker);
    const { artifacts } = this.#engine;
    const before = again === undefined ? undefined : await artifacts.pending(again);
    const isSame = before?.size === size && before.sha256 === sha256 && before.name === name;
    if (before !== undefined && isSame && isOf(before, lease)) {
      await this.#requireHeld(lease);
      return { id: before.id, transfer: await this.#transfers.upload(before, this.#worker) };
    }
    const { id, blob } = await artifacts.begin(lease, { name, type, kind, size, sha256 }, { own: true });
    return { id, transfer: await this.#transfers.upload({ id, blob, size, sha256 }, this.#worker) };
  }

  async end(lease: Lease, id: string): Promise<Artifact> {
    this.#place.admit?.(this.#worker);
    const { artifacts } = this.#engine;
    const pending = await artifacts.pending(id);
    if (pending !== undefined && isOf(pending, lease)) {
      const come = await (await this.#place.blobs()).size(pending.blob);
      if (come !== pending.size) {
        await this.#requireHeld(lease);
        const problem = come === undefined ? 'they have not arrived' : `${come} of ${pending.size} have arrived`;
        throw fault('ARTIFACT_MISMATCH', { name: pending.name, problem });
      }
    }
    return artifactOf(await artifacts.end(lease, id));
  }

  async find(lease: Lease, { id, name, task, run }: WhichArtifact): Promise<Artifact> {
    await this.#requireHeld(lease);
    if (id !== undefined) return artifactOf(await this.#readable(lease, id));
    if (name === undefined) throw fault('INVALID_INPUT', { field: 'artifact', problem: 'it needs an id or a name' });
    const found =
      run === true
        ? await this.#newestOfRun(lease, name)
        : await this.#engine.artifacts.find({ task: await this.#taskOf(lease, task), name });
    if (found === undefined) throw fault('NOT_FOUND', { kind: 'artifact', id: name });
    return artifactOf(found);
  }

  /** Tasks of a graph depend on each other, and are no run together. */
  async #newestOfRun({ task }: Lease, name: string): Promise<ArtifactRecord | undefined> {
    const { artifacts } = this.#engine;
    const [record, needs] = await Promise.all([this.#engine.get(task), this.#engine.dependencies(task)]);
    const found = await Promise.all([
      artifacts.list({ root: record?.root ?? task, name, limit: 1 }),
      artifacts.list({ tasks: needs.map((one) => one.task), name, limit: 1 }),
    ]);
    return found
      .flat()
      .reduce<ArtifactRecord | undefined>((a, b) => (a && a.createdAt >= b.createdAt ? a : b), undefined);
  }

  async list(lease: Lease, task?: string): Promise<readonly Artifact[]> {
    await this.#requireHeld(lease);
    const found = await this.#engine.artifacts.list({ task: await this.#taskOf(lease, task), limit: MOST });
    return found.map(artifactOf);
  }

  fetch(lease: Lease, id: string): Promise<Transfer>;
  fetch(lease: Lease, artifact: Artifact, path: string, call?: TransferCall): Promise<void>;
  async fetch(
    lease: Lease,
    which: Artifact | string,
    path = '',
    { signal, onProgress }: TransferCall = {},
  ): Promise<Transfer | void> {
    await this.#requireHeld(lease);
    if (typeof which === 'string') return this.#transfers.download(await this.#readable(lease, which), this.#worker);
    const record = await this.#readable(lease, which.id);
    await this.#patiently(record.name, 'read', signal, async () => {
      const bytes = await (await this.#place.blobs()).get(record.blob, { signal });
      await receiveFile(bytes, record, path, { signal, onProgress });
    });
  }

  get #transfers(): TransferAddresses {
    const { transfers } = this.#place;
    if (transfers !== undefined) return transfers;
    throw fault('UNSUPPORTED', {}, { hint: 'This process serves no worker elsewhere.' });
  }

  async #taskOf(lease: Lease, task: string | undefined): Promise<number> {
    if (task === undefined) return lease.task;
    const named = { task: this.#engine.parseId(task), id: task };
    if (named.task !== lease.task && !(await this.#mayRead(lease, named)))
      throw fault('NOT_FOUND', { kind: 'task', id: task });
    return named.task;
  }

  /** Of a task that the worker may not read it says no more than of one that is not there. */
  async #readable(lease: Lease, id: string): Promise<ArtifactRecord> {
    const record = await this.#engine.artifacts.get(id);
    if (record.task === lease.task || (await this.#mayRead(lease, { task: record.task }))) return record;
    throw fault('NOT_FOUND', { kind: 'artifact', id });
  }

  /** Reads are fenced as well: another attempt has the task, and its artifacts. */
  async #requireHeld({ task, attempt }: Lease): Promise<void> {
    const record = await this.#engine.get(task);
    if (record?.state !== 'running' || record.attempt !== attempt) throw fault('LEASE_LOST', { task, attempt });
  }

  #patiently<T>(
    name: string,
    way: 'stored' | 'read',
    signal: AbortSignal | undefined,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { patienceMs = DEFAULT_PATIENCE_MS } = this.#place;
    return patiently({ world: this.#engine.world, patienceMs, signal, name, way }, attempt);
  }
}

/** In one list. */
const MOST = 1000;

function isOf(one: Lease, { task, attempt }: Lease): boolean {
  return one.task === task && one.attempt === attempt;
}

function artifactOf({ id, task, attempt, name, type, kind, size, sha256, createdAt }: ArtifactRecord): Artifact {
  return { id, task, attempt, name, type, kind, size, sha256, createdAt };
}
