import type { World } from '../../core/world.ts';
import type { HookContext } from '../../worker/machine/machine-hooks.ts';
import { fault } from '../library/manual.ts';
import type { Backends } from './open-backends.ts';
import type { WorkerRecord } from './registration-backend.ts';
import type { RunScope } from './run-scope.ts';
import { aliveIn, newWorkerId, STALE_SECONDS, spawnWorkers } from './spawn.ts';
import { intervalOf, WorkerLife } from './worker-life.ts';

const DEFAULT_MAX_WORKERS = 3;
const DEFAULT_MACHINE = 'job_worker';
/** A heartbeat is told in milliseconds of two clocks, whose distance is taken anew each time. */
const TOLERANCE_MS = 1000;

/** What an action has to work with. */
export interface Acting {
  readonly context: HookContext;
  readonly backends: Backends;
  readonly scope: RunScope | undefined;
  readonly world: World;
  /** The machine that is spawned where the context names none, and where its path begins. */
  readonly options: { readonly worker_config_path?: string; readonly folder?: string };
}

/** What it writes to the context; undefined: nothing. */
type Action = (acting: Acting) => Promise<HookContext | undefined>;

/** The actions of FlatMachines, by name. */
export const ACTIONS: Readonly<Record<string, Action>> = {
  get_pool_state: async ({ context, backends }) => {
    const pool_id = needed(context, 'pool_id');
    return {
      queue_depth: await backends.work.pool(pool_id).size(),
      active_workers: await aliveIn(backends, pool_id),
    };
  },

  calculate_spawn: async ({ context }) => {
    const most = countOf(context, 'max_workers', DEFAULT_MAX_WORKERS);
    const workers_needed = Math.min(countOf(context, 'queue_depth', 0), most);
    const workers_to_spawn = Math.max(0, workers_needed - countOf(context, 'active_workers', 0));
    return { workers_needed, workers_to_spawn, spawn_list: Array.from({ length: workers_to_spawn }, (_, i) => i) };
  },

  spawn_workers: async ({ context, backends, options }) => {
    const spawned_ids = await spawnWorkers(backends, {
      pool_id: needed(context, 'pool_id'),
      count: countOf(context, 'workers_to_spawn', 0),
      ...(absent(context['max_workers']) ? {} : { max_workers: countOf(context, 'max_workers', 0) }),
      machine: textOf(context['worker_config_path']) ?? options.worker_config_path ?? DEFAULT_MACHINE,
      folder: options.folder ?? '.',
    });
    return { spawned_ids, spawned_count: spawned_ids.length };
  },

  register_worker: async ({ context, backends: { registration }, scope, world }) => {
    const worker_id = textOf(context['worker_id']) ?? newWorkerId();
    const known = scope?.life?.id === worker_id ? await registration.get(worker_id) : null;
    const record = known ?? (await registered(worker_id, { context, registration, scope, world }));
    return { worker_id, status: record.status, registered_at: record.started_at };
  },

  heartbeat: async ({ context, backends }) => {
    await backends.registration.heartbeat(needed(context, 'worker_id'));
    return undefined;
  },

  deregister_worker: async ({ context, backends, scope }) => {
    const worker_id = needed(context, 'worker_id');
    if (scope?.life?.id === worker_id) await scope.life.end();
    else await backends.registration.updateStatus(worker_id, 'terminated');
    return { status: 'terminated' };
  },

  claim_job: async ({ context, backends, scope }) => {
    const pool = backends.work.pool(needed(context, 'pool_id'));
    const item = await pool.claim(needed(context, 'worker_id'));
    if (item !== null) scope?.claimed(pool, item);
    return { job: item?.data ?? null, job_id: item?.id ?? null };
  },

  complete_job: async ({ context, backends, scope }) => {
    const job_id = needed(context, 'job_id');
    await backends.work.pool(needed(context, 'pool_id')).complete(job_id, context['result']);
    scope?.settled(job_id);
    return undefined;
  },

  fail_job: async ({ context, backends, scope }) => {
    const job_id = needed(context, 'job_id');
    const error = context['error'] ?? context['last_error'] ?? undefined;
    await backends.work.pool(needed(context, 'pool_id')).fail(job_id, error);
    scope?.settled(job_id);
    return undefined;
  },

  list_stale_workers: async ({ context, backends: { registration } }) => {
    const stale_threshold_seconds = numberOf(context, 'stale_threshold_seconds', STALE_SECONDS);
    const pool = textOf(context['pool_id']);
    const stale = await registration.list({ stale_threshold_seconds });
    const workers = stale
      .filter(({ pool_id }) => pool === undefined || pool_id === undefined || pool_id === pool)
      // The engine may have marked one before: what it holds is still to be given back.
      .filter(({ status, current_task_id }) => !ENDED.has(status) || current_task_id !== undefined);
    return { workers, stale_count: workers.length };
  },

  reap_worker: async ({ context, backends }) => {
    const { worker_id, released } = await reap(context['worker'], context, backends);
    return { reaped_worker_id: worker_id ?? null, jobs_released: released };
  },

  reap_stale_workers: async ({ context, backends }) => {
    const list = context['stale_workers'] ?? context['workers'] ?? [];
    if (!Array.isArray(list)) throw refuse('stale_workers', 'it must be a list');
    const reaped_workers: string[] = [];
    let total_jobs_released = 0;
    for (const worker of list as readonly unknown[]) {
      const { worker_id, released } = await reap(worker, context, backends);
      if (worker_id !== undefined) reaped_workers.push(worker_id);
      total_jobs_released += released;
    }
    return { reaped_workers, reaped_count: reaped_workers.length, total_jobs_released };
  },
};

