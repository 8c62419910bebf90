import type { Change, FinalState, Reason, TaskState } from '../../src/core/task/task.ts';

/** What the model is made of: its records, its figures and the rules that need no memory. */

export const DAY_MS = 86_400_000;
export const LEASE_MS = 30_000;
export const DUTY_MS = 6_000;
export const RETENTION_MS = 7 * DAY_MS;
export const OP_MS = 24 * 3_600_000;
/** How often the reaper notes how far lease time has come. */
export const NOTE_MS = 10_000;
/** A calendar that goes back by less than this against lease time was not set. */
export const STEP_MS = 1_000;
/** Smaller differences between calendar and lease time are not written down. */
export const NOTABLE_MS = 100;
export const MAX_BOUNCES = 20;
/** A text that the design does not fix. */
export const ANY_TEXT = '\u0000any';

export type DutyName = 'stager' | 'reaper' | 'cron' | 'pruner' | 'auditor';
export type Outcome = 'retried' | 'released' | 'expired' | FinalState;
export type Fate = 'done' | 'repeated' | 'cancelled' | 'lost';
export type Stats = Record<TaskState, number>;

export interface ModelLease {
  readonly task: number;
  readonly attempt: number;
}

export interface ModelGrant extends ModelLease {
  readonly tries: number;
  readonly bounces: number;
}

export interface ModelPolicy {
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
  readonly jitter: number;
}

export interface ModelPush {
  readonly queue: string;
  readonly handler: string;
  readonly payload: string;
  readonly priority: number;
  readonly maxTries: number;
  readonly policy: ModelPolicy;
  readonly delayMs?: number | undefined;
  readonly runAt?: number | undefined;
  /** `print`: what two pushes must share to be the same; by default handler and input. */
  readonly unique?: { readonly key: string; readonly windowMs: number; readonly print?: string } | undefined;
  readonly op?: string | undefined;
}

export interface ModelTask {
  readonly id: number;
  readonly queue: string;
  readonly handler: string;
  readonly priority: number;
  readonly maxTries: number;
  readonly policy: ModelPolicy;
  readonly payload: string;
  readonly createdAt: number;
  readonly key: string | undefined;
  state: TaskState;
  reason: Reason;
  attempt: number;
  tries: number;
  bounces: number;
  /** A lease ran out, and no handler has come to its end since. */
  suspect: boolean;
  worker: number | undefined;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  runAt: number | undefined;
  /** Its first start was asked for at a time of the calendar, not after a while. */
  atTime: boolean;
  leaseUntil: number | undefined;
  cancelRequestedAt: number | undefined;
  result: string | undefined;
  /** How each attempt ended, as far as it has. */
  readonly outcomes: Map<number, Outcome>;
  /** Attempts that did not end the task, or ended it before it was revived. */
  readonly attempts: ModelAttempt[];
}

/** A task that was pruned while its operation id was still known. */
export interface GoneTask {
  readonly id: number;
  readonly createdAt: number;
  readonly gone: true;
}

export interface ModelAttempt {
  readonly attempt: number;
  readonly worker: number | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly outcome: TaskState | Outcome;
  readonly error: string | undefined;
}

/** The first answer under an operation id: a task, or (without its time) the task that held the key. */
export interface ModelOp {
  /** What the id stands for: queue, handler and input. */
  readonly content: string;
  readonly task: number;
  readonly createdAt: number | undefined;
  readonly until: number;
}

/** What a valid push must lead to. */
export type Due =
  | 'create'
  | { readonly existing: ModelTask | GoneTask }
  /** Another task has the unique key, or with CONFLICT the operation id. */
  | { readonly conflict: number; readonly error: 'UNIQUE_CONFLICT' | 'CONFLICT' };

export interface HeldKey {
  readonly task: number;
  readonly print: string;
  readonly until: number;
}

export interface ModelQueue {
  paused: { readonly by: Set<number>; readonly at: number } | undefined;
  readonly stats: Stats;
}

