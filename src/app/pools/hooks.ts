import { AsyncLocalStorage } from 'node:async_hooks';
import type { World } from '../../core/world.ts';
import type { HookContext, HookedRun, MachineHooks } from '../../worker/machine/machine-hooks.ts';
import { checkOptions, fault } from '../library/manual.ts';
import { realWorld } from '../world.ts';
import { ACTIONS, capabilitiesOf, textOf } from './actions.ts';
import type { BackendConfig } from './backend-config.ts';
import { BackendOpener, type Backends } from './open-backends.ts';
import type { RegistrationBackend } from './registration-backend.ts';
import { RunScope } from './run-scope.ts';
import type { WorkBackend } from './work-backend.ts';
import { intervalOf, WorkerLife } from './worker-life.ts';

export interface DistributedWorkerOptions {
  /** Backends of the caller, who closes them. */
  readonly work_backend?: WorkBackend;
  readonly registration_backend?: RegistrationBackend;
  /** In place of `settings.backends` of the machine. They are opened with the first action, and closed with the run. */
  readonly backends?: BackendConfig;
  /** The machine that `spawn_workers` starts, where the context names none; default `job_worker`. */
  readonly worker_config_path?: string;
  /** Where its path begins; default: the folder of the process. */
  readonly folder?: string;
  readonly world?: World;
}

const OPTIONS: ReadonlySet<string> = new Set([
  'work_backend',
  'registration_backend',
  'backends',
  'worker_config_path',
  'folder',
  'world',
] satisfies (keyof DistributedWorkerOptions)[]);

/**
 * The actions of checkers, workers and reapers of FlatMachines. A machine with `settings.heartbeat_interval` or `worker_pool` is a worker:
 * it is registered at its start, beats by a timer, and says goodbye at its end.
 */
export class DistributedWorkerHooks implements MachineHooks {
  readonly #options: DistributedWorkerOptions;
  readonly #opener: BackendOpener;
  readonly #world: World;
  /** The run that an action belongs to: one object may serve many at once. */
  readonly #runs = new AsyncLocalStorage<RunScope>();
  /** Of calls outside of any run. */
  #ownBackends: Promise<Backends> | undefined;

  constructor(options: DistributedWorkerOptions = {}) {
    checkOptions('distributed worker options', options, OPTIONS);
    const { work_backend, registration_backend, world } = options;
    if ((work_backend === undefined) !== (registration_backend === undefined)) {
      const problem = 'give both backends, or none';
      throw fault('INVALID_INPUT', { field: 'work_backend, registration_backend', problem });
    }
    this.#options = options;
    this.#opener = new BackendOpener(world);
    this.#world = world ?? realWorld();
  }

  /** Closes what actions outside of a run have opened. */
  async close(): Promise<void> {
    const own = this.#ownBackends;
    this.#ownBackends = undefined;
    await (await own?.catch(() => undefined))?.release();
  }

  async aroundRun(run: HookedRun, drive: () => Promise<unknown>): Promise<unknown> {
    const scope = new RunScope(run, this.#runs.getStore());
    let error: string | undefined;
    try {
      return await this.#runs.run(scope, drive);
    } catch (caught) {
      error = run.stop.aborted ? 'it was stopped' : messageOf(caught);
      throw caught;
    } finally {
      await scope.leave(error);
      // A goodbye that does not reach the store is what the reaper is for.
      await scope.life?.end(error).catch(() => {});
      scope.life?.stop();
      await scope.close();
    }
  }

  async onMachineStart(context: HookContext): Promise<HookContext> {
    return this.#asWorker(context);
  }

  /** Given the action and the context; from version 4 of machines on the state comes first. */
  async onAction(...given: readonly unknown[]): Promise<HookContext> {
    const action = given.at(-2) as string;
    const context = await this.#asWorker(given.at(-1) as HookContext);
    const perform = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    // That of other hooks beside these.
    if (perform === undefined) return context;
    const written = await perform({
      context,
      backends: await this.#backends(),
      scope: this.#runs.getStore(),
      world: this.#world,
      options: this.#options,
    });
    return written === undefined ? context : { ...context, ...written };
  }

  /** A machine that is a worker by its settings is registered before it does anything. */
  async #asWorker(context: HookContext): Promise<HookContext> {
    const scope = this.#runs.getStore();
    const { heartbeat_interval = null, worker_pool = null } = scope?.run.settings ?? {};
    if (scope === undefined || (heartbeat_interval ?? worker_pool) === null) return context;
    const worker_id = textOf(context['worker_id']) ?? scope.run.executionId;
    if (scope.life === undefined) {
      const interval = intervalOf(heartbeat_interval);
      const pool_id = textOf(worker_pool) ?? textOf(context['pool_id']);
      const { registration } = await this.#backends();
      const { life } = await WorkerLife.begin(registration, this.#world, {
        worker_id,
        ...capabilitiesOf(context),
        ...(pool_id === undefined ? {} : { pool_id }),
        ...(interval === undefined ? {} : { heartbeat_interval: interval }),
      });
      scope.life = life;
    }
    return context['worker_id'] === worker_id ? context : { ...context, worker_id };
  }

  #backends(): Promise<Backends> {
    const { work_backend: work, registration_backend: registration, backends } = this.#options;
    if (work !== undefined && registration !== undefined) {
      return Promise.resolve({ work, registration, inMemory: false, release: async () => {} });
    }
    const scope = this.#ownerOf(this.#runs.getStore());
    if (scope === undefined) return (this.#ownBackends ??= this.#opener.open(backends));
    const { backends: set } = scope.run.settings;
    return (scope.backends ??= this.#opener.open(backends ?? (set as unknown as BackendConfig | null) ?? undefined));
  }

  /** A machine within another one works where that works, unless its own settings say otherwise. */
  #ownerOf(scope: RunScope | undefined): RunScope | undefined {
    if (scope?.parent === undefined) return scope;
    const own = this.#options.backends === undefined && (scope.run.settings['backends'] ?? null) !== null;
    return own ? scope : this.#ownerOf(scope.parent);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
