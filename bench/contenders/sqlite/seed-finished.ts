import { DatabaseSync } from 'node:sqlite';

/** Straight into the tables, as the engine would leave them: finished rows like that of `task`, and their part of the counters. */
export function seedFinished(file: string, like: number, count: number): void {
  const db = new DatabaseSync(file, { timeout: 5000 });
  db.exec('BEGIN IMMEDIATE');
  db.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO task (lane, spec, state, prio, attempt, tries, max_tries, holder, created_at, started_at, ended_at, payload, result)
    SELECT lane, spec, 4, 0, 1, 1, 3, 1, created_at, created_at, created_at, ?, 'null' FROM task, n WHERE task.id = ?`).run(
    count,
    '{"sent":0}'.padEnd(400),
    like,
  );
  db.prepare('UPDATE qstat SET completed = completed + ?').run(count);
  db.exec('COMMIT');
  db.close();
}
