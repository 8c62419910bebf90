import { SUSPECT } from '../../codes.ts';
import type { ClaimRequest, Grant } from '../../store.ts';
import { payloadOf } from '../body.ts';
import type { LaneInfo, Transaction } from '../transaction.ts';
import { OP_MS } from './push.ts';

/** The columns of `GRANT` in statements.ts. Rows come as arrays here: an object per row costs 0.7 µs a task. */
type GrantRow = readonly [
  id: number,
  attempt: number,
  tries: number,
  maxTries: number,
  bounces: number,
  lane: number,
  spec: number,
  prio: number,
  flags: number,
  createdAt: number,
  leaseUntil: number,
  payload: string | null,
];

/** From here on one UPDATE over a subselect beats a look and single updates. */
const MANY = 8;

/** Of this worker: two that chose the same id must not share a grant. */
const opKey = (request: ClaimRequest): string => `claim:${request.holder}:${request.op}`;

export function claimTasks(tx: Transaction, request: ClaimRequest): readonly Grant[] | undefined {
  const again = request.op === undefined ? undefined : earlierGrants(tx, request);
  if (again !== undefined) return again.length > 0 ? again : undefined;
  const worker = tx.sql.get('workerEnabled').get(request.holder) as { enabled: number } | undefined;
  if (worker?.enabled !== 1) return undefined;
  const grants: Grant[] = [];
  for (const { lane, max } of request.task === undefined ? request.lanes : laneOfTask(tx, request.task)) {
    const left = Math.min(max, request.max - grants.length);
    if (left <= 0) break;
    const info = tx.laneOf(lane);
    for (const row of claimLane(tx, request, lane, left)) {
      const grant = grantOf(tx, row, info);
      tx.ledger.note(info.queue, 'claimed', 'ready', 'running', grant.task, grant.attempt, grant.createdAt);
      grants.push(grant);
    }
  }
  // Nothing found is no answer to keep: the caller may be waiting for the first task, and asks again under the same id.
  if (request.op !== undefined && grants.length > 0) {
    const answer = JSON.stringify(grants.map((g) => [g.task, g.attempt]));
    tx.sql.get('opPut').run(opKey(request), answer, tx.now + OP_MS);
  }
  return grants;
}

/** The lane of a task that can be claimed by its number. */
function laneOfTask(tx: Transaction, task: number): ClaimRequest['lanes'] {
  const row = tx.sql.get('claimTask').get(task) as { lane: number } | undefined;
  return row === undefined ? [] : [{ lane: row.lane, max: 1 }];
}

function claimLane(tx: Transaction, request: ClaimRequest, lane: number, max: number): readonly GrantRow[] {
  const until = tx.leaseNow + request.ttlMs;
  if (request.task !== undefined) {
    return [tx.sql.rows('claimOne').get(request.holder, until, tx.now, request.task) as unknown as GrantRow];
  }
  if (max >= MANY) {
    const rows = tx.sql.rows('claimMany').all(request.holder, until, tx.now, lane, max) as unknown as GrantRow[];
    return inClaimOrder(rows);
  }
  const one = tx.sql.rows('claimOne');
  return (tx.sql.get('claimLook').all(lane, max) as unknown as { id: number }[]).map(
    ({ id }) => one.get(request.holder, until, tx.now, id) as unknown as GrantRow,
  );
}

/** RETURNING promises no order, though mostly it is the right one. */
function inClaimOrder(rows: GrantRow[]): readonly GrantRow[] {
  const before = ([a, , , , , , , prioA]: GrantRow, [b, , , , , , , prioB]: GrantRow): number => prioA - prioB || a - b;
  return rows.every((row, i) => i === 0 || before(rows[i - 1] as GrantRow, row) < 0) ? rows : rows.sort(before);
}

/** The grants of an earlier call whose answer was lost, as far as they still hold. */
function earlierGrants(tx: Transaction, request: ClaimRequest): readonly Grant[] | undefined {
  const row = tx.sql.get('opFind').get(opKey(request), tx.now) as { answer: string } | undefined;
  if (row === undefined) return undefined;
  const pairs = JSON.parse(row.answer) as [number, number][];
  return pairs.flatMap(([task, attempt]) => {
    const held = tx.sql.rows('claimAgain').get(task, attempt) as GrantRow | undefined;
    return held === undefined ? [] : [grantOf(tx, held, tx.laneOf(held[5]))];
  });
}

function grantOf(tx: Transaction, row: GrantRow, info: LaneInfo): Grant {
  const [task, attempt, tries, maxTries, bounces, lane, spec, prio, flags, createdAt, leaseUntil, payload] = row;
  return {
    task,
    attempt,
    queue: info.queueName,
    handler: info.handler,
    lane,
    spec,
    priority: 0 - prio,
    tries,
    maxTries,
    bounces,
    createdAt,
    leaseUntil,
    payload: payloadOf(tx.sql, task, flags, payload),
    suspect: (flags & SUSPECT) !== 0,
  };
}
