import { isFinal } from '../../../../core/task/task.ts';
import { stateCode, stateOf } from '../../../codes.ts';
import { type RunRow, runOf, runsLooked, runValues, TASK_KIND, USE_MS } from '../../../rows/run-rows.ts';
import type {
  DefinitionRecord,
  NewDefinition,
  NoteAnswer,
  PushAnswer,
  RunPage,
  RunPush,
  RunPushAnswer,
  RunQuery,
  RunRecord,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { findTask, pushTasks } from '../queue/push.ts';
import { setBudget } from './budget.ts';

export function putDefinitions(tx: Transaction, items: readonly NewDefinition[]): void {
  for (const { hash, kind, body } of items) tx.sql.get('definitionPut').run(tx.now, hash, kind, body);
}

export function getDefinition(sql: Prepared, hash: string): DefinitionRecord | undefined {
  const row = sql.get('definitionGet').get(hash) as (NewDefinition & { used_at: number }) | undefined;
  return row && { hash: row.hash, kind: row.kind, body: row.body, usedAt: row.used_at };
}

/** Everything that could refuse the run is looked at before anything is written. */
export function pushRun(tx: Transaction, { task: item, run, definition, budgets = [] }: RunPush): RunPushAnswer {
  const named = run.name === undefined ? undefined : findRun(tx.sql, run.name);
  if (named !== undefined) return { kind: 'exists', run: named };
  const known = findTask(tx, item);
  if (known !== undefined) return knownRun(tx.sql, known);
  const used = run.definition === undefined ? undefined : definitionUsed(tx.sql, run.definition);
  if (run.definition !== undefined && used === undefined && definition === undefined) {
    return { kind: 'unknown', definition: run.definition };
  }
  const [answer] = pushTasks(tx, [item]) as [PushAnswer];
  if (!answer.ok) return { kind: 'refused', answer };
  if (definition !== undefined && used === undefined) putDefinitions(tx, [definition]);
  else if (used !== undefined && used < tx.now - USE_MS) {
    tx.sql.get('definitionUse').run(tx.now, run.definition as string);
  }
  if (run.name !== undefined) tx.sql.get('runFree').run(run.name);
  tx.sql.get('runAdd').run(answer.task, tx.now, ...runValues(run));
  for (const budget of budgets) setBudget(tx, { root: answer.task, ...budget });
  const { task, createdAt, state } = answer;
  return { kind: 'made', task, createdAt, state };
}

/** The run of an operation id or a unique key. One that is no longer kept has no run to answer with. */
function knownRun(sql: Prepared, known: PushAnswer): RunPushAnswer {
  if (!known.ok) return { kind: 'refused', answer: known };
  const run = getRun(sql, known.task);
  if (run !== undefined) return { kind: 'exists', run };
  return { kind: 'refused', answer: { ok: false, conflict: known.task, byOp: true } };
}

function definitionUsed(sql: Prepared, hash: string): number | undefined {
  return (sql.get('definitionUsed').get(hash) as { used_at: number } | undefined)?.used_at;
}

export function getRun(sql: Prepared, task: number): RunRecord | undefined {
  const row = sql.get('runGet').get(task) as RunRow | undefined;
  return row && runOf(row);
}

export function findRun(sql: Prepared, name: string): RunRecord | undefined {
  const row = sql.get('runFind').get(name) as RunRow | undefined;
  return row && runOf(row);
}

export function listRuns(sql: Prepared, query: RunQuery): RunPage {
  const { before = Number.MAX_SAFE_INTEGER, limit, kind = null, states, name = null, title = null } = query;
  const look = runsLooked(query);
  const wanted = states === undefined ? null : states.reduce((bits, state) => bits | (1 << stateCode(state)), 0);
  const rows = sql.get('runList').all(before, look, kind, name, title, wanted, limit) as unknown as RunRow[];
  const runs = rows.map(runOf);
  if (runs.length === limit) return { runs, next: runs.at(-1)?.task };
  const looked = sql.get('runLooked').get(before, look) as { last: number | null; n: number };
  return { runs, next: looked.n < look ? undefined : (looked.last ?? undefined) };
}

/** A root that has no run row gets one, so that the reason has a place. */
export function noteCancel(
  tx: Transaction,
  { task, why, by }: { readonly task: number; readonly why?: string | undefined; readonly by?: string | undefined },
): NoteAnswer {
  const row = tx.sql.get('taskStand').get(task) as
    | { state: number; lane: number; created_at: number; root: number | null }
    | undefined;
  if (row === undefined || row.root !== null) return 'unknown';
  if (isFinal(stateOf(row.state))) return 'finished';
  const { handler } = tx.laneOf(row.lane);
  const values = [task, TASK_KIND, handler, row.created_at, tx.now, why ?? null, by ?? null];
  return tx.sql.get('runNote').run(...values).changes > 0 ? 'noted' : 'kept';
}
