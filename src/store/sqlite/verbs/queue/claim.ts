import { fault } from '../../../../core/errors.ts';
import { allot, charge } from '../../../../core/limits/limit.ts';
import { DRAINING } from '../../../codes.ts';
import { claimKey, OP_MS } from '../../../op-keys.ts';
import { type GrantRow, grantOf } from '../../../rows/grant-rows.ts';
import type { ClaimAnswer, Grant, LaneAsk, LaneBlock, NewClaim } from '../../../store.ts';
import { payloadOf } from '../../body.ts';
import type { LaneInfo, Transaction } from '../../file/transaction.ts';
import { isTokenAlive } from '../admin/token.ts';

/** Shorter runs of numbers are written with others in one list. */
const MIN_RUN = 8;

/** How many times as many tasks are read to find old enough ones. */
const AGED_LOOK = 4;

export function claimTasks(tx: Transaction, request: NewClaim): ClaimAnswer | undefined {
  const again = request.op === undefined ? undefined : earlierGrants(tx, request);
  if (again !== undefined) return again.length > 0 ? { grants: again, blocked: [] } : undefined;
  if (!mayClaim(tx, request)) return undefined;
  const grants: Grant[] = [];
  const blocked: LaneBlock[] = [];
  const writer = new ClaimWriter(tx, request);
  for (const ask of request.task === undefined ? request.lanes : laneOfTask(tx, request.task, request.maxHeld)) {
    const wish = Math.min(ask.max, request.max - grants.length);
    if (wish <= 0) break;
    // What this claim took so far counts.
    if (ask.maxHeld !== undefined) writer.flush();
    const left = Math.min(wish, mayHold(tx, request.holder, ask));
    if (left < wish) blocked.push({ lane: ask.lane, counter: 0, freesInMs: undefined, left: 0 });
    if (left <= 0) continue;
    const info = tx.laneOf(ask.lane);
    const rows =
      info.uses.length === 0
        ? claimLane(tx, request, ask, left, writer)
        : claimLimited(tx, request, { ...ask, max: left }, info, blocked, writer);
    if (rows.length < left) leaveToBetter(tx, ask, blocked);
    for (const row of rows) {
      const grant = readGrant(tx, row, info);
      tx.ledger.note(info.queue, 'claimed', 'ready', 'running', grant.task, grant.attempt, grant.createdAt);
      grants.push(grant);
    }
    if (info.affine && rows.length > 0) tx.sql.get('laneServed').run(request.holder, ask.lane);
  }
  writer.flush();
  // An empty answer is not kept: the caller may be waiting for the first task, and asks again under the same id.
  if (request.op !== undefined && grants.length > 0) {
    const answer = JSON.stringify(grants.map((g) => [g.task, g.attempt]));
    tx.sql.get('opPut').run(claimKey(request), answer, tx.now + OP_MS);
  }
  return { grants, blocked };
}

/** The worker is known, enabled and not draining, and its revision and token are still those of the claim. */
function mayClaim(tx: Transaction, { holder, revision, token }: NewClaim): boolean {
  const worker = tx.sql.get('workerEnabled').get(holder) as
    | { enabled: number; state: number; revision: number }
    | undefined;
  if (worker?.enabled !== 1 || worker.state === DRAINING) return false;
  if (token !== undefined && !isTokenAlive(tx.sql, token, tx.now)) return false;
  return revision === undefined || worker.revision === revision;
}

/** For a lane whose tasks are all too young: when the first of them will be old enough. */
function leaveToBetter(tx: Transaction, { lane, minAgeMs }: LaneAsk, blocked: LaneBlock[]): void {
  if (minAgeMs === undefined || blocked.some((block) => block.lane === lane)) return;
  const head = tx.sql.get('laneHead').get(lane) as { since: number } | undefined;
  if (head !== undefined)
    blocked.push({
      lane,
      counter: 0,
      freesInMs: Math.max(1, Math.min(head.since, tx.now) + minAgeMs - tx.now),
      left: 0,
    });
}

/** How many more tasks like these the holder may have. */
function mayHold(tx: Transaction, holder: number, { lane, maxHeld }: LaneAsk): number {
  if (maxHeld === undefined) return Number.POSITIVE_INFINITY;
  return maxHeld - (tx.sql.get('heldLike').get(lane, holder) as { n: number }).n;
}

