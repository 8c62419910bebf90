import { fault, isEngineError } from '../../../core/errors.ts';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import type { ModuleToLoad, Timeouts } from '../child/messages.ts';
import type { ActiveRun, LogSink, Runner, RunRequest, SessionProvider } from '../runner.ts';
import { ChildRun } from './child-run.ts';
import { Guard } from './guard.ts';
import { type Modules, modulesToLoad } from './modules-to-load.ts';
import { sweep } from './sweep.ts';
import { WarmChild } from './warm-child.ts';

export interface ProcessRunnerOptions {
  /** URLs or absolute paths of modules whose exports are tasks; or `{ [name of a task]: its module }`. */
  readonly modules: Modules;
  /** How many runs at once. */
  readonly slots: number;
  /** Marks the processes of this runner; the guard ends all that carry it. Unique to this start and this runner. */
  readonly incarnation: string;
  /** The environment of the child processes. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Options of Node for the child processes. */
  readonly execArgv?: readonly string[];
  /** Idle children beside the one for the next run, so that a killed child is replaced at once; default 1. */
  readonly spares?: number;
  /** A child is replaced after so many runs; default: never. */
  readonly maxRunsPerChild?: number;
  /** A child beyond the spares is ended after being idle this long; default 60 s. */
  readonly idleMs?: number;
  /** How long a child may take to load the modules; default 30 s. */
  readonly startMs?: number;
  /** How long no child is started after three failed starts in a row; doubles, up to 30 times as long. Default 1 s. */
  readonly backoffMs?: number;
  readonly log?: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

const FAILURES_IN_A_ROW = 3;
const MAX_BACKOFF = 30;
const MARK = /^[\w.:@-]{1,200}$/;

/** Runs tasks in warm child processes, one task at a time in each. A run can be killed, with all the processes that it started. */
export class ProcessRunner implements Runner {
  readonly isolates = true;
  readonly #options: ProcessRunnerOptions;
  readonly #modules: readonly ModuleToLoad[];
  readonly #guard: Guard;
  readonly #spares: number;
  /** Children that may take a run, now or later. */
  readonly #children = new Set<WarmChild>();
  /** All children that are not gone, also those that are ending. */
  readonly #all = new Set<WarmChild>();
  readonly #starting = new Set<WarmChild>();
  /** Longest idle first. */
  #idle: WarmChild[] = [];
  readonly #busy = new Map<WarmChild, ChildRun>();
  #waiting: ChildRun[] = [];
  #handlers: readonly string[] = [];
  #timeouts: Timeouts = {};
  #schemas: readonly HandlerSchema[] = [];
  #state: 'new' | 'open' | 'closed' = 'new';
  #failures = 0;
  #resting: { readonly timer: NodeJS.Timeout; readonly cause: string } | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ProcessRunnerOptions) {
    if (!MARK.test(options.incarnation)) {
      throw fault('INVALID_INPUT', {
        field: 'incarnation',
        problem: 'it must consist of letters, digits and . : @ _ -',
      });
    }
    this.#options = options;
    this.#modules = modulesToLoad(options.modules);
    this.#spares = options.spares ?? 1;
    this.#guard = new Guard({ incarnation: options.incarnation, path: options.env.PATH, warn: this.#warn });
  }

  get handlers(): readonly string[] {
    return this.#handlers;
  }

