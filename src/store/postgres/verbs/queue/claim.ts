import { type Allotment, allot, charge, type LimitCounter } from '../../../../core/limits/limit.ts';
import { PAYLOAD_APART } from '../../../codes.ts';
import { claimKey, OP_MS } from '../../../op-keys.ts';
import { type GrantRow, grantOf } from '../../../rows/grant-rows.ts';
import { type CounterRow, counterOf } from '../../../rows/limit-counter-rows.ts';
import type { ClaimAnswer, Grant, LaneAsk, LaneBlock, NamedUse, NewClaim } from '../../../store.ts';
import { numbers } from '../../arrays.ts';
import type { Session, Try } from '../../connect/database.ts';
import type { LaneCursor } from '../../lane-cursors.ts';
import type { LaneInfo, Lanes } from '../../lanes.ts';
import type { PostgresParts } from '../../parts.ts';
import { priorityOf } from '../../prio.ts';

export type ClaimRow = readonly [enabled: boolean, ...grant: GrantRow];

/** One claim. `note` names it, so that its grants are found again if its answer is lost. */
export async function claimTasks(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
  note: string,
  tried: Try,
): Promise<ClaimAnswer | undefined> {
  const before = tried.again ? await lostGrants(session, parts, note) : [];
  if (before.length > 0) return { grants: before, blocked: [] };
  if (request.op !== undefined) {
    const again = await earlierGrants(session, parts, request);
    if (again !== undefined) return again.length > 0 ? { grants: again, blocked: [] } : undefined;
  }
  const asks = request.task === undefined ? request.lanes : await laneOfTask(session, request.task, request.maxHeld);
  const room = await makeRoom(session, parts, { ...request, lanes: asks });
  const rows = await claimRows(session, parts, { ...request, lanes: room.lanes }, note);
  if (rows[0]?.[0] !== true) return undefined; // disabled, unknown, or changed since its lanes were chosen
  const granted = grantedOf(rows);
  await takeRoom(session, parts, room, granted);
  const grants = await grantsOf(session, parts, inClaimOrder(granted, asks));
  await rememberServer(session, parts, request.holder, grants);
  if (request.op !== undefined && grants.length > 0) {
    // An empty answer is not kept: the caller may be waiting for the first task, and asks again under the same id.
    const answer = JSON.stringify(grants.map((grant) => [grant.task, grant.attempt]));
    await session.rows('opPut', [claimKey(request), answer, OP_MS]);
  }
  const asked = new Map(room.lanes.map(({ lane, max }) => [lane, max]));
  const counts = countByLane(granted);
  const count = (lane: number): number => counts.get(lane) ?? 0;
  // A lane that had no more tasks is empty, not held back.
  const blocked = room.blocked.filter(({ lane }) => count(lane) === (asked.get(lane) ?? 0));
  const short = room.lanes.filter(({ lane, max, minAgeMs }) => minAgeMs !== undefined && count(lane) < max);
  return { grants, blocked: short.length === 0 ? blocked : [...blocked, ...(await leftToBetter(session, short))] };
}

/** For lanes whose tasks are all too young: when the first of them will be old enough. */
async function leftToBetter(session: Session, short: readonly LaneAsk[]): Promise<readonly LaneBlock[]> {
  const rows = await session.all<{ lane: number; ahead: number }>('laneHeads', [
    numbers(short.map(({ lane }) => lane)),
  ]);
  const ages = new Map(short.map(({ lane, minAgeMs = 0 }) => [lane, minAgeMs]));
  return rows.map(({ lane, ahead }) => ({
    lane,
    counter: 0,
    freesInMs: Math.max(1, ahead + (ages.get(lane) ?? 0)),
    left: 0,
  }));
}

/** Whether a claim needs a transaction, because it changes more than its tasks. */
export function needsTransaction({ lanes: known }: PostgresParts, { op, task, lanes }: NewClaim): boolean {
  if (op !== undefined || task !== undefined) return true;
  return lanes.some(({ lane, maxHeld }) => maxHeld !== undefined || known.isLimited(lane) !== false);
}

