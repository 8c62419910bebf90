import type { Artifact, ArtifactKind, Content } from '../core/artifact/artifact.ts';
import type { Lease } from '../core/task/lease.ts';

/** The artifacts of a session. Bytes come from files and go into files of the worker, so that a child process hands over a path. */
export interface ArtifactLink {
  /**
   * Stores a file with the task, fenced: visible when this resolves, under the newest attempt. Tries again while the place is out of reach, until the
   * signal ends it or its patience is over: `ARTIFACT_FAILED`.
   */
  put(lease: Lease, file: OutgoingFile, call?: TransferCall): Promise<Artifact>;
  /** Of the own task, or of one that it may read: the newest of a name, or by id. `NOT_FOUND` otherwise. */
  find(lease: Lease, which: WhichArtifact): Promise<Artifact>;
  /** The bytes into a file, which is there only when all of them are right: `ARTIFACT_MISMATCH` otherwise. */
  fetch(lease: Lease, artifact: Artifact, path: string, call?: TransferCall): Promise<void>;
  /** Of a task, by its id; default: the own one. The newest first, at most a thousand. */
  list(lease: Lease, task?: string): Promise<readonly Artifact[]>;
}

export interface OutgoingFile extends Content {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly kind?: ArtifactKind | undefined;
}

export interface WhichArtifact {
  readonly id?: string | undefined;
  /** By its name, of the own task or of this one. */
  readonly name?: string | undefined;
  readonly task?: string | undefined;
  /** By its name, of all tasks of its run and of those that it depends on: the newest. */
  readonly run?: true | undefined;
}

export interface TransferCall {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Where bytes travel beside the link: one request, as it is said here, and no other. */
export interface Transfer {
  readonly method: 'PUT' | 'GET';
  /** Without a host it is at the node. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a node does for a worker that has joined it: it says where bytes go, and looks whether they have come. Fenced as `ArtifactLink` is. */
export interface ArtifactTransfers {
  /** `again`: one that this lease has begun before, whose address is good no more. */
  begin(lease: Lease, file: AnnouncedFile, again?: string): Promise<BegunTransfer>;
  /** Refused with `ARTIFACT_MISMATCH` while its bytes have not arrived. */
  end(lease: Lease, id: string): Promise<Artifact>;
  find(lease: Lease, which: WhichArtifact): Promise<Artifact>;
  list(lease: Lease, task?: string): Promise<readonly Artifact[]>;
  fetch(lease: Lease, id: string): Promise<Transfer>;
}

/** A file before its bytes travel. */
export type AnnouncedFile = Omit<OutgoingFile, 'path'>;

export interface BegunTransfer {
  readonly id: string;
  readonly transfer: Transfer;
}
