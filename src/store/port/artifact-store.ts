import type { ArtifactKind, Content } from '../../core/artifact/artifact.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { DutyTenure } from './duty-store.ts';

/** The part of the port for artifacts: which bytes belong to which task. The bytes themselves lie in a blob store. */
export interface ArtifactStore {
  /**
   * Announces bytes that are about to travel, for a running attempt. Fenced like a settle. Nobody sees the artifact before it is whole. The room that it
   * takes is counted from here on. A repeat with the same id changes nothing and is answered as before.
   */
  artifactBegin(params: NewArtifact): Promise<BeginAnswer>;
  /**
   * Its bytes have arrived and were checked. Fenced like a settle: an upload of an attempt that is over never becomes visible. It takes the place of
   * the artifact of that name, which is removed in the same write. A repeat is answered `done`.
   */
  artifactEnd(params: Lease & { readonly id: string }): Promise<'done' | 'lost' | 'unknown'>;
  /** Whole ones, by id; what is not there, or not whole, is left out. */
  artifactGet(params: { readonly ids: readonly string[] }): Promise<readonly ArtifactRecord[]>;
  /** One that was begun and is not whole; undefined: there is none of that id. */
  artifactPending(params: { readonly id: string }): Promise<PendingArtifact | undefined>;
  /** Whole ones of these tasks, of a tree, or of all, the newest first; `before`: only those below this number. */
  artifactList(params: ArtifactQuery): Promise<readonly ArtifactRecord[]>;
  /** Marks whole ones as removed; answers how many were there. Their bytes are swept later. */
  artifactRemove(params: { readonly ids: readonly string[] }): Promise<number>;
  /**
   * One step of the duty, under its epoch: marks as removed what was begun by attempts that are over (or is older than `pendingMs`), and what belongs to
   * tasks that ended longer than `retentionMs` ago or are no longer kept; then answers removed ones whose bytes nothing else refers to, as `blobs`,
   * for the caller to delete. Until `artifactSwept`, the same ones are answered again, and no `artifactBegin` uses these blobs.
   */
  artifactSweep(params: SweepQuery): Promise<Sweep>;
  /** Their bytes are gone: the rows go too. Under the epoch of the duty. */
  artifactSwept(params: { readonly duty: DutyTenure; readonly ids: readonly string[] }): Promise<void>;
  /** How much room all artifacts take, those that are under way included. */
  artifactUsage(): Promise<ArtifactUsage>;
}

export interface NewArtifact extends Lease, Content {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly kind: ArtifactKind;
  /** Whose bytes nobody but their maker has checked lie under a key of their own: they are never shared. */
  readonly own: boolean;
  /** In bytes; undefined: no bound. */
  readonly taskQuota?: number | undefined;
  readonly quota?: number | undefined;
}

/** `full`: there is no room; nothing was written. `blob` is where its bytes belong. */
export type BeginAnswer =
  | { readonly kind: 'done'; readonly blob: string }
  | { readonly kind: 'lost' }
  | { readonly kind: 'full'; readonly of: 'task' | 'all'; readonly used: number; readonly quota: number };

export interface ArtifactRecord extends Content {
  /** Its number: grows with each that is begun. */
  readonly n: number;
  readonly id: string;
  readonly task: number;
  readonly root: number;
  readonly attempt: number;
  readonly name: string;
  readonly type: string;
  readonly kind: ArtifactKind;
  readonly blob: string;
  readonly createdAt: number;
}

export interface PendingArtifact extends ArtifactRecord, Lease {
  readonly task: number;
  readonly attempt: number;
}

export interface ArtifactQuery {
  readonly tasks?: readonly number[] | undefined;
  readonly root?: number | undefined;
  readonly name?: string | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface SweepQuery {
  readonly duty: DutyTenure;
  readonly retentionMs: number;
  readonly pendingMs: number;
  readonly limit: number;
}

export interface Sweep {
  /** How many were marked as removed in this step. */
  readonly removed: number;
  /** Removed ones. `blob`: delete these bytes; undefined: others refer to them still. */
  readonly gone: readonly { readonly id: string; readonly blob: string | undefined }[];
}

export interface ArtifactUsage {
  readonly entries: number;
  readonly bytes: number;
}
