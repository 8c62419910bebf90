import { createHash } from 'node:crypto';
import { checkKey, checkOptions, whole } from '../../app/library/manual.ts';
import { refuse } from '../refuse.ts';
import { eitherOf } from '../spellings.ts';
import type { StoredSpec } from './runs.ts';

const DEFAULT_MAX_ATTEMPTS = 3;
const MOST_ATTEMPTS = 32_767;
const MOST_BACKOFF_SECONDS = 86_400;
/** Tiers are further apart than any two priorities. */
const TIERS_APART = 3000;
const MIDDLE_TIER = 5;
const LAST_TIER = 9;
const MOST_PRIORITY = 1000;

export interface NewRun {
  /** May be left out beside an `idempotency_key`. */
  readonly run_id?: string;
  readonly runId?: string;
  /** Whoever queues under this key again gets the run that is there, as it is. */
  readonly idempotency_key?: string;
  readonly idempotencyKey?: string;
  readonly prompt: string;
  readonly workspace_dir?: string | null;
  readonly workspaceDir?: string | null;
  readonly max_iterations?: number | null;
  readonly maxIterations?: number | null;
  /** How many of its leases may run out before it fails, errors that are retried among them; default 3. */
  readonly max_attempts?: number;
  readonly maxAttempts?: number;
  /** How long it waits before its second attempt, twice as long before each further one; default 0. */
  readonly retry_backoff_seconds?: number;
  readonly retryBackoffSeconds?: number;
  /** 0 to 9, 0 goes first; default 5. */
  readonly priority_tier?: number;
  readonly priorityTier?: number;
  /** -1000 to 1000 within its tier, the highest first; default 0. Among equals the oldest goes first. */
  readonly priority?: number;
  /** Make the workspace now, on this host; default false: the worker makes it. */
  readonly scaffold?: boolean;
}

const KNOWN: ReadonlySet<string> = new Set([
  'run_id',
  'runId',
  'idempotency_key',
  'idempotencyKey',
  'prompt',
  'workspace_dir',
  'workspaceDir',
  'max_iterations',
  'maxIterations',
  'max_attempts',
  'maxAttempts',
  'retry_backoff_seconds',
  'retryBackoffSeconds',
  'priority_tier',
  'priorityTier',
  'priority',
  'scaffold',
] satisfies (keyof NewRun)[]);

export interface CheckedRun {
  readonly runId: string;
  /** Its name was made from an idempotency key: what is there under it is the answer, whatever it is. */
  readonly isKeyed: boolean;
  readonly spec: StoredSpec;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly priority: number;
  readonly scaffold: boolean;
}

export function readNewRun(run: NewRun): CheckedRun {
  checkOptions('run', run, KNOWN);
  const workspace = eitherOf(['workspace_dir', run.workspace_dir], ['workspaceDir', run.workspaceDir]) ?? null;
  const iterations = eitherOf(['max_iterations', run.max_iterations], ['maxIterations', run.maxIterations]) ?? null;
  const attempts = eitherOf(['max_attempts', run.max_attempts], ['maxAttempts', run.maxAttempts]);
  const key = eitherOf(['idempotency_key', run.idempotency_key], ['idempotencyKey', run.idempotencyKey]);
  const id = eitherOf(['run_id', run.run_id], ['runId', run.runId]);
  if (typeof run.prompt !== 'string') throw refuse('prompt', 'it must be a text');
  if (workspace !== null && typeof workspace !== 'string') throw refuse('workspace_dir', 'it must be a path');
  if (key !== undefined && id !== undefined) throw refuse('run_id', 'idempotency_key is given too; give one of them');
  return {
    runId: key === undefined ? checkKey('run_id', id) : idOfKey(checkKey('idempotency_key', key)),
    isKeyed: key !== undefined,
    spec: {
      prompt: run.prompt,
      workspace_dir: workspace,
      max_iterations: iterations === null ? null : whole('max_iterations', iterations, 0, Number.MAX_SAFE_INTEGER),
    },
    maxAttempts: whole('max_attempts', attempts ?? DEFAULT_MAX_ATTEMPTS, 1, MOST_ATTEMPTS),
    backoffMs: backoffOf(run),
    priority: priorityOf(run),
    scaffold: run.scaffold ?? false,
  };
}

function idOfKey(key: string): string {
  return `run-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

function priorityOf(run: NewRun): number {
  const tier = eitherOf(['priority_tier', run.priority_tier], ['priorityTier', run.priorityTier]) ?? MIDDLE_TIER;
  const priority = whole('priority', run.priority ?? 0, -MOST_PRIORITY, MOST_PRIORITY);
  return (MIDDLE_TIER - whole('priority_tier', tier, 0, LAST_TIER)) * TIERS_APART + priority;
}

function backoffOf(run: NewRun): number {
  const seconds =
    eitherOf(['retry_backoff_seconds', run.retry_backoff_seconds], ['retryBackoffSeconds', run.retryBackoffSeconds]) ??
    0;
  if (typeof seconds === 'number' && seconds >= 0 && seconds <= MOST_BACKOFF_SECONDS) return Math.round(seconds * 1000);
  throw refuse('retry_backoff_seconds', `it must be a number from 0 to ${MOST_BACKOFF_SECONDS}`);
}
