import { type ChildProcess, spawn } from 'node:child_process';

/** How a start of the worker ended. */
export interface WorkerEnd {
  readonly status: number;
  /** It had reached its node. */
  readonly connected: boolean;
}

/** The worker tells its updater so, over the channel between them. */
export const CONNECTED = 'leasehold: connected';
const KILL_MS = 10_000;

/** One start of the worker. */
export class WorkerProcess {
  readonly ended: Promise<WorkerEnd>;
  readonly connected: Promise<void>;
  readonly #child: ChildProcess;
  #connected = false;

  constructor(program: string, args: readonly string[]) {
    const connected = Promise.withResolvers<void>();
    this.connected = connected.promise;
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', (message) => {
      if (message !== CONNECTED) return;
      this.#connected = true;
      connected.resolve();
    });
    const { promise, resolve } = Promise.withResolvers<WorkerEnd>();
    this.ended = promise;
    const end = (status: number): void => resolve({ status, connected: this.#connected });
    this.#child.once('error', () => end(127));
    this.#child.once('exit', (code, signal) => end(code ?? 128 + (SIGNALS[signal ?? ''] ?? 9)));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it, in order if it still can. */
  async end(): Promise<void> {
    this.signal('SIGTERM');
    const late = setTimeout(() => this.signal('SIGKILL'), KILL_MS);
    await this.ended;
    clearTimeout(late);
  }
}

const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};
