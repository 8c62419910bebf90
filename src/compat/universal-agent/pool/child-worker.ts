/** A worker that is a process, as its pool sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log, World } from '../../../app/library/run-pools.ts';
import { refuse } from '../../refuse.ts';
import type { ChildStart, ChildState, FromPoolChild, ToPoolChild } from './child-messages.ts';
import type { WorkerConfig } from './configs.ts';
import type { PoolWorker, WorkerState, WorkerStop } from './worker.ts';

const PROGRAM = fileURLToPath(new URL(`./pool-child${extname(import.meta.url)}`, import.meta.url));
/** For modules and the store. */
const START_MS = 60_000;
/** Longer than a worker without draining takes to tell its handlers, and to give their runs back. */
const LEAVE_MS = 10_000;

export interface ChildWorkerParts {
  readonly start: Omit<ChildStart, 'kind' | 'config'>;
  readonly world: World;
  readonly log: Log;
  readonly onChange: () => void;
}

const NEW: Omit<ChildState, 'kind'> = {
  status: 'idle',
  currentRunId: null,
  running: 0,
  runsCompleted: 0,
  runsFailed: 0,
};

export class ChildWorker implements PoolWorker {
  readonly config: WorkerConfig;
  readonly #parts: ChildWorkerParts;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #process: ChildProcess | undefined;
  #told = NEW;
  #isDraining = false;
  #isOver = false;
  #idleSince: number;
  #cancelKill: (() => void) | undefined;

  constructor(config: WorkerConfig, parts: ChildWorkerParts) {
    this.config = config;
    this.#parts = parts;
    this.#idleSince = parts.world.clock.monotonic();
    // Whoever starts it hears of it; nobody else need.
    this.#started.promise.catch(() => {});
  }

  get workerId(): string {
    return this.config.workerId;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get state(): WorkerState {
    const { status, currentRunId, running, runsCompleted, runsFailed } = this.#told;
    const isBusy = running > 0 && !this.#isOver;
    return {
      workerId: this.workerId,
      status: this.#isOver ? 'stopped' : this.#isDraining ? 'draining' : status,
      currentRunId: isBusy ? currentRunId : null,
      running: isBusy ? running : 0,
      runsCompleted,
      runsFailed,
      idleMs: isBusy ? 0 : this.#parts.world.clock.monotonic() - this.#idleSince,
    };
  }

  start(): Promise<void> {
    if (this.#process !== undefined || this.#isOver)
      return Promise.reject(refuse('worker', 'it was started or stopped before'));
    // What handlers print is no answer of this program.
    // Its own flags are for this process: a debugger's port, a test runner's report that the child would begin anew.
    const child = fork(PROGRAM, [], { execArgv: [], serialization: 'json', stdio: ['ignore', 2, 2, 'ipc'] });
    this.#process = child;
    child.on('message', (message: FromPoolChild) => this.#heard(message));
    child.once('error', (error) => this.#over(error.message));
    child.once('close', (code, signal) => this.#over(`it ended (${signal ?? code})`));
    this.#say({ kind: 'start', ...this.#parts.start, config: this.config.fields() });
    this.#killAfter(START_MS);
    return this.#started.promise;
  }

  stop({ drain = true }: WorkerStop = {}): Promise<void> {
    this.#isDraining = true;
    if (this.#process === undefined) this.#over('it was never started');
    this.#say({ kind: 'stop', drain });
    if (!drain) this.#killAfter(LEAVE_MS);
    return this.#ended.promise;
  }

  #heard(message: FromPoolChild): void {
    switch (message.kind) {
      case 'started':
        this.#cancelKill?.();
        this.#idleSince = this.#parts.world.clock.monotonic();
        this.#started.resolve();
        return;
      case 'state': {
        const { kind: _, ...told } = message;
        if (told.running === 0 && this.#told.running > 0) this.#idleSince = this.#parts.world.clock.monotonic();
        this.#told = told;
        return this.#parts.onChange();
      }
      case 'failed':
        this.#started.reject(new Error(message.message));
        return;
      case 'warning':
        return this.#parts.log.warn(message.message, { ...message.fields, worker_id: this.workerId });
    }
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelKill?.();
    this.#idleSince = this.#parts.world.clock.monotonic();
    this.#started.reject(new Error(`the process of the worker did not start: ${how}`));
    this.#ended.resolve();
    this.#parts.onChange();
  }

  #say(message: ToPoolChild): void {
    // One that ends meanwhile says so by its end.
    if (this.#process?.connected === true) this.#process.send(message, () => {});
  }

  /** One that does not answer, because its loop is blocked. */
  #killAfter(ms: number): void {
    this.#cancelKill?.();
    this.#cancelKill = this.#parts.world.timers.after(ms, () => void this.#process?.kill('SIGKILL'), { unref: true });
  }
}
