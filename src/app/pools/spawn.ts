/** Worker machines in processes of their own. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fault, isEngineError } from '../library/manual.ts';
import { HOOKS_NAME } from './hooks-name.ts';
import type { Backends } from './open-backends.ts';
import { FILE_VARIABLE } from './open-backends.ts';

/** More processes at once are a mistake, and no host wants them. */
const MOST_SPAWNED = 100;
/** Of a pool. Every other worker counts, whatever its word for what it does is. */
const GONE: ReadonlySet<string> = new Set(['terminating', 'terminated', 'lost']);
/** A worker that told no interval and is silent for longer is not counted. */
export const STALE_SECONDS = 60;

export const newWorkerId = (): string => `worker-${randomBytes(4).toString('hex')}`;

/** The workers of a pool that are there: those that have gone or fallen silent are not counted, though nobody has marked them yet. */
export async function aliveIn({ registration }: Backends, pool_id: string): Promise<number> {
  const all = await registration.list({ pool_id });
  const stale = await registration.list({ pool_id, stale_threshold_seconds: STALE_SECONDS });
  const silent = new Set(stale.map(({ worker_id }) => worker_id));
  return all.filter(({ status, worker_id }) => !GONE.has(status) && !silent.has(worker_id)).length;
}

export interface SpawnRequest {
  readonly pool_id: string;
  /** So many, unless the pool has its most before. */
  readonly count: number;
  readonly max_workers?: number | undefined;
  /** The machine of the worker: a file, or the name of one that comes with leasehold. */
  readonly machine: string;
  /** What its path begins with. */
  readonly folder: string;
}

/**
 * Starts workers and resolves to their ids. Each has a row in the registry before its process runs, and rows are counted and made by one
 * caller at a time: two checkers together start no more than the most.
 */
export async function spawnWorkers(backends: Backends, request: SpawnRequest): Promise<readonly string[]> {
  const { registration, inMemory } = backends;
  if (request.count <= 0) return [];
  if (inMemory) {
    const problem = 'another process cannot work on pools in memory';
    const hint = 'Keep the pools in a file or on Postgres, or launch the workers within the process with "launch:".';
    throw fault('INVALID_INPUT', { field: 'settings.backends', problem }, { hint });
  }
  const body = (): Promise<readonly string[]> => startAll(backends, request);
  return registration.exclusive === undefined ? body() : registration.exclusive('spawn', body);
}

async function startAll(backends: Backends, request: SpawnRequest): Promise<readonly string[]> {
  const { pool_id, count, max_workers = Number.POSITIVE_INFINITY } = request;
  const { registration, file } = backends;
  const room =
    max_workers === Number.POSITIVE_INFINITY ? max_workers : max_workers - (await aliveIn(backends, pool_id));
  const launch = await launcherOf(request, file);
  const started: string[] = [];
  while (started.length < Math.min(count, room, MOST_SPAWNED)) {
    const worker_id = newWorkerId();
    if (!(await hasRegistered(registration, { worker_id, pool_id }))) break;
    await registration.updateStatus(worker_id, 'starting');
    try {
      await launch({ pool_id, worker_id });
    } catch (error) {
      await registration.updateStatus(worker_id, 'terminated');
      throw error;
    }
    started.push(worker_id);
  }
  return started;
}

/** False: the pool has its most workers, whatever the machine has asked for. */
async function hasRegistered(
  registration: Backends['registration'],
  worker: { readonly worker_id: string; readonly pool_id: string },
): Promise<boolean> {
  try {
    await registration.register(worker);
    return true;
  } catch (error) {
    if (isEngineError(error, 'LIMIT_REACHED')) return false;
    throw error;
  }
}

type Launch = (input: { readonly pool_id: string; readonly worker_id: string }) => Promise<unknown>;

/** What reads machines is loaded here: most programs with pools run none. */
async function launcherOf({ machine, folder }: SpawnRequest, file: string | undefined): Promise<Launch> {
  const [{ findMachine }, { launchMachine }, { checkedMachine }] = await Promise.all([
    import('../machines/find.ts'),
    import('../machines/launch.ts'),
    import('../../worker/machine/load-machine.ts'),
  ]);
  const beside = resolve(folder, machine);
  const found = existsSync(beside) ? beside : machine;
  // A machine that names no hooks, such as the printed one, gets those that started it.
  const { hooks, lifecycleHooks } = checkedMachine(await findMachine(found), {});
  const named = hooks.length + lifecycleHooks.length > 0;
  return (input) =>
    launchMachine(found, input, {
      executionId: input.worker_id,
      ...(named ? {} : { hooks: [HOOKS_NAME] }),
      // For a machine that does not say where its pools are.
      ...(file === undefined ? {} : { environment: { [FILE_VARIABLE]: file } }),
    });
}
