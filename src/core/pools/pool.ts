import { type Duration, parseDuration } from '../duration.ts';
import { fault } from '../errors.ts';
import { checkName } from '../names.ts';

/** When workers are started, and when they are sent home. Times are milliseconds. */
export interface PoolPolicy {
  readonly min: number;
  /** The most workers that are there or on their way, whoever checks. */
  readonly max: number;
  /** How many tasks one worker is there for, those that it runs and those that wait. */
  readonly tasksPerWorker: number;
  /** So many tasks must wait before a worker is started beside others. A pool without workers starts one for any task. */
  readonly scaleUpThreshold: number;
  /** A task that has waited for longer counts for a worker of its own, whatever the threshold is. */
  readonly targetWaitMs: number | undefined;
  /** A worker that has had no task for so long may be sent home. */
  readonly idleMs: number;
  /** So long after workers were started no others are. */
  readonly cooldownUpMs: number;
  /** So long after workers were started or sent home none is sent home. */
  readonly cooldownDownMs: number;
  /** The most workers that one check starts. */
  readonly burst: number;
  /** A worker that has not registered so long after its start is not expected any more. */
  readonly startMs: number;
}

/** What a worker of the pool is. */
export interface PoolWorkerSpec {
  /** `once`: takes one task and ends. `stay`: takes tasks until it is sent home or has had none for a long time. */
  readonly life: 'once' | 'stay';
  readonly slots: number;
  readonly tags: readonly string[];
}

/** How workers are started: the kind of launcher, and its settings. */
export interface LauncherSpec {
  readonly kind: string;
  readonly [setting: string]: unknown;
}

export interface PoolSpec {
  /** Of which tasks are counted, and which the workers serve. */
  readonly queues: readonly string[];
  /** A pool that is off starts nobody, and sends home who is idle. */
  readonly enabled: boolean;
  readonly policy: PoolPolicy;
  readonly worker: PoolWorkerSpec;
  readonly launcher: LauncherSpec;
}

/** A pool as its author writes it: what is not given has its default. */
export interface PoolInput {
  readonly queues?: readonly string[] | undefined;
  readonly enabled?: boolean | undefined;
  readonly policy?: PolicyInput | undefined;
  readonly worker?: { readonly [K in keyof PoolWorkerSpec]?: PoolWorkerSpec[K] | undefined } | undefined;
  readonly launcher?: LauncherSpec | undefined;
}

type Times = 'targetWaitMs' | 'idleMs' | 'cooldownUpMs' | 'cooldownDownMs' | 'startMs';
export type PolicyInput = {
  readonly [K in keyof PoolPolicy]?: (K extends Times ? Duration : PoolPolicy[K]) | undefined;
};

export const MOST_WORKERS = 10_000;
export const MOST_QUEUES = 100;
/** Of a launcher, as JSON text. */
export const MOST_LAUNCHER_TEXT = 16_384;
const MOST_TAGS = 100;
const MOST_TAG_LENGTH = 200;

export const DEFAULT_POLICY: PoolPolicy = {
  min: 0,
  max: 10,
  tasksPerWorker: 1,
  scaleUpThreshold: 1,
  targetWaitMs: undefined,
  idleMs: 60_000,
  cooldownUpMs: 0,
  cooldownDownMs: 0,
  burst: 100,
  startMs: 60_000,
};

/** The pool with its defaults. The queue of a pool that names none has the pool's name. */
export function checkPool(name: string, input: PoolInput): PoolSpec {
  checkName('pool', name);
  const { queues = [name], enabled = true, policy = {}, worker = {}, launcher = { kind: 'subprocess' } } = input;
  if (queues.length === 0 || queues.length > MOST_QUEUES) throw wrong('queues', `it names 1 to ${MOST_QUEUES} queues`);
  for (const queue of queues) checkName('queue', queue);
  return {
    queues: [...new Set(queues)],
    enabled,
    policy: checkPolicy(policy),
    worker: checkWorker(worker),
    launcher: checkLauncher(launcher),
  };
}

function checkPolicy(input: PolicyInput): PoolPolicy {
  const given = { ...DEFAULT_POLICY, ...defined(input) };
  const policy: PoolPolicy = {
    min: whole('policy.min', given.min, 0, MOST_WORKERS),
    max: whole('policy.max', given.max, 0, MOST_WORKERS),
    tasksPerWorker: whole('policy.tasksPerWorker', given.tasksPerWorker, 1, 1_000_000),
    scaleUpThreshold: whole('policy.scaleUpThreshold', given.scaleUpThreshold, 0, 1_000_000),
    targetWaitMs:
      given.targetWaitMs === undefined ? undefined : parseDuration(given.targetWaitMs, 'policy.targetWaitMs'),
    idleMs: parseDuration(given.idleMs, 'policy.idleMs'),
    cooldownUpMs: parseDuration(given.cooldownUpMs, 'policy.cooldownUpMs'),
    cooldownDownMs: parseDuration(given.cooldownDownMs, 'policy.cooldownDownMs'),
    burst: whole('policy.burst', given.burst, 1, MOST_WORKERS),
    startMs: parseDuration(given.startMs, 'policy.startMs'),
  };
  if (policy.min > policy.max) throw wrong('policy.min', `it is ${policy.min}, more than the most, ${policy.max}`);
  if (policy.startMs < 1000) throw wrong('policy.startMs', 'a worker needs a second at least to start');
  return policy;
}

function checkWorker(input: NonNullable<PoolInput['worker']>): PoolWorkerSpec {
  const { life = 'once', slots = 1, tags = [] } = input;
  if (life !== 'once' && life !== 'stay') throw wrong('worker.life', 'it is "once" or "stay"');
  if (life === 'once' && slots !== 1) throw wrong('worker.slots', 'a worker that takes one task has one slot');
  if (tags.length > MOST_TAGS) throw wrong('worker.tags', `there are more than ${MOST_TAGS}`);
  for (const tag of tags) {
    // They become arguments of a program.
    const plain = typeof tag === 'string' && /^[^\s\p{Cc}-][^\s\p{Cc}]*$/u.test(tag) && tag.length <= MOST_TAG_LENGTH;
    if (!plain) throw wrong('worker.tags', 'a tag is a text without blanks that does not begin with "-"');
  }
  return { life, slots: whole('worker.slots', slots, 1, 1000), tags: [...tags] };
}

function checkLauncher(launcher: LauncherSpec): LauncherSpec {
  checkName('launcher', launcher.kind);
  if (JSON.stringify(launcher).length > MOST_LAUNCHER_TEXT)
    throw wrong('launcher', `its settings are longer than ${MOST_LAUNCHER_TEXT} characters`);
  return launcher;
}

function whole(field: string, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw wrong(field, `it is a whole number from ${least} to ${most}`);
}

function defined<T extends object>(input: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function wrong(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
