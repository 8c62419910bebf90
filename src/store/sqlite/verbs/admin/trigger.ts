import { FIRES_KEPT, NEVER } from '../../../../core/schedule/due.ts';
import {
  type FireRow,
  fireLine,
  fireLineOf,
  linesOf,
  type NewFireLine,
  type TriggerRow,
  type TriggerViewRow,
  triggerOf,
  triggerViewOf,
} from '../../../rows/records.ts';
import { runValues } from '../../../rows/run-rows.ts';
import type {
  DueTriggers,
  FireLine,
  NewRun,
  NewTrigger,
  PushAnswer,
  TriggerAnswer,
  TriggerFiring,
  TriggerRecord,
  TriggerResumption,
  TriggerRunning,
  TriggerView,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pushTasks } from '../queue/push.ts';

export function putTrigger(tx: Transaction, t: NewTrigger): number | undefined {
  const row = tx.sql
    .get('triggerPut')
    .get(t.name, t.lane, t.spec, t.cron, t.timezone, t.missed, 0 - t.priority, t.maxTries, t.payload, t.nextAt);
  return (row as { next_at: number } | undefined)?.next_at;
}

export function removeTrigger({ sql }: Transaction, name: string): boolean {
  if (sql.get('triggerRemove').run(name).changes === 0) return false;
  sql.get('triggerFiresDrop').run(name, NEVER);
  return true;
}

export function listTriggers(sql: Prepared): readonly TriggerView[] {
  return (sql.get('triggerList').all() as unknown as TriggerViewRow[]).map(viewOf);
}

export function findTrigger(sql: Prepared, name: string): TriggerView | undefined {
  const row = sql.get('triggerFind').get(name) as TriggerViewRow | undefined;
  return row === undefined ? undefined : viewOf(row);
}

export function listFires(sql: Prepared, name: string, limit: number): readonly FireLine[] {
  return (sql.get('triggerFires').all(name, limit) as unknown as FireRow[]).map(fireLineOf);
}

export function pauseTrigger({ sql }: Transaction, name: string): boolean {
  return sql.get('triggerPause').run(NEVER, name).changes > 0;
}

export function resumeTrigger({ sql }: Transaction, { name, cron, timezone, nextAt }: TriggerResumption): boolean {
  return sql.get('triggerResume').run(nextAt, name, cron, timezone).changes > 0;
}

export function dueTriggers(sql: Prepared, now: number, limit: number): DueTriggers {
  const rows = sql.get('triggerDue').all(now, limit) as unknown as TriggerRow[];
  const next = sql.get('triggerNext').get(now) as { at: number | null };
  return {
    now,
    triggers: rows.map(recordOf),
    nextInMs: next.at === null ? undefined : Math.max(0, next.at - now),
  };
}

/** The earliest fire time of all triggers. */
export function firstFireTime(sql: Prepared): number | undefined {
  return (sql.get('triggerFirst').get() as { at: number | null }).at ?? undefined;
}

/** The trigger moves on by compare-and-set, and each task has its fire time as unique key: no fire time fires twice. */
export function fireTrigger(tx: Transaction, firing: TriggerFiring): TriggerAnswer {
  const { changes } = tx.sql.get('triggerMove').run(firing.nextAt, firing.name, firing.from, firing.payload ?? null);
  if (changes === 0) return { moved: false, pushed: [] };
  const pushed = pushTasks(tx, firing.items);
  addRuns(tx, pushed, firing.runs ?? []);
  noteFires(tx, firing.name, linesOf(firing, pushed));
  return { moved: true, pushed };
}

export function runTrigger(tx: Transaction, { name, item, run }: TriggerRunning): PushAnswer | undefined {
  if (tx.sql.get('triggerFind').get(name) === undefined) return undefined;
  const [answer] = pushTasks(tx, [item]) as [PushAnswer];
  addRuns(tx, [answer], run === undefined ? [] : [run]);
  noteFires(tx, name, [fireLine(tx.now, 'run', answer)]);
  return answer;
}

/** Of new tasks: one that was there already has its run. */
function addRuns({ sql, now }: Transaction, pushed: readonly PushAnswer[], runs: readonly NewRun[]): void {
  for (const [i, run] of runs.entries()) {
    const answer = pushed[i];
    if (answer?.ok === true && answer.fresh) sql.get('runAdd').run(answer.task, now, ...runValues(run));
  }
}

function noteFires({ sql, now }: Transaction, name: string, lines: readonly NewFireLine[]): void {
  if (lines.length === 0) return;
  const { fires } = sql.get('triggerCount').get(lines.length, name) as { fires: number };
  for (const [i, [slot, ends, outcome, task]] of lines.entries()) {
    sql.get('triggerFireAdd').run(name, fires - lines.length + 1 + i, slot, ends, now, outcome, task);
  }
  sql.get('triggerFiresDrop').run(name, fires - FIRES_KEPT);
}

const recordOf = (row: TriggerRow): TriggerRecord => triggerOf(row, 0 - row.prio);
const viewOf = (row: TriggerViewRow): TriggerView => triggerViewOf(row, 0 - row.prio);
