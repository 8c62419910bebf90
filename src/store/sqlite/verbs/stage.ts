import type { StageAnswer } from '../../store.ts';
import type { Transaction } from '../transaction.ts';

export function stageTasks(tx: Transaction, limit: number): StageAnswer {
  const due = tx.sql.get('stageLook').all(tx.now, limit) as unknown as {
    id: number;
    lane: number;
    attempt: number;
    created_at: number;
  }[];
  const lanes = new Set<number>();
  let staged = 0;
  for (const row of due) {
    if (tx.sql.get('stageOne').run(row.id).changes === 0) continue;
    tx.ledger.note(tx.laneOf(row.lane).queue, 'staged', 'scheduled', 'ready', row.id, row.attempt, row.created_at);
    lanes.add(row.lane);
    staged++;
  }
  const next = tx.sql.get('stageNext').get() as { run_at: number } | undefined;
  return { staged, lanes: [...lanes], nextInMs: next && Math.max(0, next.run_at - tx.now) };
}
