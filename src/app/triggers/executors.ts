import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environment } from '../../config/environment.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { Worker } from '../../worker/worker.ts';
import type { BuiltinOptions } from '../builtin-worker.ts';
import type { AppWorkerOptions } from '../worker.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/leasehold.js', import.meta.url));
/** Runs in the loop of this process at a time, for each queue. */
const SLOTS = 4;
const IDLE_MS = 60_000;
/** Processes at a time. More work waits until one of them has ended. */
const MOST_PROCESSES = 8;
/** A process that finds its task taken ends after this time. */
const PROCESS_IDLE = '5s';

export interface ExecutorsOptions {
  readonly engine: Engine;
  readonly log: Log;
  /** The store, by which another process finds it; undefined: it is in the memory of this one. */
  readonly store: string | undefined;
  readonly worker: (options: AppWorkerOptions) => Worker;
  /** What runs may do here; default: as a program that opens a store and says nothing. */
  readonly builtin?: BuiltinOptions | undefined;
}

/** Executes the runs of triggers that are not for any worker. A run is a task all the same: what dies here is taken up again. */
export class Executors {
  readonly #options: ExecutorsOptions;
  readonly #loops = new Map<string, Worker>();
  /** How many processes serve each queue. */
  readonly #processes = new Map<string, number>();
  #closed = false;

  constructor(options: ExecutorsOptions) {
    this.#options = options;
  }

  /** Answers at once. */
  serve(execution: 'loop' | 'process', queue: string): void {
    if (this.#closed) return;
    const work = execution === 'loop' || this.#options.store === undefined ? this.#loop(queue) : this.#process(queue);
    work.catch((error: unknown) => {
      this.#options.log.warn('the run of a trigger could not be executed here', { queue, error: String(error) });
    });
  }

  /** Workers in the loop end with their app. Processes end by themselves. */
  close(): void {
    this.#closed = true;
  }

  async #loop(queue: string): Promise<void> {
    if (this.#loops.has(queue)) return;
    const { builtinWorkerOptions } = await import('../builtin-worker.ts');
    if (this.#closed || this.#loops.has(queue)) return;
    const { builtin = NOTHING_ALLOWED } = this.#options;
    const { known: _, modules: __, ...options } = builtinWorkerOptions({ ...builtin, handlers: [] });
    const name = `${builtin.name.slice(0, 55)}-loop`;
    const worker = this.#options.worker({ ...options, name, queues: [queue], slots: SLOTS, idleExit: IDLE_MS });
    this.#loops.set(queue, worker);
    void worker.ended.then(() => this.#loops.delete(queue));
    await worker.start();
  }

  async #process(queue: string): Promise<void> {
    const all = [...this.#processes.values()].reduce((sum, n) => sum + n, 0);
    const ready = (await this.#options.engine.stats(queue)).ready;
    if (all >= MOST_PROCESSES || ready <= (this.#processes.get(queue) ?? 0) || this.#closed) return;
    const { store, builtin } = this.#options;
    const args = [
      PROGRAM,
      'worker',
      '--once',
      `--queue=${queue}`,
      `--idle-exit=${PROCESS_IDLE}`,
      ...argumentsOf(builtin),
    ];
    const child = spawn(process.execPath, args, {
      detached: true,
      stdio: 'ignore',
      // Not an argument: an address may have a password, and other users see those.
      env: { ...environment(), LEASEHOLD_STORE: store },
      ...(builtin === undefined ? {} : { cwd: builtin.root }),
    });
    this.#count(queue, 1);
    child.once('error', (error) => {
      this.#count(queue, -1);
      this.#options.log.warn('a process for the run of a trigger could not be started', {
        queue,
        error: String(error),
      });
    });
    child.once('exit', () => {
      this.#count(queue, -1);
      this.serve('process', queue);
    });
    child.unref();
  }

  #count(queue: string, by: number): void {
    const n = (this.#processes.get(queue) ?? 0) + by;
    if (n > 0) this.#processes.set(queue, n);
    else this.#processes.delete(queue);
  }
}

const NOTHING_ALLOWED: BuiltinOptions = {
  name: 'trigger',
  slots: SLOTS,
  tags: [],
  priority: 0,
  queues: [],
  handlers: [],
  allow: [],
  allowHttp: [],
  allowEnv: [],
  root: process.cwd(),
};

/** What the worker of the node may do, its process may do too. */
function argumentsOf(builtin: BuiltinOptions | undefined): readonly string[] {
  if (builtin === undefined) return ['--allow=none'];
  const { allow, allowHttp, allowEnv, handlers, tags, loopRoots = {}, workspaces } = builtin;
  return [
    `--allow=${allow.length === 0 ? 'none' : allow.join(',')}`,
    ...allowHttp.map((one) => `--allow-http=${one}`),
    ...allowEnv.map((one) => `--allow-env=${one}`),
    ...handlers.map((one) => `--handlers=${one}`),
    ...tags.map((one) => `--tag=${one}`),
    ...(workspaces?.folder === undefined ? [] : [`--workspace-folder=${workspaces.folder}`]),
    ...(workspaces?.hosts ?? []).map((host) => `--git-host=${host}`),
    ...(workspaces?.protocols === undefined ? [] : [`--git-protocol=${workspaces.protocols.join(',') || 'none'}`]),
    ...Object.entries(loopRoots).map(([name, folder]) => `--loop-root=${name}=${folder}`),
  ];
}
