import type { ClaimRequest, Grant } from '../../store.ts';
import { payloadOf } from '../body.ts';
import type { LaneInfo, Transaction } from '../transaction.ts';
import { OP_MS } from './push.ts';

interface GrantRow {
  readonly id: number;
  readonly attempt: number;
  readonly tries: number;
  readonly max_tries: number;
  readonly bounces: number;
  readonly lane: number;
  readonly spec: number;
  readonly prio: number;
  readonly flags: number;
  readonly created_at: number;
  readonly lease_until: number;
  readonly payload: string | null;
}

/** From here on one UPDATE over a subselect beats a look and single updates. */
const MANY = 8;

const opKey = (op: string): string => `claim:${op}`;

export function claimTasks(tx: Transaction, request: ClaimRequest): readonly Grant[] {
  const again = request.op === undefined ? undefined : earlierGrants(tx, request.op);
  if (again !== undefined) return again;
  const worker = tx.sql.get('workerEnabled').get(request.holder) as { enabled: number } | undefined;
  if (worker?.enabled !== 1) return [];
  const grants: Grant[] = [];
  for (const { lane, max } of request.lanes) {
    const left = Math.min(max, request.max - grants.length);
    if (left <= 0) break;
    const info = tx.laneOf(lane);
    for (const row of claimLane(tx, request, lane, left)) {
      tx.ledger.note(info.queue, 'claimed', 'ready', 'running', row.id, row.attempt, row.created_at);
      grants.push(grantOf(tx, row, info));
    }
  }
  // Nothing found is no answer to keep: the caller may be waiting for the first task, and asks again under the same id.
  if (request.op !== undefined && grants.length > 0) {
    const answer = JSON.stringify(grants.map((g) => [g.task, g.attempt]));
    tx.sql.get('opPut').run(opKey(request.op), answer, tx.now + OP_MS);
  }
  return grants;
}

function claimLane(tx: Transaction, request: ClaimRequest, lane: number, max: number): readonly GrantRow[] {
  const until = tx.leaseNow + request.ttlMs;
  if (max >= MANY) {
    const rows = tx.sql.get('claimMany').all(request.holder, until, tx.now, lane, max) as unknown as GrantRow[];
    return rows.sort((a, b) => a.prio - b.prio || a.id - b.id); // RETURNING promises no order
  }
  const one = tx.sql.get('claimOne');
  return (tx.sql.get('claimLook').all(lane, max) as unknown as { id: number }[]).map(
    ({ id }) => one.get(request.holder, until, tx.now, id) as unknown as GrantRow,
  );
}

/** The grants of an earlier call whose answer was lost, as far as they still hold. */
function earlierGrants(tx: Transaction, op: string): readonly Grant[] | undefined {
  const row = tx.sql.get('opFind').get(opKey(op), tx.now) as { answer: string } | undefined;
  if (row === undefined) return undefined;
  const pairs = JSON.parse(row.answer) as [number, number][];
  return pairs.flatMap(([task, attempt]) => {
    const held = tx.sql.get('claimAgain').get(task, attempt) as GrantRow | undefined;
    return held === undefined ? [] : [grantOf(tx, held, tx.laneOf(held.lane))];
  });
}

function grantOf(tx: Transaction, row: GrantRow, info: LaneInfo): Grant {
  return {
    queue: info.queueName,
    handler: info.handler,
    task: row.id,
    attempt: row.attempt,
    lane: row.lane,
    spec: row.spec,
    priority: 0 - row.prio,
    tries: row.tries,
    maxTries: row.max_tries,
    bounces: row.bounces,
    createdAt: row.created_at,
    leaseUntil: row.lease_until,
    payload: payloadOf(tx.sql, row.id, row.flags, row.payload),
  };
}
