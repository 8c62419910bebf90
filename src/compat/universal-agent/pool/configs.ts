import { randomBytes } from 'node:crypto';
import { checkOptions, whole } from '../../../app/library/manual.ts';
import { refuse } from '../../refuse.ts';
import { eitherOf } from '../../spellings.ts';

export interface WorkerConfigFields {
  /** Default: one of its own, `worker_` and eight hexadecimal digits. */
  readonly workerId?: string;
  readonly worker_id?: string;
  readonly leaseTtlSeconds?: number;
  readonly lease_ttl_seconds?: number;
  readonly heartbeatIntervalSeconds?: number;
  readonly heartbeat_interval_seconds?: number;
  readonly pollIntervalSeconds?: number;
  readonly poll_interval_seconds?: number;
  readonly maxConcurrentRuns?: number;
  readonly max_concurrent_runs?: number;
  readonly gatewayUrl?: string | null;
  readonly gateway_url?: string | null;
  readonly retryFailures?: boolean;
  readonly retry_failures?: boolean;
}

const WORKER_FIELDS: ReadonlySet<string> = new Set([
  'workerId',
  'worker_id',
  'leaseTtlSeconds',
  'lease_ttl_seconds',
  'heartbeatIntervalSeconds',
  'heartbeat_interval_seconds',
  'pollIntervalSeconds',
  'poll_interval_seconds',
  'maxConcurrentRuns',
  'max_concurrent_runs',
  'gatewayUrl',
  'gateway_url',
  'retryFailures',
  'retry_failures',
] satisfies (keyof WorkerConfigFields)[]);

export class WorkerConfig {
  readonly workerId: string;
  /** How long a run stays a dead worker's. */
  readonly leaseTtlSeconds: number;
  /** How often a worker shows that it is alive; leases are renewed at a third of their time in any case. */
  readonly heartbeatIntervalSeconds: number;
  /** How often a worker looks for runs that nobody has told it of. */
  readonly pollIntervalSeconds: number;
  readonly maxConcurrentRuns: number;
  /** Of an external gateway, for the default handler. */
  readonly gatewayUrl: string | null;
  /** A run whose handler failed runs again, up to its `max_attempts`; false: it has failed, as Universal Agent has it. */
  readonly retryFailures: boolean;

  constructor(fields: WorkerConfigFields = {}) {
    checkOptions('worker config', fields, WORKER_FIELDS);
    const { worker_id, lease_ttl_seconds, heartbeat_interval_seconds, poll_interval_seconds } = fields;
    const id = eitherOf(['workerId', fields.workerId], ['worker_id', worker_id]);
    const ttl = eitherOf(['leaseTtlSeconds', fields.leaseTtlSeconds], ['lease_ttl_seconds', lease_ttl_seconds]);
    const beat = eitherOf(
      ['heartbeatIntervalSeconds', fields.heartbeatIntervalSeconds],
      ['heartbeat_interval_seconds', heartbeat_interval_seconds],
    );
    const poll = eitherOf(
      ['pollIntervalSeconds', fields.pollIntervalSeconds],
      ['poll_interval_seconds', poll_interval_seconds],
    );
    const most = eitherOf(
      ['maxConcurrentRuns', fields.maxConcurrentRuns],
      ['max_concurrent_runs', fields.max_concurrent_runs],
    );
    const url = eitherOf(['gatewayUrl', fields.gatewayUrl], ['gateway_url', fields.gateway_url]);
    const retry = eitherOf(['retryFailures', fields.retryFailures], ['retry_failures', fields.retry_failures]);
    if (id !== undefined && typeof id !== 'string') throw refuse('worker_id', 'it must be a text');
    if (url !== undefined && !/^https?:\/\//.test(url)) throw refuse('gateway_url', 'it must be an http address');
    this.workerId = id ?? newWorkerId();
    this.leaseTtlSeconds = seconds('lease_ttl_seconds', ttl ?? 60, 0.1);
    this.heartbeatIntervalSeconds = seconds('heartbeat_interval_seconds', beat ?? 15, 0.1);
    this.pollIntervalSeconds = seconds('poll_interval_seconds', poll ?? 5, 0.01);
    this.maxConcurrentRuns = whole('max_concurrent_runs', most ?? 1, 1, MOST);
    this.gatewayUrl = url ?? null;
    this.retryFailures = flag('retry_failures', retry ?? false);
  }

  /** The same for another worker. */
  renamed(workerId: string = newWorkerId()): WorkerConfig {
    return new WorkerConfig({ ...this.fields(), workerId });
  }

  /** What makes the same again, here or in another process. */
  fields(): WorkerConfigFields {
    const { workerId, leaseTtlSeconds, heartbeatIntervalSeconds, pollIntervalSeconds } = this;
    const { maxConcurrentRuns, gatewayUrl, retryFailures } = this;
    return {
      workerId,
      leaseTtlSeconds,
      heartbeatIntervalSeconds,
      pollIntervalSeconds,
      maxConcurrentRuns,
      gatewayUrl,
      retryFailures,
    };
  }
}

/** How a pool decides how many workers there are: by the threshold of Universal Agent, or by what waits for workers. */
export type PoolScaling = 'threshold' | 'demand';

export interface PoolConfigFields {
  readonly dbPath?: string;
  readonly db_path?: string;
  readonly minWorkers?: number;
  readonly min_workers?: number;
  readonly maxWorkers?: number;
  readonly max_workers?: number;
  readonly scaleUpThreshold?: number;
  readonly scale_up_threshold?: number;
  readonly scaleDownIdleSeconds?: number;
  readonly scale_down_idle_seconds?: number;
  readonly monitorIntervalSeconds?: number;
  readonly monitor_interval_seconds?: number;
  readonly queue?: string;
  readonly scaling?: PoolScaling;
  readonly processes?: boolean;
  readonly handlerModule?: string | null;
  readonly handler_module?: string | null;
}

const POOL_FIELDS: ReadonlySet<string> = new Set([
  'dbPath',
  'db_path',
  'minWorkers',
  'min_workers',
  'maxWorkers',
  'max_workers',
  'scaleUpThreshold',
  'scale_up_threshold',
  'scaleDownIdleSeconds',
  'scale_down_idle_seconds',
  'monitorIntervalSeconds',
  'monitor_interval_seconds',
  'queue',
  'scaling',
  'processes',
  'handlerModule',
  'handler_module',
] satisfies (keyof PoolConfigFields)[]);

export class PoolConfig {
  /** A file, or the URL of a store. */
  readonly dbPath: string;
  readonly minWorkers: number;
  readonly maxWorkers: number;
  /** So many runs must wait before a worker is added. */
  readonly scaleUpThreshold: number;
  /** A worker that has had no run for longer may be removed. */
  readonly scaleDownIdleSeconds: number;
  readonly monitorIntervalSeconds: number;
  /** Where the runs wait. */
  readonly queue: string;
  readonly scaling: PoolScaling;
  /** Each worker is a process of its own; default: all are in this one. */
  readonly processes: boolean;
  /** A module that exports `runHandler` or `agent`, for workers that are processes. */
  readonly handlerModule: string | null;