const ENDED: ReadonlySet<string> = new Set(['terminated', 'lost']);

/** Within a run the worker lives as long as the run does. */
async function registered(
  worker_id: string,
  { context, registration, scope, world }: Pick<Acting, 'context' | 'scope' | 'world'> & Pick<Backends, 'registration'>,
): Promise<WorkerRecord> {
  const pool_id = textOf(scope?.run.settings['worker_pool']) ?? textOf(context['pool_id']);
  const interval = intervalOf(scope?.run.settings['heartbeat_interval']);
  const worker = {
    worker_id,
    ...capabilitiesOf(context),
    ...(pool_id === undefined ? {} : { pool_id }),
    ...(interval === undefined ? {} : { heartbeat_interval: interval }),
  };
  if (scope === undefined) return registration.register(worker);
  await scope.life?.end();
  const { life, record } = await WorkerLife.begin(registration, world, worker);
  scope.life = life;
  return record;
}

/** Undefined: the worker has been heard of since it was found silent, and is left alone. */
async function reap(
  worker: unknown,
  context: HookContext,
  { registration, work }: Backends,
): Promise<{ readonly worker_id: string | undefined; readonly released: number }> {
  const found = (typeof worker === 'object' && worker !== null ? worker : { worker_id: worker }) as HookContext;
  const worker_id = needed(found, 'worker_id', 'worker');
  const now = await registration.get(worker_id);
  const before = Date.parse(String(found['last_heartbeat']));
  if (now !== null && Date.parse(now.last_heartbeat) > before + TOLERANCE_MS)
    return { worker_id: undefined, released: 0 };
  const pool_id = textOf(context['pool_id']) ?? textOf(found['pool_id']);
  // First the jobs: whoever dies in between leaves a worker that is found again.
  const released = pool_id === undefined ? 0 : await work.pool(pool_id).releaseByWorker(worker_id);
  if (now !== null) await registration.updateStatus(worker_id, 'lost');
  return { worker_id, released };
}

function needed(context: HookContext, key: string, field = key): string {
  const value = context[key];
  const text = typeof value === 'number' ? String(value) : textOf(value);
  if (text !== undefined) return text;
  throw fault('INVALID_INPUT', { field, problem: 'it is missing' }, { hint: `Put "${key}" into the context.` });
}

const absent = (value: unknown): boolean => value === undefined || value === null || value === '';

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A number that is written as a text is one too: inputs often come out of templates. */
function numberOf(context: HookContext, key: string, absently: number): number {
  const value = context[key];
  const number = absent(value) ? absently : Number(value);
  if (Number.isFinite(number) && number >= 0 && typeof value !== 'boolean') return number;
  throw refuse(key, 'it must be a number from 0 on');
}

const countOf = (context: HookContext, key: string, absently: number): number =>
  Math.floor(numberOf(context, key, absently));

export function capabilitiesOf({ capabilities }: HookContext): { readonly capabilities?: readonly string[] } {
  if (absent(capabilities)) return {};
  if (Array.isArray(capabilities)) return { capabilities: capabilities as readonly string[] };
  throw refuse('capabilities', 'it must be a list of texts');
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
