import { TRIGGER_OUTCOMES, type TriggerKind, type TriggerOutcome } from '../../core/trigger/trigger.ts';
import type { LossPage, ReactionLine, ReactionRecord, ReactionView, WorkerLoss } from '../store.ts';

export interface ReactionRow {
  readonly name: string;
  readonly kind: string;
  readonly body: string;
  readonly enabled: number;
  readonly revision: number;
  readonly cursor: number;
  readonly lines: number;
  readonly created_at: number;
  readonly changed_at: number;
}

export interface ReactionLineRow {
  readonly n: number;
  readonly at: number;
  readonly outcome: number;
  readonly task: number | null;
  readonly about: string;
  readonly detail: string | null;
}

/** With the newest line, if there is one. */
export type ReactionViewRow = ReactionRow & { readonly [K in keyof ReactionLineRow]: ReactionLineRow[K] | null };

export function reactionOf(row: ReactionRow): ReactionRecord {
  const { name, kind, body, enabled, revision, cursor, created_at: createdAt, changed_at: changedAt } = row;
  return { name, kind: kind as TriggerKind, body, enabled: enabled === 1, revision, cursor, createdAt, changedAt };
}

export function reactionViewOf(row: ReactionViewRow): ReactionView {
  const last = row.n === null ? undefined : reactionLineOf(row as ReactionLineRow);
  return { ...reactionOf(row), lines: row.lines, last };
}

export function reactionLineOf({ n, at, outcome, task, about, detail }: ReactionLineRow): ReactionLine {
  return {
    n,
    at,
    outcome: TRIGGER_OUTCOMES[outcome] as TriggerOutcome,
    task: task ?? undefined,
    about,
    detail: detail ?? undefined,
  };
}

export const outcomeCode = (outcome: TriggerOutcome): number => TRIGGER_OUTCOMES.indexOf(outcome);

export interface LossRow extends Omit<WorkerLoss, 'host'> {
  readonly host: string | null;
}

/** `oldest` and `newest`: what is kept. */
export function lossPageOf(
  rows: readonly LossRow[],
  after: number,
  { oldest, newest }: { readonly oldest: number | null; readonly newest: number | null },
): LossPage {
  const losses = rows.map(({ n, worker, name, host, at }) => ({ n, worker, name, host: host ?? undefined, at }));
  if (newest === null) return { losses: [], reset: false, last: Math.min(after, 0) };
  // A store that was restored from a backup counts from an earlier number.
  if (after > newest) return { losses: [], reset: true, last: newest };
  return { losses, reset: (oldest as number) > after + 1, last: losses.at(-1)?.n ?? after };
}

/** How many losses of workers a store keeps. */
export const LOSSES_KEPT = 10_000;