export interface ModelDuty {
  readonly epoch: number;
  until: number;
}

export interface ModelProcess {
  readonly terms: Map<DutyName, { readonly epoch: number; renewAt: number }>;
  readonly reaper: { offset: number; notBefore: number; noteAt: number };
}

export interface ModelTrigger {
  readonly name: string;
  /** Slots are the multiples of this. */
  readonly periodMs: number;
  readonly missed: 'skip' | 'latest' | 'all';
  readonly push: ModelPush;
  nextAt: number;
}

export interface Note {
  readonly task: number;
  readonly change: Change;
  readonly state: TaskState;
  readonly attempt: number;
  readonly at: number;
}

/** What a worker says about its attempt. */
export type Call =
  | { readonly verb: 'complete'; readonly result: string | undefined }
  | { readonly verb: 'fail' | 'give up'; readonly error: string }
  | { readonly verb: 'come back later'; readonly error: string; readonly delayMs: number }
  | { readonly verb: 'release'; readonly delayMs: number }
  | { readonly verb: 'bounce' | 'cancelled' };

export interface End {
  readonly to: FinalState;
  readonly reason: Reason;
  readonly result: string | undefined;
}

export interface Again {
  readonly change: 'retried' | 'released';
  readonly least: number;
  readonly most: number;
  readonly refund: boolean;
  readonly bounced: boolean;
  readonly error: string | undefined;
}

export type Intent = End | Again;

/** Every legal move, as "from to"; whatever is not here is illegal. */
const LEGAL: Readonly<Partial<Record<Change, readonly string[]>>> = {
  claimed: ['ready running'],
  completed: ['running completed'],
  failed: ['running failed'],
  cancelled: ['ready cancelled', 'scheduled cancelled', 'running cancelled'],
  retried: ['running ready', 'running scheduled'],
  released: ['running ready', 'running scheduled'],
  expired: ['running ready', 'running scheduled', 'running failed', 'running cancelled'],
  staged: ['scheduled ready'],
  revived: ['completed ready', 'failed ready', 'cancelled ready'],
  cancel_requested: ['running running'],
};

export function isLegalMove(change: Change, from: TaskState | undefined, to: TaskState): boolean {
  if (change === 'created') return from === undefined && (to === 'ready' || to === 'scheduled');
  return LEGAL[change]?.includes(`${from} ${to}`) ?? false;
}

export function isFinal(state: TaskState): state is FinalState {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

export function emptyStats(): Stats {
  return { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
}

export function leaseName(task: number, attempt: number): string {
  return `${task}/${attempt}`;
}

export function slotKey(trigger: string, slot: number): string {
  return `cron:${trigger}:${new Date(slot).toISOString()}`;
}

/** A disagreement: the message says what is wrong. */
export function must(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export function again(change: Again['change'], delayMs: number): Again {
  return { change, least: delayMs, most: delayMs, refund: false, bounced: false, error: undefined };
}

/** Exponential, capped; chance may take away the share that the jitter names. */
export function backoff(policy: ModelPolicy, tries: number): { readonly least: number; readonly most: number } {
  const most = Math.round(Math.min(policy.maxMs, policy.baseMs * policy.factor ** (tries - 1)));
  return { least: Math.floor(most * (1 - policy.jitter)), most };
}

export function slotAfter(trigger: Pick<ModelTrigger, 'periodMs'>, after: number): number {
  return (Math.floor(after / trigger.periodMs) + 1) * trigger.periodMs;
}

export function printOf(push: ModelPush): string {
  return push.unique?.print ?? `${push.handler} ${canonical(JSON.parse(push.payload))}`;
}

/** What pushes with the same operation id must share. */
export function contentOf({ queue, handler, payload }: ModelPush): string {
  return `${queue} ${handler} ${canonical(JSON.parse(payload))}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${canonical(child)}`).join()}}`;
}