  constructor(fields: PoolConfigFields = {}) {
    checkOptions('pool config', fields, POOL_FIELDS);
    const { scaling = 'threshold', queue = 'runs' } = fields;
    const path = eitherOf(['dbPath', fields.dbPath], ['db_path', fields.db_path]) ?? 'runtime.db';
    const min = eitherOf(['minWorkers', fields.minWorkers], ['min_workers', fields.min_workers]) ?? 1;
    const max = eitherOf(['maxWorkers', fields.maxWorkers], ['max_workers', fields.max_workers]) ?? 4;
    const threshold = eitherOf(
      ['scaleUpThreshold', fields.scaleUpThreshold],
      ['scale_up_threshold', fields.scale_up_threshold],
    );
    const idle = eitherOf(
      ['scaleDownIdleSeconds', fields.scaleDownIdleSeconds],
      ['scale_down_idle_seconds', fields.scale_down_idle_seconds],
    );
    const monitor = eitherOf(
      ['monitorIntervalSeconds', fields.monitorIntervalSeconds],
      ['monitor_interval_seconds', fields.monitor_interval_seconds],
    );
    const module = eitherOf(['handlerModule', fields.handlerModule], ['handler_module', fields.handler_module]);
    if (typeof path !== 'string' || path === '') throw refuse('db_path', 'it must be a path, or the URL of a store');
    if (scaling !== 'threshold' && scaling !== 'demand') throw refuse('scaling', 'it is "threshold" or "demand"');
    this.dbPath = path;
    this.minWorkers = whole('min_workers', min, 0, MOST);
    this.maxWorkers = whole('max_workers', max, 1, MOST);
    if (this.minWorkers > this.maxWorkers) throw refuse('min_workers', `it is ${min}, more than max_workers, ${max}`);
    this.scaleUpThreshold = whole('scale_up_threshold', threshold ?? 5, 1, 1_000_000);
    this.scaleDownIdleSeconds = seconds('scale_down_idle_seconds', idle ?? 300, 0);
    this.monitorIntervalSeconds = seconds('monitor_interval_seconds', monitor ?? 10, 0.01);
    this.queue = queue;
    this.scaling = scaling;
    this.processes = flag('processes', fields.processes ?? false);
    this.handlerModule = module ?? null;
  }
}

const MOST = 1000;
const MOST_SECONDS = 86_400;

function newWorkerId(): string {
  return `worker_${randomBytes(4).toString('hex')}`;
}

function seconds(field: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least && value <= MOST_SECONDS) return value;
  throw refuse(field, `it must be a number of seconds from ${least} to ${MOST_SECONDS}`);
}

function flag(field: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw refuse(field, 'it is true or false');
}
