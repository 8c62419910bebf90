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
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

interface Looked extends Lease {
  readonly n: number;
  readonly state: number;
  readonly name: string;
  readonly blob: string;
}

/** In a transaction. May be repeated: the row of an earlier try is found by its id. */
export async function beginArtifact(session: Session, item: NewArtifact): Promise<BeginAnswer> {
  const { id, task, attempt, name, type, kind, size, sha256, own } = item;
  await lockRoom(session);
  const root = await rootOfRunning(session, item);
  if (root === undefined) return { kind: 'lost' };
  const [there] = await session.all<Looked>('artifactLook', [id]);
  if (there !== undefined) return { kind: 'done', blob: there.blob };
  await freeRoom(session, await session.all<RoomRow>('artifactGiveUp', [task, attempt]));
  const taken = { task: await roomTaken(session, { root, task }), all: await allRoom(session) };
  const full = fullFor(size, taken, item);
  if (full !== undefined) return { kind: 'full', ...full };
  const [shared] = await session.all<{ blob: string }>('artifactShared', [sha256, size]);
  const blob = blobFor(item, shared?.blob);
  const position = ARTIFACT_KINDS.indexOf(kind);
  await session.rows('artifactAdd', [id, task, root, attempt, name, type, position, size, sha256, own, blob]);
  for (const { root: r, task: t, entries, bytes } of roomOf([{ root, task, size }])) {
    await session.rows('artifactTake', [r, t, entries, bytes]);
  }
  return { kind: 'done', blob };
}

/** In a transaction. */
export async function endArtifact(
  session: Session,
  item: Lease & { readonly id: string },
): Promise<'done' | 'lost' | 'unknown'> {
  await lockRoom(session);
  if ((await rootOfRunning(session, item)) === undefined) return 'lost';
  const [begun] = await session.all<Looked>('artifactLook', [item.id]);
  if (begun === undefined || begun.task !== item.task || begun.attempt !== item.attempt) return 'unknown';
  if (begun.state === WHOLE) return 'done';
  if (begun.state > WHOLE) return 'unknown';
  await freeRoom(session, await session.all<RoomRow>('artifactReplace', [begun.task, begun.name]));
  await session.rows('artifactWhole', [begun.n]);
  return 'done';
}

async function rootOfRunning(session: Session, { task, attempt }: Lease): Promise<number | undefined> {
  return (await session.all<{ root: number }>('artifactFence', [task, attempt]))[0]?.root;
}

export async function getArtifacts(session: Session, ids: readonly string[]): Promise<readonly ArtifactRecord[]> {
  return (await session.all<ArtifactRow>('artifactGet', [texts(ids)])).map(artifactOf);
}

export async function pendingArtifact(session: Session, id: string): Promise<PendingArtifact | undefined> {
  const [row] = await session.all<ArtifactRow>('artifactPending', [id]);
  return row && artifactOf(row);
}

export async function listArtifacts(session: Session, query: ArtifactQuery): Promise<readonly ArtifactRecord[]> {
  return (await rowsOf(session, query)).map(artifactOf);
}

async function rowsOf(
  session: Session,
  { tasks, root, name, before = MAX_ID, limit }: ArtifactQuery,
): Promise<readonly ArtifactRow[]> {
  const [only, ...more] = tasks ?? [];
  if (only !== undefined && more.length === 0 && name !== undefined) {
    const rows = await session.all<ArtifactRow>('artifactNamed', [only, name]);
    return rows.filter((row) => row.n < before && (root === undefined || row.root === root));
  }
  const bounds = [before, name ?? null, limit] as const;
  if (tasks !== undefined) return session.all('artifactsOfTasks', [...bounds, root ?? null, numbers(tasks)]);
  return root === undefined ? session.all('artifactsAll', bounds) : session.all('artifactsOfTree', [...bounds, root]);
}

/** In a transaction. */
export async function removeArtifacts(session: Session, ids: readonly string[]): Promise<number> {
  await lockRoom(session);
  const rows = await session.all<RoomRow>('artifactRemove', [texts(ids)]);
  await freeRoom(session, rows);
  return rows.length;
}

/** In a statement of its own, so that those after it see what the others have committed. */
export async function lockRoom(session: Session): Promise<void> {
  await session.rows('artifactLock', []);
}

export async function roomTaken(session: Session, { root, task }: Omit<RoomRow, 'size'>): Promise<RoomTaken> {
  const [room] = await session.all<RoomTaken>('artifactRoom', [root, task]);
  return room ?? { entries: 0, bytes: 0 };
}

export async function allRoom(session: Session): Promise<RoomTaken> {
  return inAll(await roomTaken(session, ALL), await roomTaken(session, GIVEN_UP_ROOM));
}

/** The bytes of these are deleted. */
export async function sweptRoom(session: Session, rows: readonly RoomRow[]): Promise<void> {
  const { root, task } = GIVEN_UP_ROOM;
  const { entries, bytes } = givenUpOf(rows);
  if (entries === 0) return;
  await session.rows('artifactFree', [root, task, entries, bytes]);
  await session.rows('artifactEmpty', [root, task]);
}

/** Rows that have just been removed or given up. */
export async function freeRoom(session: Session, rows: readonly RoomRow[]): Promise<void> {
  for (const { root, task, entries, bytes } of roomOf(rows)) {
    await session.rows('artifactFree', [root, task, entries, bytes]);
    if (task !== ALL.task) await session.rows('artifactEmpty', [root, task]);
  }
  const { root, task } = GIVEN_UP_ROOM;
  const { entries, bytes } = givenUpOf(rows);
  if (entries > 0) await session.rows('artifactTake', [root, task, entries, bytes]);
}
