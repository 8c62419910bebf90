/** What has happened in a loop, told from what is stored of it, so that nothing is lost that somebody was not there to hear. */
import type { LoopStep, StateEntry } from './steps.ts';

export type LoopStatus = 'PENDING' | 'RUNNING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELED';

export interface LoopEvent {
  /** Grows from event to event, also from one that is told now to one that comes later. Two events never share it. */
  readonly id: number;
  readonly type: string;
  readonly at: number;
  readonly step?: LoopStep;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface LoopFacts {
  readonly status: LoopStatus;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** Of the task, now. */
  readonly lease: number;
  /** The step at which the run stands, or has ended. */
  readonly n: number;
  readonly worker: string | undefined;
  readonly reason: string | undefined;
  readonly steps: readonly LoopStep[];
  /** Of a run that has one. */
  readonly worktree?: WorktreeFacts | undefined;
  /** By which it is merged at its end; undefined: it is not. */
  readonly strategy?: string | undefined;
  /** Pauses that are over or hold: where, and when they began and ended. */
  readonly pauses: readonly LoopPause[];
}

/** The entries of the states in which a worktree was made, and in which it went. */
export interface WorktreeFacts {
  readonly path: string;
  readonly branch: string;
  readonly made: Entry;
  readonly ended?: Entry | undefined;
  /** In its place: the worktree stayed. */
  readonly left?: Entry | undefined;
}

type Entry = Pick<StateEntry, 'n' | 'lease' | 'at'>;

export interface LoopPause {
  readonly n: number;
  /** The attempt that parked. */
  readonly lease: number;
  readonly from: number | undefined;
  /** The attempt that went on, and when. */
  readonly until: { readonly lease: number; readonly at: number } | undefined;
}

/** Room within a step, and within an attempt. */
const STEP = 10;
const LEASE = 10 ** 8;

/**
 * The number of an event is made of the attempt, the state and the event: a run that was tried again has later attempts, so that what follows its
 * end has higher numbers than its end had.
 */
const idOf = (lease: number, n: number, place: number): number => lease * LEASE + n * STEP + place;

export function eventsOfLoop(facts: LoopFacts): readonly LoopEvent[] {
  const { createdAt, startedAt, steps, pauses, worker } = facts;
  const events: LoopEvent[] = [{ id: 1, type: 'RUN_CREATED', at: createdAt, payload: {} }];
  if (startedAt !== undefined)
    events.push({ id: 2, type: 'RUN_STARTED', at: startedAt, payload: { worker_id: worker ?? null } });
  events.push(...ofWorktree(facts.worktree));
  for (const step of steps) events.push(...ofStep(step, startedAt ?? createdAt));
  for (const { n, lease, from, until } of pauses) {
    if (from !== undefined) events.push({ id: idOf(lease, n, 0), type: 'RUN_PAUSED', at: from, payload: {} });
    if (until !== undefined)
      events.push({ id: idOf(until.lease, n, 3), type: 'RUN_RESUMED', at: until.at, payload: {} });
  }
  events.push(...ending(facts));
  return events.toSorted((a, b) => a.id - b.id);
}

function ofWorktree(worktree: WorktreeFacts | undefined): readonly LoopEvent[] {
  if (worktree === undefined) return [];
  const { path, branch, made, ended } = worktree;
  const payload = { path, branch };
  const events: LoopEvent[] = [
    { id: idOf(made.lease, made.n, 4), type: 'WORKTREE_PROVIDER_SELECTED', at: made.at, payload: { provider: 'git' } },
    { id: idOf(made.lease, made.n, 5), type: 'WORKTREE_CREATED', at: made.at, payload },
  ];
  if (ended !== undefined)
    events.push({ id: idOf(ended.lease, ended.n, 4), type: 'WORKTREE_REMOVED', at: ended.at, payload });
  return events;
}

function ofStep(step: LoopStep, since: number): readonly LoopEvent[] {
  const { n, phase, attempt, lease, startedAt = since, endedAt, exitCode, signal, decision } = step;
  if (step.status === 'QUEUED') return [];
  const events: LoopEvent[] = [
    { id: idOf(lease, n, 1), type: 'STEP_STARTED', at: startedAt, step, payload: { phase, attempt } },
  ];
  if (endedAt === undefined) return events;
  const payload = {
    phase,
    attempt,
    status: step.status,
    exit_code: exitCode ?? null,
    duration_ms: endedAt - startedAt,
    output_path: step.outputPath ?? null,
  };
  events.push({ id: idOf(lease, n, 2), type: 'STEP_FINISHED', at: endedAt, step, payload });
  if (decision === 'rewrite')
    events.push({
      id: idOf(lease, n, 3),
      type: 'WATCHDOG_REWRITE',
      at: endedAt,
      step,
      payload: { signal: signal ?? null },
    });
  return events;
}

function ending({ status, finishedAt, lease, n, reason, strategy = 'none' }: LoopFacts): readonly LoopEvent[] {
  if (finishedAt === undefined) return [];
  const id = idOf(lease, n, 9);
  switch (status) {
    case 'COMPLETED':
      return [{ id, type: 'RUN_COMPLETED', at: finishedAt, payload: { mode: strategy } }];
    case 'FAILED':
      return [{ id, type: 'RUN_FAILED', at: finishedAt, payload: { reason: reason ?? 'unknown' } }];
    case 'CANCELED':
      return [{ id, type: 'RUN_CANCELED', at: finishedAt, payload: { reason: reason ?? null } }];
    case 'PENDING':
    case 'RUNNING':
    case 'PAUSED':
      return [];
  }
}
