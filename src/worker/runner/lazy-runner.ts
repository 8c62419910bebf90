import type {
  ActiveRun,
  Ladder,
  LogSink,
  Runner,
  RunOutcome,
  RunRequest,
  SessionProvider,
  StopReason,
} from './runner.ts';

export interface LazyOptions {
  readonly handlers: readonly string[];
  readonly isolates: boolean;
  readonly make: () => Runner;
  readonly timeoutMs?: (handler: string) => number | undefined;
  /** Throws when the runner could never work, before any task is claimed. */
  readonly check?: () => void;
}

/** A runner that starts with its first run. The runner for suspects is one: most workers never need it. */
export class LazyRunner implements Runner {
  readonly isolates: boolean;
  readonly handlers: readonly string[];
  readonly #make: () => Runner;
  readonly #check: () => void;
  readonly #timeoutMs: (handler: string) => number | undefined;
  #runner: Promise<Runner> | undefined;

  constructor(options: LazyOptions) {
    this.handlers = options.handlers;
    this.isolates = options.isolates;
    this.#make = options.make;
    this.#check = options.check ?? (() => {});
    this.#timeoutMs = options.timeoutMs ?? (() => undefined);
  }

  timeoutMs(handler: string): number | undefined {
    return this.#timeoutMs(handler);
  }

  async start(): Promise<void> {
    this.#check();
  }

  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun {
    if (this.#runner === undefined) {
      const runner = this.#begin();
      this.#runner = runner;
      // The next run tries again: otherwise its task would bounce for ever.
      runner.catch(() => {
        if (this.#runner === runner) this.#runner = undefined;
      });
    }
    return new LazyRun(this.#runner, request, sink, sessions);
  }

  async close(): Promise<void> {
    const runner = await this.#runner?.catch(() => undefined);
    await runner?.close();
  }

  async #begin(): Promise<Runner> {
    const runner = this.#make();
    try {
      await runner.start();
    } catch (error) {
      await runner.close().catch(() => {});
      throw error;
    }
    return runner;
  }
}

class LazyRun implements ActiveRun {
  readonly ended: Promise<RunOutcome>;
  readonly #unstarted = Promise.withResolvers<RunOutcome>();
  #running: ActiveRun | undefined;
  #stopped = false;

  constructor(runner: Promise<Runner>, request: RunRequest, sink: LogSink, sessions: SessionProvider | undefined) {
    this.ended = Promise.race([this.#run(runner, request, sink, sessions), this.#unstarted.promise]);
  }

  async #run(
    starting: Promise<Runner>,
    request: RunRequest,
    sink: LogSink,
    sessions: SessionProvider | undefined,
  ): Promise<RunOutcome> {
    try {
      const runner = await starting;
      if (this.#stopped) return await this.#unstarted.promise;
      this.#running = runner.run(request, sink, sessions);
    } catch (error) {
      return { kind: 'unstarted', error };
    }
    return this.#running.ended;
  }

  /** A run that has not begun is dropped: the start of the runner may take long, and a lost lease leaves no time. */
  stop(why: StopReason, ladder: Ladder): void {
    this.#stopped = true;
    if (this.#running === undefined) this.#unstarted.resolve({ kind: 'unstarted', error: `stopped (${why})` });
    else this.#running.stop(why, ladder);
  }
}
