import { FIRINGS_KEPT, type TriggerKind } from '../../../../core/trigger/trigger.ts';
import {
  type LossRow,
  lossPageOf,
  outcomeCode,
  type ReactionLineRow,
  type ReactionViewRow,
  reactionLineOf,
  reactionViewOf,
} from '../../../rows/reaction-rows.ts';
import { runValues } from '../../../rows/run-rows.ts';
import type {
  Delivered,
  LossPage,
  PushAnswer,
  ReactionAnswer,
  ReactionDelivery,
  ReactionFiring,
  ReactionKey,
  ReactionLine,
  ReactionPut,
  ReactionStore,
  ReactionView,
} from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { pushTasks } from '../queue/push.ts';
import { setBudget } from '../trees/budget.ts';
import { findRun, putDefinitions } from '../trees/run.ts';

/** Keys that one firing forgets because their time is over. */
const MOST_EXPIRED = 500;

export function putReaction({ sql, now }: Transaction, put: ReactionPut): number {
  const { name, kind, body, enabled = true, cursor } = put;
  const row = sql.get('reactionPut').get(name, kind, body, enabled ? 1 : 0, now, cursor ?? null);
  return (row as { revision: number }).revision;
}

export function findReaction(sql: Prepared, name: string): ReactionView | undefined {
  const row = sql.get('reactionFind').get(name) as ReactionViewRow | undefined;
  return row && reactionViewOf(row);
}

export function listReactions(sql: Prepared, kind: TriggerKind | undefined): readonly ReactionView[] {
  return (sql.get('reactionList').all(kind ?? null) as unknown as ReactionViewRow[]).map(reactionViewOf);
}

export function removeReaction({ sql }: Transaction, name: string): boolean {
  if (sql.get('reactionDrop').run(name).changes === 0) return false;
  sql.get('reactionLinesDrop').run(name, Number.MAX_SAFE_INTEGER);
  sql.get('reactionKeysDrop').run(name);
  return true;
}

export function enableReaction(
  { sql, now }: Transaction,
  { name, enabled, cursor }: Parameters<ReactionStore['reactionEnable']>[0],
): boolean {
  if (sql.get('reactionEnable').run(name, enabled ? 1 : 0, now, cursor).changes > 0) return true;
  return sql.get('reactionHold').get(name) !== undefined;
}

interface Stand {
  readonly revision: number;
  readonly enabled: number;
  readonly cursor: number;
}

export function fireReaction(tx: Transaction, firing: ReactionFiring): ReactionAnswer {
  const { sql, now } = tx;
  const { name, revision, byHand = false, cursor, deliveries, forget = [] } = firing;
  const stand = sql.get('reactionHold').get(name) as Stand | undefined;
  if (stand === undefined) return { kind: 'gone' };
  if (stand.revision !== revision || (stand.enabled === 0 && !byHand)) return { kind: 'changed' };
  if (cursor !== undefined && stand.cursor !== cursor.from) return { kind: 'changed' };
  if (cursor !== undefined) sql.get('reactionMove').run(cursor.to, name);
  for (const key of forget) sql.get('reactionKeyDrop').run(name, key);
  const delivered = deliveries.map((delivery) => deliver(tx, name, delivery));
  if (deliveries.length > 0) sql.get('reactionKeysExpire').run(name, now, MOST_EXPIRED);
  return { kind: 'done', delivered };
}

interface KeyRow {
  readonly version: string;
  readonly until: number;
  readonly n: number;
  readonly task: number | null;
  readonly born: number | null;
}

function deliver(tx: Transaction, name: string, delivery: ReactionDelivery): Delivered {
  const { sql, now } = tx;
  const { key, version = '', keepMs, item, links } = delivery;
  if (key !== undefined) {
    const known = sql.get('reactionKeyFind').get(name, key) as KeyRow | undefined;
    if (known !== undefined && known.version === version && known.until > now) {
      const { n, task, born } = known;
      return { fresh: false, n, ...(task === null ? {} : { task: { task, createdAt: born as number } }) };
    }
  }
  const pushed = item === undefined ? undefined : pushOne(tx, delivery);
  const n = noteLine(tx, name, delivery, pushed);
  const task = pushed?.ok === true ? { task: pushed.task, createdAt: pushed.createdAt } : undefined;
  if (key !== undefined && pushed?.ok !== false) {
    const of = [task?.task ?? null, task?.createdAt ?? null, links ?? null] as const;
    sql.get('reactionKeyPut').run(name, key, version, Math.min(now + keepMs, Number.MAX_SAFE_INTEGER), n, ...of);
  }
  return { fresh: true, n, ...(task === undefined ? {} : { task }), ...(pushed === undefined ? {} : { pushed }) };
}

/** Its run is made in the same commit. A task that was there already has its run. */
function pushOne(tx: Transaction, { item, run, definition, budgets = [] }: ReactionDelivery): PushAnswer | undefined {
  if (item === undefined) return undefined;
  const named = run?.name === undefined ? undefined : findRun(tx.sql, run.name);
  if (named !== undefined)
    return { ok: true, task: named.task, createdAt: named.createdAt, state: named.state, fresh: false };
  const [pushed] = pushTasks(tx, [item]) as [PushAnswer];
  if (run === undefined || !pushed.ok || !pushed.fresh) return pushed;
  if (definition !== undefined) putDefinitions(tx, [definition]);
  if (run.name !== undefined) tx.sql.get('runFree').run(run.name);
  tx.sql.get('runAdd').run(pushed.task, tx.now, ...runValues(run));
  for (const budget of budgets) setBudget(tx, { root: pushed.task, ...budget });
  return pushed;
}

function noteLine(
  { sql, now }: Transaction,
  name: string,
  { about, outcome, detail }: ReactionDelivery,
  pushed: PushAnswer | undefined,
): number {
  const { lines } = sql.get('reactionCount').get(1, name) as { lines: number };
  const code = outcomeCode(pushed === undefined ? outcome : pushed.ok ? 'pushed' : 'refused');
  const task = pushed?.ok === true ? pushed.task : null;
  sql.get('reactionLineAdd').run(name, lines, now, code, task, about, detail ?? null);
  sql.get('reactionLinesDrop').run(name, lines - FIRINGS_KEPT);
  return lines;
}

export function noteReaction(
  { sql }: Transaction,
  { name, n, outcome, detail }: Parameters<ReactionStore['reactionNote']>[0],
): void {
  sql.get('reactionNote').run(outcomeCode(outcome), detail ?? null, name, n);
}

export function reactionLines(sql: Prepared, name: string, before: number, limit: number): readonly ReactionLine[] {
  return (sql.get('reactionLines').all(name, before, limit) as unknown as ReactionLineRow[]).map(reactionLineOf);
}

export function reactionKeys(
  sql: Prepared,
  { name, prefix, after, limit }: Parameters<ReactionStore['reactionKeys']>[0],
): readonly ReactionKey[] {
  const rows = sql.get('reactionKeys').all(name, prefix, after, limit) as unknown as ReactionKey[];
  return rows.map(({ key, version }) => ({ key, version }));
}

export function reactionLinks(sql: Prepared, tasks: readonly number[]): readonly (number | undefined)[] {
  return tasks.map((task) => (sql.get('reactionLink').get(task) as { links: number | null }).links ?? undefined);
}

export function workerLosses(sql: Prepared, after: number, limit: number): LossPage {
  const ends = sql.get('workerLossEnds').get() as { oldest: number | null; newest: number | null };
  return lossPageOf(sql.get('workerLosses').all(after, limit) as unknown as LossRow[], after, ends);
}
