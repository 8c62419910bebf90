/** What programs of Universal Agent call: each takes the connection first. */
import { refuse } from '../refuse.ts';
import type { NewRun } from './new-run.ts';
import type { RunAttempt } from './run-attempts.ts';
import type { Run, RunStatus } from './runs.ts';
import { type LeaseToken, RuntimeDb, type RuntimeDbOptions } from './runtime-db.ts';

const DEFAULT_PATH = './runtime.db';

/** Opens the store of runs: a file, `postgres://…`, or `memory:` for one that ends with the process. */
export async function connectRuntimeDb(
  path: string = DEFAULT_PATH,
  options: RuntimeDbOptions = {},
): Promise<RuntimeDb> {
  if (typeof path !== 'string' || path === '')
    throw refuse('path', 'it must be the path of a file, or the URL of a store');
  const url = /^(memory|sqlite|postgres|postgresql):/.test(path) ? path : `sqlite:${path}`;
  return RuntimeDb.open(url, options);
}

/** Queues a run. An existing run with this id is the answer, or is refused when its specification differs. */
export function queueRun(conn: RuntimeDb, run: NewRun): Promise<Run> {
  return conn.queue(run);
}

export function getRun(conn: RuntimeDb, runId: string): Promise<Run | null> {
  return conn.get(runId);
}

/** Resolves to the run when it has ended, however. */
export function waitForRun(conn: RuntimeDb, runId: string): Promise<Run> {
  return conn.ended(runId);
}

/** The attempts at a run, oldest first; the one to come is `queued`. */
export function listRunAttempts(conn: RuntimeDb, runId: string): Promise<readonly RunAttempt[]> {
  return conn.attempts(runId);
}

/** Leases the run that comes next: by tier, then priority, then age. Null: there is none. */
export async function acquireNextRun(
  conn: RuntimeDb,
  leaseOwner: string,
  leaseTtlSeconds: number,
): Promise<{ readonly run_id: string; readonly attempt: number } | null> {
  const next = await conn.acquireNext(leaseOwner, leaseTtlSeconds);
  return next === undefined ? null : { run_id: next.runId, attempt: next.attempt };
}

/** True: the lease is ours, whether nobody had it or it had run out. False while it is held, and after the end. */
export async function acquireRunLease(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
): Promise<boolean> {
  return (await conn.acquire(runId, leaseOwner, leaseTtlSeconds)) !== undefined;
}

/** The same, with the token of this lease. */
export async function acquireRunLeaseInfo(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
): Promise<{ readonly acquired: boolean; readonly attempt?: number }> {
  const attempt = await conn.acquire(runId, leaseOwner, leaseTtlSeconds);
  return attempt === undefined ? { acquired: false } : { acquired: true, attempt };
}

/** Extends the lease. False: it is lost, and the work must stop. */
export async function heartbeatRunLease(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
  token?: LeaseToken,
): Promise<boolean> {
  return (await conn.heartbeat(runId, leaseOwner, leaseTtlSeconds, token)).held;
}

/** The same, and whether somebody has asked the run to stop. */
export function heartbeatRunLeaseInfo(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  leaseTtlSeconds: number,
  token?: LeaseToken,
): Promise<{ readonly held: boolean; readonly cancelRequested: boolean }> {
  return conn.heartbeat(runId, leaseOwner, leaseTtlSeconds, token);
}

/** Gives the run back to the queue, or ends it if it was asked to stop. Without the lease it does nothing. */
export function releaseRunLease(conn: RuntimeDb, runId: string, leaseOwner: string, token?: LeaseToken): Promise<void> {
  return conn.release(runId, leaseOwner, token);
}

/** Ends the run, as `cancelled` if it was asked to stop; rejects with `LEASE_LOST` when another has the lease. */
export function completeRun(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  result?: unknown,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'completed', result, token);
}

export function failRun(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  error?: unknown,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'failed', error, token);
}

/** The worker has stopped because it was asked to. */
export function acknowledgeCancel(
  conn: RuntimeDb,
  runId: string,
  leaseOwner: string,
  token?: LeaseToken,
): Promise<RunStatus> {
  return conn.end(runId, leaseOwner, 'cancelled', undefined, token);
}

/** Ends a waiting run; asks the worker of a running one. Answers the status after it. */
export function requestCancel(conn: RuntimeDb, runId: string, reason?: string): Promise<RunStatus> {
  return conn.cancel(runId, reason);
}