  timeoutMs(handler: string): number | undefined {
    return Object.hasOwn(this.#timeouts, handler) ? this.#timeouts[handler] : undefined;
  }

  schemaOf(handler: string): string | undefined {
    return this.#schemas.find((one) => one.handler === handler)?.schema;
  }

  /** Rejects when a module does not load or two tasks have the same name; then no process is left running. */
  async start(): Promise<void> {
    try {
      this.#refuseClosed();
      await this.#guard.start();
      this.#refuseClosed();
      const first = this.#spawn();
      this.#handlers = await first.ready;
      this.#timeouts = first.timeouts;
      this.#schemas = first.schemas;
      this.#refuseClosed();
      this.#state = 'open';
      this.#serve();
    } catch (error) {
      await this.close();
      throw isEngineError(error) ? error : fault('INTERNAL', { problem: messageOf(error) }, { cause: error });
    }
  }

  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun {
    const run = new ChildRun(request, sink, sessions);
    if (this.#state !== 'open') {
      run.unstarted('the runner of the child processes is not open');
      return run;
    }
    this.#waiting.push(run);
    this.#serve();
    if (this.#resting !== undefined && !run.over && this.#waiting.includes(run)) run.unstarted(this.#resting.cause);
    return run;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #refuseClosed(): void {
    if (this.#state === 'closed') throw fault('CONFLICT', { problem: 'the runner of the child processes was closed' });
  }

  async #close(): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#resting?.timer);
    clearTimeout(this.#idleTimer);
    for (const run of this.#waiting) run.unstarted('the worker is shutting down');
    for (const run of this.#busy.values()) run.stop('shutdown', { abortMs: 0, termMs: 0 });
    for (const child of this.#starting) child.kill();
    for (const child of this.#idle) child.retire();
    await Promise.all([...this.#all].map(({ gone }) => gone));
    const { incarnation } = this.#options;
    const none = new Set<number>();
    await sweep({ incarnation, lease: 'all', leader: undefined, spareLeader: false, groups: none, family: [] });
    await this.#guard.close();
  }

  /** Gives waiting runs to idle children, and starts more children where there are too few. */
  #serve(): void {
    if (this.#state !== 'open') return;
    this.#waiting = this.#waiting.filter((run) => {
      if (run.over) return false;
      const child = this.#busy.size < this.#options.slots ? this.#pick(run.request.alone) : undefined;
      if (child === undefined) return true;
      this.#busy.set(child, run);
      child.take(run);
      return false;
    });
    this.#fill();
    this.#watchIdle();
  }

  /** The child used last, as it is the warmest. A child never used only where the run needs one, or there is no other. */
  #pick(alone: boolean): WarmChild | undefined {
    const index = this.#idle.findLastIndex(({ runs }) => alone === (runs === 0));
    if (index === -1) return alone ? undefined : this.#idle.pop();
    return this.#idle.splice(index, 1)[0];
  }

  #fill(): void {
    const room = this.#options.slots - this.#busy.size;
    const needed = Math.max(this.#waiting.length, 1);
    while (this.#starting.size + this.#idle.length < Math.min(needed, room) + this.#spares && this.#trySpawn());
    // Runs that need a new process cannot use these children: the oldest one makes room.
    const alone = Math.min(this.#waiting.filter(({ request }) => request.alone).length, room);
    const fresh = (): number => this.#starting.size + this.#idle.filter(({ runs }) => runs === 0).length;
    while (fresh() < alone && this.#trySpawn()) this.#idle[0]?.retire();
  }

  /** False: no child can be started now. */
  #trySpawn(): boolean {
    if (this.#resting !== undefined) return false;
    try {
      this.#spawn();
      return true;
    } catch (error) {
      // The system is out of memory or of processes.
      this.#notStarted(messageOf(error));
      return false;
    }
  }

  #spawn(): WarmChild {
    const { incarnation, env, execArgv = [], startMs = 30_000 } = this.#options;
    const child = new WarmChild(
      { modules: this.#modules, incarnation, env, execArgv, startMs, guard: this.#guard, warn: this.#warn },
      { onFree: (free, littered) => this.#free(free, littered), onDoomed: (...doom) => this.#doomed(...doom) },
    );
    this.#children.add(child);
    this.#all.add(child);
    this.#starting.add(child);
    child.ready.then(
      () => this.#started(child),
      (error: unknown) => this.#notStarted(messageOf(error)),
    );
    void child.gone.then(() => {
      this.#all.delete(child);
      this.#busy.delete(child);
      this.#serve();
    });
    return child;
  }

  #started(child: WarmChild): void {
    this.#starting.delete(child);
    if (!this.#children.has(child)) return;
    this.#putIdle(child);
    this.#serve();
  }

  /** Counts the failure. Only a run that ends resets the count. */
  #notStarted(cause: string): void {
    if (this.#state !== 'open' || this.#resting !== undefined) return;
    this.#failures++;
    this.#warn('a child process did not start', { error: cause });
    if (this.#failures < FAILURES_IN_A_ROW) this.#serve();
    else this.#rest(`no child process starts: ${cause}`);
  }

  /** Starts no child for a while, and ends the waiting runs as unstarted. */
  #rest(cause: string): void {
    const times = Math.min(2 ** (this.#failures - FAILURES_IN_A_ROW), MAX_BACKOFF);
    const timer = setTimeout(
      () => {
        this.#resting = undefined;
        this.#serve();
      },
      (this.#options.backoffMs ?? 1_000) * times,
    );
    this.#resting = { timer, cause };
    for (const run of this.#waiting) run.unstarted(cause);
    this.#waiting = [];
  }

  #free(child: WarmChild, littered: boolean): void {
    const alone = this.#busy.get(child)?.request.alone === true;
    this.#busy.delete(child);
    this.#failures = 0;
    if (littered) child.kill();
    else if (
      this.#state === 'closed' ||
      alone ||
      child.runs >= (this.#options.maxRunsPerChild ?? Number.POSITIVE_INFINITY)
    )
      child.retire();
    else this.#putIdle(child);
    this.#serve();
  }

  #doomed(child: WarmChild, byItself: boolean): void {
    this.#children.delete(child);
    const starting = this.#starting.delete(child);
    this.#idle = this.#idle.filter((other) => other !== child);
    // It loaded and ended before its first run: that counts as a failed start too.
    if (byItself && !starting && child.runs === 0) this.#notStarted('the process ended while it was idle');
    // Later: starting a process blocks the loop for 5 to 50 ms, and the signal to this child goes first.
    else setImmediate(() => this.#serve());
  }

  #putIdle(child: WarmChild): void {
    child.idleSince = performance.now();
    this.#idle.push(child);
  }

  /** Keeps one timer, for the child that has been idle longest. */
  #watchIdle(): void {
    if (!this.#tooManyIdle()) {
      clearTimeout(this.#idleTimer);
      this.#idleTimer = undefined;
      return;
    }
    this.#idleTimer ??= setTimeout(() => this.#endIdle(), Math.max(0, this.#idleLeft(this.#idle[0])));
  }

  #endIdle(): void {
    this.#idleTimer = undefined;
    const [oldest] = this.#idle;
    if (oldest !== undefined && this.#tooManyIdle() && this.#idleLeft(oldest) <= 0) oldest.retire();
    this.#watchIdle();
  }

  #tooManyIdle(): boolean {
    return this.#idle.length > this.#spares + 1;
  }

  #idleLeft(child: WarmChild | undefined): number {
    return (this.#options.idleMs ?? 60_000) - (performance.now() - (child?.idleSince ?? 0));
  }

  readonly #warn = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    try {
      this.#options.log?.warn(message, fields);
    } catch {
      // A broken log must not end the runs.
    }
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