/** As many as its limits have room for. What is granted is taken from the counters in the same transaction. */
function claimLimited(
  tx: Transaction,
  request: NewClaim,
  ask: LaneAsk,
  { uses }: LaneInfo,
  blocked: LaneBlock[],
  writer: ClaimWriter,
): readonly GrantRow[] {
  const { lane, max } = ask;
  const counters = tx.counters.read(
    tx.sql,
    uses.map(({ counter }) => counter),
  );
  // In lease time, like everything that a limit waits for: that clock cannot be set back.
  const [allotted] = allot([{ lane, max, uses }], counters, tx.leaseNow);
  const { max: most, block } = allotted as NonNullable<typeof allotted>;
  const rows = most === 0 ? [] : claimLane(tx, request, ask, most, writer);
  tx.counters.take(tx.sql, charge([{ uses, count: rows.length }], counters, tx.leaseNow));
  // A lane that had no more tasks is empty, not held back.
  if (block !== undefined && rows.length === most) blocked.push({ lane, ...block });
  return rows;
}

/** The lane of a task that can be claimed by its number. */
function laneOfTask(tx: Transaction, task: number, maxHeld: number | undefined): NewClaim['lanes'] {
  const row = tx.sql.get('claimTask').get(task) as { lane: number } | undefined;
  return row === undefined ? [] : [{ lane: row.lane, max: 1, maxHeld }];
}

function claimLane(
  tx: Transaction,
  request: NewClaim,
  { lane, minAgeMs }: LaneAsk,
  max: number,
  writer: ClaimWriter,
): readonly GrantRow[] {
  const { holder, task, ttlMs } = request;
  const until = tx.leaseNow + ttlMs;
  const one = (id: number): GrantRow => tx.sql.rows('claimOne').get(holder, until, tx.now, id) as unknown as GrantRow;
  if (task !== undefined) return [one(task)];
  if (minAgeMs !== undefined) {
    const found = tx.sql.get('claimAged').all(lane, max * AGED_LOOK, tx.now - minAgeMs, tx.now, max);
    return (found as unknown as { id: number }[]).map(({ id }) => one(id));
  }
  return writer.take(lane, max);
}

/**
 * Writes what a claim has read: nobody else writes in this transaction, so what was read is what is changed. Tasks of many lanes are one
 * write, as those of one lane are.
 */
class ClaimWriter {
  readonly #tx: Transaction;
  readonly #request: NewClaim;
  readonly #lanes = new Set<number>();
  #read: GrantRow[] = [];

  constructor(tx: Transaction, request: NewClaim) {
    this.#tx = tx;
    this.#request = request;
  }

  /** Rows of the lane as they will be. */
  take(lane: number, max: number): readonly GrantRow[] {
    // A lane that is named twice must not be read twice before it is written.
    if (this.#lanes.has(lane)) this.flush();
    this.#lanes.add(lane);
    const rows = this.#tx.sql.rows('claimRead').all(lane, max) as unknown as Writable<GrantRow>[];
    const until = this.#tx.leaseNow + this.#request.ttlMs;
    for (const row of rows) {
      row[1]++;
      row[2]++;
      row[10] = until;
      this.#read.push(row);
    }
    return rows;
  }

  flush(): void {
    const read = this.#read;
    if (read.length === 0) return;
    this.#read = [];
    this.#lanes.clear();
    const ids = read.map(([id]) => id).sort((a, b) => a - b);
    const { sql, now, leaseNow } = this.#tx;
    const values = [this.#request.holder, leaseNow + this.#request.ttlMs, now] as const;
    const single: number[] = [];
    let changed = 0;
    for (let from = 0, i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      if (ids[i + 1] === id + 1) continue;
      if (i + 1 - from < MIN_RUN) single.push(...ids.slice(from, i + 1));
      else changed += Number(sql.get('claimRun').run(...values, ids[from] as number, id).changes);
      from = i + 1;
    }
    if (single.length > 0) changed += Number(sql.get('claimList').run(...values, JSON.stringify(single)).changes);
    if (changed !== read.length) throw fault('INTERNAL', { problem: 'a claim changed other tasks than it had read' });
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The grants of an earlier call whose answer was lost, if they still hold. */
function earlierGrants(tx: Transaction, request: NewClaim): readonly Grant[] | undefined {
  const row = tx.sql.get('opFind').get(claimKey(request), tx.now) as { answer: string } | undefined;
  if (row === undefined) return undefined;
  const pairs = JSON.parse(row.answer) as [number, number][];
  return pairs.flatMap(([task, attempt]) => {
    const held = tx.sql.rows('claimAgain').get(task, attempt) as GrantRow | undefined;
    return held === undefined ? [] : [readGrant(tx, held, tx.laneOf(held[5]))];
  });
}

function readGrant(tx: Transaction, row: GrantRow, { queueName, handler }: LaneInfo): Grant {
  return grantOf(row, queueName, handler, 0 - row[7], payloadOf(tx.sql, row[0], row[8], row[11]));
}
