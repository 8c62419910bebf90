import type { ArtifactKind, Content } from '../../core/artifact/artifact.ts';
import type { Full, Quotas, RoomTaken } from '../../core/artifact/artifact-room.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { DutyTerm } from './duty-store.ts';

/** The part of the port for artifacts: which bytes belong to which task. The bytes themselves lie in a blob store. */
export interface ArtifactStore {
  /**
   * Announces bytes that are about to travel, for a running attempt. Fenced like a settle. Nobody sees the artifact before it is whole. The room that it
   * takes is counted from here on. A repeat with the same id changes nothing and is answered as before. What earlier attempts of the task have begun
   * and not ended is given up, so that its room in the task is free for this one; in all it counts until its bytes are swept.
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
  /** Whole ones of these tasks, of a tree, or of all, the newest first; `before`: only those below this number. The bounds add up. */
  artifactList(params: ArtifactQuery): Promise<readonly ArtifactRecord[]>;
  /** Marks whole ones as removed; answers how many were there. Their bytes are swept later. */
  artifactRemove(params: { readonly ids: readonly string[] }): Promise<number>;
  /**
   * One step of the duty, under its epoch. It gives up what was begun by attempts that are over, or is older than `pendingMs`. It removes what belongs to
   * trees whose last task ended longer than `retentionMs` ago, or that are no longer kept; the walk over them goes on where the step before has stopped.
   * Then it answers what was removed, each with the blob that no other artifact refers to, for the caller to delete: nobody will refer to it again.
   * Until `artifactSwept` the same ones are answered again. What was given up is answered `pendingMs` after it was begun: until then somebody may
   * still be sending it.
   */
  artifactSweep(params: SweepQuery): Promise<Sweep>;
  /** Their bytes are gone: the rows go too. Under the epoch of the duty. */
  artifactSwept(params: { readonly duty: DutyTerm; readonly ids: readonly string[] }): Promise<void>;
  /** How much room all artifacts take: those that are under way included, and the bytes of what was given up and not yet swept. */
  artifactUsage(): Promise<ArtifactUsage>;
}

export interface NewArtifact extends Lease, Content, Quotas {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly kind: ArtifactKind;
  /** Nobody but their maker has checked the bytes: no other artifact shares them. */
  readonly own: boolean;
}

/**
 * `blob` is where its bytes belong: with those of another artifact that has the same ones, or under a key that nobody has had. `full`: there is no room,
 * and it was not begun.
 */
export type BeginAnswer =
  | { readonly kind: 'done'; readonly blob: string }
  | { readonly kind: 'lost' }
  | (Full & { readonly kind: 'full' });

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

/** Its task and attempt are the lease under which it may be sent. */
export type PendingArtifact = ArtifactRecord;

export interface ArtifactQuery {
  readonly tasks?: readonly number[] | undefined;
  readonly root?: number | undefined;
  readonly name?: string | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface SweepQuery {
  readonly duty: DutyTerm;
  readonly retentionMs: number;
  readonly pendingMs: number;
  readonly limit: number;
}

export interface Sweep {
  /** How many were marked as removed in this step. */
  readonly removed: number;
  /** Removed ones. `blob`: delete these bytes; undefined: others refer to them still. */
  readonly gone: readonly { readonly id: string; readonly blob: string | undefined }[];
  /** The walk over tasks has come to its end, and begins again with the next step. */
  readonly done: boolean;
}

export type ArtifactUsage = RoomTaken;
