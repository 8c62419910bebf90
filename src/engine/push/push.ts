import { createHash } from 'node:crypto';
import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { normalizeUses } from '../../core/limits/limit.ts';
import { checkKey, checkName } from '../../core/names.ts';
import { OWN_HANDLERS } from '../../core/own-handlers.ts';
import { normalizeFairness } from '../../core/placement/lane.ts';
import { normalizePermissions } from '../../core/placement/permissions.ts';
import { ANYWHERE, normalizePlacement } from '../../core/placement/placement.ts';
import { INHERITED, inherits } from '../../core/task/inherited.ts';
import { canonicalJson, encodePayload } from '../../core/task/payload.ts';
import type { TaskRequest } from '../../core/task/push.ts';
import { DEFAULT_MAX_TRIES } from '../../core/task/retry.ts';
import { normalizeReuse, type Reuse } from '../../core/task/reuse.ts';
import { MAX_TRIES_BOUND, PRIORITY_MAX, PRIORITY_MIN } from '../../core/task/task.ts';
import type { NewTask, UniqueKey } from '../../store/store.ts';
import { checkDuration, checkOptions, MAX_TIME, whole } from '../check.ts';
import { logicalKey } from '../settle/kept-results.ts';
import type { Rules } from './interner.ts';
import { type Gathers, type SpecBody, writeSpec } from './spec.ts';

/** A new task, as a caller of the engine asks for it. */
export interface PushRequest extends TaskRequest {
  /** Operation id: a repeated call with the same id gets the first answer. */
  readonly op?: string | undefined;
  /** It executes a document: results of its dependencies are added to its input when it is claimed. Or it tells of the end of one. */
  readonly gathers?: Gathers | undefined;
  /** Its input carries what another run had recorded. Nobody else may say so: whoever gives an input would decide what a workflow has done. */
  readonly inherits?: boolean | undefined;
  /** It asks for one of the handlers that only the engine's own code asks for. Nobody else may say so. */
  readonly own?: boolean | undefined;
}

/** A checked request. Only the numbers of its lane and spec are missing. */
export interface Draft {
  readonly queue: string;
  readonly handler: string;
  /** What distinguishes it from other tasks of its queue and handler; undefined for most. */
  readonly rules: Rules | undefined;
  readonly specBody: string;
  /** One object of one shape from here to the store: most of a push is the making of small objects. */
  readonly task: Placeable;
}

type Placeable = { -readonly [K in keyof NewTask]: NewTask[K] };

export const DEFAULT_UNIQUE_MS = 24 * 3_600_000;
const KNOWN: ReadonlySet<string> = new Set([
  'queue',
  'handler',
  'input',
  'priority',
  'delay',
  'runAt',
  'maxAttempts',
  'retry',
  'timeout',
  'waitTimeout',
  'unique',
  'op',
  'placement',
  'limits',
  'fairness',
  'reuse',
  'permissions',
  'gathers',
  'inherits',
  'own',
] satisfies (keyof PushRequest)[]);
const UNIQUE: ReadonlySet<string> = new Set(['key', 'window']);

/** Refuses everything that could fail later: past this point only the environment can make a push fail. */
export function draft(request: PushRequest, maxUniqueMs: number, depth?: number): Draft {
  checkOptions('request', request, KNOWN);
  const { delay, runAt, unique, op, retry, timeout, waitTimeout } = request;
  if (delay !== undefined && runAt !== undefined) {
    throw fault('INVALID_INPUT', { field: 'runAt', problem: 'give either a delay or runAt, not both' });
  }
  const queue = checkName('queue', request.queue);
  const handler = checkName('handler', request.handler);
  if (request.own !== true && OWN_HANDLERS.has(handler)) {
    throw fault(
      'FORBIDDEN',
      { problem: `tasks of the handler ${handler} are made by Leasehold itself, for a run that it knows` },
      { hint: 'Ask for the diff, the merge or the removal of the run.' },
    );
  }
  const payload = encodePayload(request.input);
  if (request.inherits !== true && inherits(payload)) {
    throw fault('INVALID_INPUT', {
      field: 'input',
      problem: `it has an entry ${INHERITED}, which is the engine's own`,
    });
  }
  const reuse = request.reuse === undefined ? undefined : normalizeReuse(request.reuse);
  return {
    queue,
    handler,
    rules: rulesOf(request),
    specBody: writeSpec(
      retry,
      timeout === undefined ? undefined : checkDuration('timeout', timeout, 1),
      reuse === undefined ? undefined : reuseSpec(reuse),
      depth,
      request.gathers,
      request.permissions === undefined ? undefined : normalizePermissions(request.permissions),
    ),
    task: {
      lane: 0,
      spec: 0,
      priority: whole('priority', request.priority ?? 0, PRIORITY_MIN, PRIORITY_MAX),
      maxTries: whole('maxAttempts', request.maxAttempts ?? DEFAULT_MAX_TRIES, 1, MAX_TRIES_BOUND),
      payload,
      delayMs: delay === undefined ? undefined : parseDuration(delay, 'delay'),
      runAt: runAt === undefined ? undefined : whole('runAt', runAt, 0, MAX_TIME),
      waitTimeoutMs: waitTimeout === undefined ? undefined : checkDuration('waitTimeout', waitTimeout, 1),
      unique: unique === undefined ? undefined : uniqueKey(unique, handler, payload, maxUniqueMs),
      op: op === undefined ? undefined : checkKey('op', op),
      opHash: op === undefined ? undefined : hashOf(`${queue}\u0000${handler}`, payload),
      resultKey: reuse?.key === undefined ? undefined : logicalKey(handler, { key: reuse.key }),
    },
  };
}

/** Without the key: there are as many keys as tasks, and specs must be few. */
function reuseSpec({ key, maxAgeMs }: Reuse): NonNullable<SpecBody['reuse']> {
  return key === undefined ? { maxAgeMs } : { maxAgeMs, keyed: true };
}

function rulesOf({ placement, limits, fairness }: PushRequest): Draft['rules'] {
  if (placement === undefined && limits === undefined && fairness === undefined) return undefined;
  const where = placement === undefined ? ANYWHERE : normalizePlacement(placement);
  const uses = limits === undefined ? [] : normalizeUses(limits);
  const turn = fairness === undefined ? undefined : normalizeFairness(fairness);
  if (where === ANYWHERE && uses.length === 0 && turn === undefined) return undefined;
  return { placement: where, limits: uses, fairness: turn };
}

function uniqueKey(
  unique: NonNullable<PushRequest['unique']>,
  handler: string,
  payload: string,
  maxUniqueMs: number,
): UniqueKey {
  if (typeof unique !== 'string') checkOptions('unique', unique, UNIQUE);
  const { key, window = Math.min(DEFAULT_UNIQUE_MS, maxUniqueMs) } =
    typeof unique === 'string' ? { key: unique } : unique;
  const windowMs = parseDuration(window, 'unique.window');
  if (windowMs > maxUniqueMs) {
    throw fault('INVALID_INPUT', {
      field: 'unique.window',
      problem: `${windowMs} ms is longer than finished tasks are kept (${maxUniqueMs} ms)`,
    });
  }
  return { key: checkKey('unique', key), hash: hashOf(handler, payload), windowMs };
}

/** 52 bits, so that every store and JavaScript keep it exactly. */
function hashOf(handler: string, payload: string): number {
  const digest = createHash('sha256').update(handler).update('\u0000').update(canonicalJson(payload)).digest();
  return Number(digest.readBigUInt64BE(0) >> 12n);
}
