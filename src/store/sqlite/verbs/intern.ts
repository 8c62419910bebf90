import { createHash } from 'node:crypto';
import type { Lane, LaneName } from '../../store.ts';
import type { Prepared } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

interface LaneRow {
  readonly id: number;
  readonly queue: number;
  readonly name: string;
  readonly handler: string;
  readonly paused: number;
}

export function laneOf(row: LaneRow): Lane {
  return { id: row.id, queue: row.name, handler: row.handler, paused: row.paused !== 0 };
}

export function internQueue(sql: Prepared, name: string): number {
  const found = sql.get('queueFind').get(name) as { id: number } | undefined;
  return found?.id ?? (sql.get('queueAdd').get(name) as { id: number }).id;
}

export function internLane(tx: Pick<Transaction, 'sql' | 'now'>, lane: LaneName): Lane {
  const hash = digest(JSON.stringify([lane.queue, lane.handler]));
  const found = tx.sql.get('laneFind').get(hash) as LaneRow | undefined;
  if (found !== undefined) {
    tx.sql.get('laneTouch').run(tx.now, found.id);
    return laneOf(found);
  }
  const queue = internQueue(tx.sql, lane.queue);
  tx.sql.get('laneAdd').get(queue, lane.handler, hash, tx.now);
  return laneOf(tx.sql.get('laneFind').get(hash) as unknown as LaneRow);
}

export function scanLanes(sql: Prepared, after: number, limit: number): readonly Lane[] {
  const rows = sql.get('laneScan').all(after, limit) as unknown as LaneRow[];
  return rows.map(laneOf).sort((a, b) => a.id - b.id);
}

export function internSpec(tx: Pick<Transaction, 'sql' | 'now'>, body: string): number {
  const hash = digest(body);
  const found = tx.sql.get('specFind').get(hash) as { id: number } | undefined;
  if (found === undefined) return (tx.sql.get('specAdd').get(hash, body, tx.now) as { id: number }).id;
  tx.sql.get('specTouch').run(tx.now, found.id);
  return found.id;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
