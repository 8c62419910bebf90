import { columnsOf, hashOf, laneHash, type RuleColumns, rulesOf } from '../../../rows/lane-rows.ts';
import type { Lane, LaneDepth, LaneWish, ReadyLane } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { usesOf } from '../admin/limit.ts';

interface LaneRow extends RuleColumns {
  readonly id: number;
  readonly queue: number;
  readonly name: string;
  readonly handler: string;
  readonly paused: number;
}

export function laneOf(row: LaneRow): Lane {
  const rules = rulesOf(row);
  const lane = { id: row.id, queue: row.name, handler: row.handler, paused: row.paused !== 0 };
  return rules === undefined ? lane : { ...lane, rules };
}

export function internQueue(sql: Prepared, name: string): number {
  const found = sql.get('queueFind').get(name) as { id: number } | undefined;
  return found?.id ?? (sql.get('queueAdd').get(name) as { id: number }).id;
}

export function internLane(tx: Pick<Transaction, 'sql' | 'now'>, lane: LaneWish): Lane {
  const hash = laneHash(lane);
  const found = tx.sql.get('laneFind').get(hash) as LaneRow | undefined;
  if (found !== undefined) {
    tx.sql.get('laneTouch').run(tx.now, found.id);
    return laneOf(found);
  }
  const uses = usesOf(tx.sql, lane.limits ?? []);
  const queue = internQueue(tx.sql, lane.queue);
  const { placement, fair_key, weight, limits, slots } = columnsOf(lane, uses);
  const row = tx.sql
    .get('laneAdd')
    .get(queue, lane.handler, hash, tx.now, placement, fair_key, weight, limits, slots) as { id: number };
  for (const use of uses) tx.sql.get('laneSlotAdd').run(row.id, use.counter, use.weight);
  return laneOf(tx.sql.get('laneFind').get(hash) as unknown as LaneRow);
}

export function getLane(sql: Prepared, id: number): Lane | undefined {
  const row = sql.get('laneById').get(id) as LaneRow | undefined;
  return row && laneOf(row);
}

export function scanLanes(sql: Prepared, after: number, limit: number): readonly ReadyLane[] {
  const rows = sql.get('laneScan').all(after, limit) as unknown as ReadyLane[];
  return rows.map(({ id, priority }) => ({ id, priority }));
}

export function laneDepth(sql: Prepared, lane: number, most: number): LaneDepth {
  const { n } = sql.get('laneDepth').get(lane, most) as { n: number };
  const { since } = sql.get('laneOldest').get(lane) as { since: number | null };
  return { ready: n, readySince: since ?? Number.POSITIVE_INFINITY };
}

export function internSpec(tx: Pick<Transaction, 'sql' | 'now'>, body: string): number {
  const hash = hashOf(body);
  const found = tx.sql.get('specFind').get(hash) as { id: number } | undefined;
  if (found === undefined) return (tx.sql.get('specAdd').get(hash, body, tx.now) as { id: number }).id;
  tx.sql.get('specTouch').run(tx.now, found.id);
  return found.id;
}
