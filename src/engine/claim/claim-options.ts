import type { Duration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';
import {
  checkLeaseMs,
  checkMax,
  checkNames,
  checkOptions,
  checkSignal,
  checkTask,
  checkWaitMs,
  checkWorker,
  whole,
} from '../check.ts';
import type { ClaimRequest } from './claim-request.ts';

export interface ClaimOptions {
  /** The worker incarnation that will hold the leases, from `workers.register`. */
  readonly worker: number;
  /** From 1 to 1000. */
  readonly max: number;
  readonly queues?: readonly string[];
  readonly handlers?: readonly string[];
  /** This one task, if it is ready and its queue is not paused. Not together with `queues`, `handlers` or `waitMs`. */
  readonly task?: number;
  /** From 10 ms to 24 h. */
  readonly leaseMs?: Duration;
  /** Wait this long for the first task; default: answer at once. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Operation id: a repeated call with the same id gets the grants of the first one, as far as they are still held. */
  readonly op?: string;
  /** The number of the token that the worker signed in with: nothing is granted once that token has ended. */
  readonly token?: number;
}

const KNOWN: ReadonlySet<string> = new Set([
  'worker',
  'max',
  'queues',
  'handlers',
  'task',
  'leaseMs',
  'waitMs',
  'signal',
  'op',
  'token',
] satisfies (keyof ClaimOptions)[]);

export interface CheckedClaim {
  readonly request: ClaimRequest;
  readonly waitMs: number;
}

/** Bad numbers are refused here: a lease until NaN would never expire. */
export function checkClaim(options: ClaimOptions, leaseMs: number): CheckedClaim {
  checkOptions('options', options, KNOWN);
  checkSignal(options.signal);
  const checked = checkLeaseMs(options.leaseMs ?? leaseMs);
  const waitMs = checkWaitMs(options.waitMs ?? 0);
  const request = {
    worker: checkWorker(options.worker),
    max: checkMax(options.max),
    leaseMs: checked,
    queues: checkNames('queues', 'queue', options.queues),
    handlers: checkNames('handlers', 'handler', options.handlers),
    op: options.op === undefined ? undefined : checkKey('op', options.op),
    token: options.token === undefined ? undefined : whole('token', options.token, 1, Number.MAX_SAFE_INTEGER),
  };
  if (options.task !== undefined) checkTaskClaim(options);
  return { request, waitMs };
}

/** A task that is asked for by its number is there or not, so filters and waiting make no sense. */
function checkTaskClaim(options: ClaimOptions): void {
  checkTask(options.task);
  for (const field of ['queues', 'handlers', 'waitMs'] as const) {
    if (options[field] === undefined) continue;
    throw fault('INVALID_INPUT', { field, problem: 'a claim of one task takes no filters and does not wait' });
  }
}
