import type { Timers } from '../../core/world.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { CredentialReader } from '../credentials/handler-credentials.ts';
import type { AnyTask } from '../define/definition.ts';
import { jsonSchemaOf } from '../define/schema.ts';
import type { WorkspaceReader } from '../workspace/handler-workspace.ts';
import { callHandler, type HandlerRun } from './run-handler.ts';
import type {
  ActiveRun,
  AttemptSession,
  Ladder,
  LogSink,
  RunHost,
  Runner,
  RunOutcome,
  RunRequest,
  SessionProvider,
  StoppableRun,
  StopReason,
} from './runner.ts';

/** Runs handlers in the worker's own loop: no start-up cost, no isolation. A handler that ignores its signal cannot be ended. */
export class InlineRunner implements Runner {
  readonly isolates = false;
  readonly #tasks: ReadonlyMap<string, AnyTask>;
  readonly #timers: Timers;

  constructor(tasks: readonly AnyTask[], timers: Timers) {
    this.#tasks = new Map(tasks.map((task) => [task.name, task]));
    this.#timers = timers;
  }

  get handlers(): readonly string[] {
    return [...this.#tasks.keys()];
  }

  timeoutMs(handler: string): number | undefined {
    return this.#tasks.get(handler)?.timeoutMs;
  }

  schemaOf(handler: string): string | undefined {
    return jsonSchemaOf(this.#tasks.get(handler)?.schema);
  }

  async start(): Promise<void> {}

  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    const run = new InlineRun(sink, sessions, { ended: resolve }, this.#timers);
    run.start(this.#tasks.get(request.handler), request);
    return { ended: promise, stop: (why, ladder) => run.stop(why, ladder) };
  }

  begin(request: RunRequest, sink: LogSink, host: RunHost): StoppableRun {
    const run = new InlineRun(sink, host, host, this.#timers);
    run.start(this.#tasks.get(request.handler), request);
    return run;
  }

  async close(): Promise<void> {}
}

/** One run, and the parts of its context. */
class InlineRun implements StoppableRun, HandlerRun {
  readonly #sink: LogSink;
  readonly #sessions: SessionProvider | undefined;
  readonly #timers: Timers;
  /** Undefined once it was told. */
  #listener: Pick<RunHost, 'ended'> | undefined;
  /** Made at the first use: most short handlers never look at it, and it is a tenth of their cost. */
  #abort: AbortController | undefined;
  #stopped: StopReason | undefined;
  #cancelTimers: (() => void)[] | undefined;

  constructor(sink: LogSink, sessions: SessionProvider | undefined, listener: Pick<RunHost, 'ended'>, timers: Timers) {
    this.#sink = sink;
    this.#sessions = sessions;
    this.#listener = listener;
    this.#timers = timers;
  }

  start(definition: AnyTask | undefined, request: RunRequest): void {
    if (definition === undefined) queueMicrotask(() => this.end(unknown(request)));
    else void callHandler(definition, request, this);
  }

  stop(why: StopReason, ladder: Ladder): void {
    if (this.#listener === undefined) return;
    const first = this.#stopped === undefined;
    this.#stopped ??= why;
    if (first) {
      // A parked attempt stops by its own request, and its log is closed.
      if (why !== 'parked') this.#sink.line('system', `stop (${why}): abort signal`);
      this.#abort?.abort(new StopError(why));
    }
    // The timer of an earlier stop stays: the first that fires counts, so that a second stop never gives more time.
    const cancel = this.#timers.after(ladder.abortMs + ladder.termMs, () => {
      this.#sink.line('system', `stop (${why}): the handler ignores its signal and runs on inside the worker`);
      this.end({ kind: 'failed', error: new StopError(why) });
    });
    this.#cancelTimers ??= [];
    this.#cancelTimers.push(cancel);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#stopped !== undefined) this.#abort.abort(new StopError(this.#stopped));
    }
    return this.#abort.signal;
  }

  get log(): (message: string) => void {
    // Passed on unchanged: the sink converts it, and does not throw when that fails.
    return (message) => this.#sink.line('log', message);
  }

  get progress(): (value: unknown) => void {
    return (value) => this.#sink.progress(value);
  }

  get session(): AttemptSession | undefined {
    return this.#sessions?.session;
  }

  get credentials(): CredentialReader | undefined {
    return this.#sessions?.credentials;
  }

  get artifacts(): ArtifactReader | undefined {
    return this.#sessions?.artifacts;
  }

  get workspaces(): WorkspaceReader | undefined {
    return this.#sessions?.workspaces;
  }

  /** The first end counts; the later result of an abandoned handler is dropped. */
  end(outcome: RunOutcome): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    if (this.#cancelTimers !== undefined) for (const cancel of this.#cancelTimers) cancel();
    listener.ended(outcome);
  }
}

/** The reason of `ctx.signal`. */
export class StopError extends Error {
  readonly why: StopReason;

  constructor(why: StopReason) {
    super(REASONS[why]);
    this.name = 'AbortError';
    this.why = why;
  }
}

const REASONS: Readonly<Record<StopReason, string>> = {
  cancelled: 'the task was cancelled',
  timeout: 'the run timeout of the task has passed',
  lost: 'the lease of the task is lost',
  shutdown: 'the worker is shutting down',
  parked: 'the task waits, and will be run again',
};

function unknown(request: RunRequest): RunOutcome {
  return {
    kind: 'unstarted',
    error: { name: 'HandlerNotFound', message: `no handler named ${request.handler} is here` },
  };
}