async function laneOfTask(session: Session, task: number, maxHeld: number | undefined): Promise<readonly LaneAsk[]> {
  const [row] = await session.all<{ lane: number }>('taskLane', [task]);
  return row === undefined ? [] : [{ lane: row.lane, max: 1, maxHeld }];
}

interface Room {
  /** What each lane may be asked for. */
  readonly lanes: readonly LaneAsk[];
  readonly blocked: readonly LaneBlock[];
  /** The counters of the limited lanes, locked. */
  readonly counters: ReadonlyMap<number, LimitCounter>;
  readonly now: number;
}

/** What limits and the holder's own bounds leave of the request. The counters are locked before any task is. */
async function makeRoom(session: Session, parts: PostgresParts, request: NewClaim): Promise<Room> {
  const { lanes: known } = parts;
  await known.need(
    session,
    request.lanes.map(({ lane }) => lane),
  );
  const blocked: LaneBlock[] = [];
  let { lanes } = request;
  if (lanes.some(({ maxHeld }) => maxHeld !== undefined)) lanes = await boundHeld(session, request, blocked);
  const usesOf = (lane: number): readonly NamedUse[] => known.known(lane)?.rules?.uses ?? [];
  const ids = [...new Set(lanes.flatMap(({ lane }) => usesOf(lane).map(({ counter }) => counter)))].sort(
    (a, b) => a - b,
  );
  if (ids.length === 0) return { lanes, blocked, counters: new Map(), now: 0 };
  const rows = await session.all<CounterRow & { readonly now: number; readonly plain: boolean }>('slotLock', [
    numbers(ids),
  ]);
  for (const { id, plain, paused_until: pausedUntil, now } of rows) {
    if (plain && pausedUntil <= now) parts.rated.delete(id);
  }
  const counters = new Map(rows.map((row) => [row.id, counterOf(row)]));
  const now = rows[0]?.now ?? 0;
  const allotted = allot(
    lanes.map(({ lane, max }) => ({ lane, max: Math.min(max, request.max), uses: usesOf(lane) })),
    counters,
    now,
  );
  for (const { lane, block } of allotted) if (block !== undefined) blocked.push({ lane, ...block });
  const open = lanes.map((ask, i) => ({ ...ask, max: (allotted[i] as Allotment).max })).filter(({ max }) => max > 0);
  return { lanes: open, blocked, counters, now };
}

/** Applies the holder's own bounds. Under the lock of its row no other claim counts for it. */
async function boundHeld(
  session: Session,
  { holder, lanes, max }: NewClaim,
  blocked: LaneBlock[],
): Promise<readonly LaneAsk[]> {
  await session.rows('workerLock', [holder]);
  const bound = lanes.filter(({ maxHeld }) => maxHeld !== undefined).map(({ lane }) => lane);
  const rows = await session.all<{ lane: number; n: number }>('heldLike', [holder, numbers(bound)]);
  const held = new Map(rows.map(({ lane, n }) => [lane, n]));
  return lanes.flatMap((ask) => {
    if (ask.maxHeld === undefined) return [ask];
    const left = ask.maxHeld - (held.get(ask.lane) ?? 0);
    if (left < Math.min(ask.max, max)) blocked.push({ lane: ask.lane, counter: 0, freesInMs: undefined, left: 0 });
    return left > 0 ? [{ ...ask, max: Math.min(ask.max, left) }] : [];
  });
}

/**
 * Tasks of one kind, of which a worker may have only so many, may be in several lanes because of their limits and keys.
 * Such lanes are claimed one after the other, so that each count of what the holder has includes the grants before.
 */
