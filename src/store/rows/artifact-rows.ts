import { ARTIFACT_KINDS } from '../../core/artifact/artifact-content.ts';
import type { RoomTaken } from '../../core/artifact/artifact-room.ts';
import { blobKey } from '../../core/artifact/blob-key.ts';
import type { ArtifactRecord, NewArtifact, Sweep } from '../port/artifact-store.ts';

/**
 * Artifacts from rows whose columns have the same names in every store. `state`: 0 begun, 1 whole, 2 removed, 3 given up. Bytes are referred to by what is
 * begun or whole; what is removed or given up waits for the sweep.
 */
export const WHOLE = 1;
export const REMOVED = 2;
export const GIVEN_UP = 3;

export interface ArtifactRow {
  readonly n: number;
  readonly id: string;
  readonly task: number;
  readonly root: number;
  readonly attempt: number;
  readonly name: string;
  readonly type: string;
  readonly kind: number;
  readonly size: number;
  readonly sha256: string;
  readonly blob: string;
  readonly created_at: number;
}

export const ARTIFACT = 'n, id, task, root, attempt, name, type, kind, size, sha256, blob, created_at';

export function artifactOf(row: ArtifactRow): ArtifactRecord {
  const { n, id, task, root, attempt, name, type, kind, size, sha256, blob, created_at: createdAt } = row;
  const said = ARTIFACT_KINDS[kind] ?? 'file';
  return { n, id, task, root, attempt, name, type, kind: said, size, sha256, blob, createdAt };
}

/** Where the bytes go: `shared` is the blob of a live artifact that has the same ones. */
export function blobFor({ sha256, id, own }: NewArtifact, shared: string | undefined): string {
  return own || shared === undefined ? blobKey(sha256, id) : shared;
}

/** What an artifact takes or gives back, in the room of its task. */
export interface RoomRow {
  readonly root: number;
  readonly task: number;
  readonly size: number;
  /** As it is now; undefined: nobody asks. */
  readonly state?: number | undefined;
}

/** The room of all tasks together has these for its root and its task. */
export const ALL = { root: 0, task: 0 } as const;
/** What was given up and whose bytes may still lie there: nobody's artifacts, but room all the same, until the sweep has deleted them. */
export const GIVEN_UP_ROOM = { root: 0, task: -1 } as const;

/** What of these rows was given up. */
export function givenUpOf(rows: readonly RoomRow[]): RoomTaken {
  const left = rows.filter(({ state }) => state === GIVEN_UP);
  return { entries: left.length, bytes: left.reduce((sum, { size }) => sum + size, 0) };
}

/** What all artifacts take, with the bytes of those that were given up. */
export function inAll(all: RoomTaken, givenUp: RoomTaken): RoomTaken {
  return { entries: all.entries, bytes: all.bytes + givenUp.bytes };
}

/** What these rows take, by task and in all. In the order in which their rows are locked. */
export function roomOf(rows: readonly RoomRow[]): readonly (RoomTaken & Omit<RoomRow, 'size'>)[] {
  const sums = new Map<string, RoomTaken & Omit<RoomRow, 'size'>>();
  for (const { root, task, size } of rows) {
    for (const place of [ALL, { root, task }]) {
      const key = `${place.root}/${place.task}`;
      const { entries = 0, bytes = 0 } = sums.get(key) ?? {};
      sums.set(key, { root: place.root, task: place.task, entries: entries + 1, bytes: bytes + size });
    }
  }
  return [...sums.values()].sort((a, b) => a.root - b.root || a.task - b.task);
}

export interface GoneRow {
  readonly id: string;
  readonly blob: string;
  /** Whether a live artifact refers to its bytes. */
  readonly used: number | boolean;
}

export function goneOf(rows: readonly GoneRow[]): Sweep['gone'] {
  return rows.map(({ id, blob, used }) => ({ id, blob: used ? undefined : blob }));
}
