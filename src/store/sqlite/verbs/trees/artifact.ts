import { ARTIFACT_KINDS } from '../../../../core/artifact/artifact-content.ts';
import { fullFor, type RoomTaken } from '../../../../core/artifact/artifact-room.ts';
import { MAX_ID } from '../../../../core/ids.ts';
import type { Lease } from '../../../../core/task/lease.ts';
import {
  ALL,
  type ArtifactRow,
  artifactOf,
  blobFor,
  GIVEN_UP_ROOM,
  givenUpOf,
  inAll,
  type RoomRow,
  roomOf,
  WHOLE,
} from '../../../rows/artifact-rows.ts';
import type { ArtifactQuery, ArtifactRecord, BeginAnswer, NewArtifact, PendingArtifact } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

interface Looked extends Lease {
  readonly n: number;
  readonly state: number;
  readonly name: string;
  readonly blob: string;
}

/** Reads hold for the writes that follow them: this transaction is the only writer. */
export function beginArtifact(tx: Transaction, item: NewArtifact): BeginAnswer {
  const { sql } = tx;
  const { id, task, attempt, name, type, kind, size, sha256, own } = item;
  const root = rootOfRunning(tx, item);
  if (root === undefined) return { kind: 'lost' };
  const there = sql.get('artifactLook').get(id) as Looked | undefined;
  if (there !== undefined) return { kind: 'done', blob: there.blob };
  freeRoom(sql, sql.get('artifactGiveUp').all(task, attempt) as unknown as RoomRow[]);
  const full = fullFor(size, { task: roomTaken(sql, { root, task }), all: allRoom(sql) }, item);
  if (full !== undefined) return { kind: 'full', ...full };
  const shared = sql.get('artifactShared').get(sha256, size) as { blob: string } | undefined;
  const blob = blobFor(item, shared?.blob);
  const position = ARTIFACT_KINDS.indexOf(kind);
  sql.get('artifactAdd').run(id, task, root, attempt, name, type, position, size, sha256, own ? 1 : 0, blob, tx.now);
  for (const { root: r, task: t, entries, bytes } of roomOf([{ root, task, size }])) {
    sql.get('artifactTake').run(r, t, entries, bytes);
  }
  return { kind: 'done', blob };
}

export function endArtifact(tx: Transaction, item: Lease & { readonly id: string }): 'done' | 'lost' | 'unknown' {
  const { sql } = tx;
  if (rootOfRunning(tx, item) === undefined) return 'lost';
  const begun = sql.get('artifactLook').get(item.id) as Looked | undefined;
  if (begun === undefined || begun.task !== item.task || begun.attempt !== item.attempt) return 'unknown';
  if (begun.state === WHOLE) return 'done';
  if (begun.state > WHOLE) return 'unknown';
  freeRoom(sql, sql.get('artifactReplace').all(begun.task, begun.name) as unknown as RoomRow[]);
  sql.get('artifactWhole').run(begun.n);
  return 'done';
}

function rootOfRunning({ sql }: Transaction, { task, attempt }: Lease): number | undefined {
  return (sql.get('artifactFence').get(task, attempt) as { root: number } | undefined)?.root;
}

export function getArtifacts(sql: Prepared, ids: readonly string[]): readonly ArtifactRecord[] {
  return (sql.get('artifactGet').all(JSON.stringify(ids)) as unknown as ArtifactRow[]).map(artifactOf);
}

export function pendingArtifact(sql: Prepared, id: string): PendingArtifact | undefined {
  const row = sql.get('artifactPending').get(id) as ArtifactRow | undefined;
  return row && artifactOf(row);
}

export function listArtifacts(sql: Prepared, query: ArtifactQuery): readonly ArtifactRecord[] {
  return (rowsOf(sql, query) as unknown as ArtifactRow[]).map(artifactOf);
}

function rowsOf(sql: Prepared, { tasks, root, name, before = MAX_ID, limit }: ArtifactQuery): readonly unknown[] {
  const [only, ...more] = tasks ?? [];
  if (only !== undefined && more.length === 0 && name !== undefined) {
    const rows = sql.get('artifactNamed').all(only, name) as unknown as ArtifactRow[];
    return rows.filter((row) => row.n < before && (root === undefined || row.root === root));
  }
  const bounds = [before, name ?? null, limit] as const;
  if (tasks !== undefined) return sql.get('artifactsOfTasks').all(...bounds, root ?? null, JSON.stringify(tasks));
  return root === undefined ? sql.get('artifactsAll').all(...bounds) : sql.get('artifactsOfTree').all(...bounds, root);
}

export function removeArtifacts({ sql }: Transaction, ids: readonly string[]): number {
  const rows = sql.get('artifactRemove').all(JSON.stringify(ids)) as unknown as RoomRow[];
  freeRoom(sql, rows);
  return rows.length;
}

export function roomTaken(sql: Prepared, { root, task }: Omit<RoomRow, 'size'>): RoomTaken {
  const { entries = 0, bytes = 0 } = (sql.get('artifactRoom').get(root, task) ?? {}) as Partial<RoomTaken>;
  return { entries, bytes };
}

export function allRoom(sql: Prepared): RoomTaken {
  return inAll(roomTaken(sql, ALL), roomTaken(sql, GIVEN_UP_ROOM));
}

/** The bytes of these are deleted. */
export function sweptRoom(sql: Prepared, rows: readonly RoomRow[]): void {
  const { root, task } = GIVEN_UP_ROOM;
  const { entries, bytes } = givenUpOf(rows);
  if (entries === 0) return;
  sql.get('artifactFree').run(root, task, entries, bytes);
  sql.get('artifactEmpty').run(root, task);
}

/** Rows that have just been removed or given up. */
export function freeRoom(sql: Prepared, rows: readonly RoomRow[]): void {
  for (const { root, task, entries, bytes } of roomOf(rows)) {
    sql.get('artifactFree').run(root, task, entries, bytes);
    sql.get('artifactEmpty').run(root, task);
  }
  const { entries, bytes } = givenUpOf(rows);
  if (entries > 0) sql.get('artifactTake').run(GIVEN_UP_ROOM.root, GIVEN_UP_ROOM.task, entries, bytes);
}