export function apart(lanes: Lanes, request: NewClaim): readonly NewClaim[] {
  const waves: LaneAsk[][] = [];
  const times = new Map<string, number>();
  for (const ask of request.lanes) {
    let wave = 0;
    if (ask.maxHeld !== undefined) {
      const kind = kindOf(lanes.known(ask.lane));
      wave = times.get(kind) ?? 0;
      times.set(kind, wave + 1);
    }
    (waves[wave] ??= []).push(ask);
  }
  return waves.length <= 1 ? [request] : waves.map((own) => ({ ...request, lanes: own }));
}

/** The kind that `heldLike` counts. */
function kindOf(lane: LaneInfo | undefined): string {
  return JSON.stringify([lane?.queue, lane?.handler, lane?.rules?.placement]);
}

export function countByLane(rows: readonly GrantRow[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const row of rows) counts.set(row[5], (counts.get(row[5]) ?? 0) + 1);
  return counts;
}

async function takeRoom(
  session: Session,
  { lanes }: PostgresParts,
  { counters, now }: Room,
  granted: readonly GrantRow[],
): Promise<void> {
  if (counters.size === 0) return;
  const taken = [...countByLane(granted)].map(([lane, count]) => ({
    uses: lanes.known(lane)?.rules?.uses ?? [],
    count,
  }));
  const changes = charge(taken, counters, now);
  if (changes.length === 0) return;
  await session.rows('slotTake', [
    numbers(changes.map(({ counter }) => counter)),
    numbers(changes.map(({ active }) => active)),
    numbers(changes.map(({ tat }) => tat)),
    numbers(changes.map(({ costTat }) => costTat)),
  ]);
}

/** The worker that serves a lane with an affinity is stored with the lane. */
async function rememberServer(
  session: Session,
  { lanes }: PostgresParts,
  holder: number,
  grants: readonly Grant[],
): Promise<void> {
  const affine = new Set(
    grants.map(({ lane }) => lane).filter((lane) => lanes.known(lane)?.rules?.placement.affinity !== undefined),
  );
  if (affine.size > 0) await session.rows('laneServed', [holder, numbers([...affine].sort((a, b) => a - b))]);
}

async function claimRows(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
  note: string,
): Promise<readonly ClaimRow[]> {
  const { holder, revision = null, ttlMs, task, lanes, token = null } = request;
  if (task !== undefined && lanes.length > 0) {
    return (await session.rows('claimTask', [holder, ttlMs, task, note, revision, token])) as readonly ClaimRow[];
  }
  const plain = lanes.filter(({ minAgeMs }) => minAgeMs === undefined);
  const rows = await claimLanes(session, parts, { ...request, lanes: plain }, note);
  const left = request.max - rows.filter(([, id]) => id !== null).length;
  if (plain.length === lanes.length || left <= 0 || rows[0]?.[0] !== true) return rows;
  const aged = lanes.filter(({ minAgeMs }) => minAgeMs !== undefined);
  return [...rows, ...(await claimAged(session, { ...request, max: left, lanes: aged }, note))];
}

async function claimAged(
  session: Session,
  { holder, revision, token, ttlMs, max, lanes }: NewClaim,
  note: string,
): Promise<readonly ClaimRow[]> {
  const values = [
    holder,
    ttlMs,
    max,
    numbers(lanes.map(({ lane }) => lane)),
    numbers(lanes.map((one) => Math.min(one.max, max))),
    numbers(lanes.map(({ minAgeMs }) => minAgeMs)),
    note,
    revision ?? null,
    token ?? null,
  ];
  return (await session.rows('claimAged', values)) as readonly ClaimRow[];
}

async function claimLanes(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
  note: string,
): Promise<readonly ClaimRow[]> {
  const { cursors, world } = parts;
  const from = request.lanes.map(({ lane }) => cursors.of(lane));
  const began = world.clock.monotonic();
  const rows = (await session.rows('claim', laneValues(request, from, note))) as readonly ClaimRow[];
  learnCursors(parts, from, grantedOf(rows), world.clock.monotonic() - began);
  return rows;
}

/** The first parameters of a claim from lanes. */
export function laneValues(
  { holder, revision, token, ttlMs, max, lanes }: NewClaim,
  from: readonly LaneCursor[],
  note: string,
): readonly unknown[] {
  return [
    holder,
    ttlMs,
    max,
    numbers(lanes.map(({ lane }) => lane)),
    numbers(lanes.map((one) => Math.min(one.max, max))),
    numbers(from.map(({ prio }) => prio)),
    numbers(from.map(({ id }) => id)),
    note,
    revision ?? null,
    token ?? null,
  ];
}

export function learnCursors(
  { cursors }: PostgresParts,
  from: readonly LaneCursor[],
  granted: readonly GrantRow[],
  tookMs: number,
): void {
  if (from.every(({ id }) => id === 0)) cursors.took(tookMs);
  for (const [id, , , , , lane, , prio] of granted) cursors.came(lane, { prio, id });
}

const grantedOf = (rows: readonly ClaimRow[]): readonly GrantRow[] =>
  rows.flatMap(([, ...grant]) => (grant[0] === null ? [] : [grant]));

/** In the order of the lanes, and within a lane in claim order: RETURNING guarantees none. */
export function inClaimOrder(rows: readonly GrantRow[], lanes: readonly LaneAsk[]): readonly GrantRow[] {
  const place = new Map(lanes.map(({ lane }, i) => [lane, i]));
  const placeOf = (row: GrantRow): number => place.get(row[5]) ?? 0;
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b) || a[7] - b[7] || a[0] - b[0]);
}

export async function grantsOf(
  session: Session,
  { lanes }: PostgresParts,
  rows: readonly GrantRow[],
): Promise<readonly Grant[]> {
  await lanes.need(
    session,
    rows.map((row) => row[5]),
  );
  const apart = rows.filter((row) => row[8] & PAYLOAD_APART).map(([id]) => id);
  const bodies =
    apart.length === 0
      ? new Map<number, string>()
      : new Map((await session.rows('bodies', [numbers(apart), 0])) as readonly (readonly [number, string])[]);
  return rows.map((row) => {
    const [task, , , , , lane, , prio, , , , payload] = row;
    const { queue = '', handler = '' } = lanes.known(lane) ?? {};
    return grantOf(row, queue, handler, priorityOf(prio), payload ?? bodies.get(task) ?? 'null');
  });
}

/** In the order in which they were granted. */
async function readGrants(
  session: Session,
  parts: PostgresParts,
  pairs: readonly (readonly [number, number])[],
): Promise<readonly Grant[]> {
  const values = [numbers(pairs.map(([task]) => task)), numbers(pairs.map(([, attempt]) => attempt))];
  const rows = (await session.rows('claimAgain', values)) as unknown as readonly GrantRow[];
  const place = new Map(pairs.map(([task], i) => [task, i]));
  const placeOf = ([task]: GrantRow): number => place.get(task) ?? 0;
  return grantsOf(
    session,
    parts,
    rows.toSorted((a, b) => placeOf(a) - placeOf(b)),
  );
}

/** The grants of a claim whose answer was lost. */
export async function lostGrants(session: Session, parts: PostgresParts, note: string): Promise<readonly Grant[]> {
  const rows = await session.all<{ ids: readonly number[]; attempts: readonly number[] }>('claimed', [note]);
  const pairs = rows.flatMap(({ ids, attempts }) =>
    ids.map((id, i): readonly [number, number] => [id, (attempts[i] ?? attempts[0]) as number]),
  );
  return pairs.length === 0 ? [] : readGrants(session, parts, pairs);
}

/** The earlier grants of this operation id that still hold. */
async function earlierGrants(
  session: Session,
  parts: PostgresParts,
  request: NewClaim,
): Promise<readonly Grant[] | undefined> {
  const [row] = await session.all<{ answer: string }>('opFind', [`{"${claimKey(request).replace(/[\\"]/g, '\\$&')}"}`]);
  if (row === undefined) return undefined;
  return readGrants(session, parts, JSON.parse(row.answer) as [number, number][]);
}
