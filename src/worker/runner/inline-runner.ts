import type { Timers } from '../../core/world.ts';
import type { AnyTask } from '../define/definition.ts';
import { jsonSchemaOf } from '../define/schema.ts';
import { type ContextParts, runHandler } from './run-handler.ts';
import type {
  ActiveRun,
  AttemptSession,
  Ladder,
  LogSink,
  Runner,
  RunOutcome,
  RunRequest,
  SessionProvider,
  StopReason,
} from './runner.ts';

/** Runs functions in the worker's own loop: no start-up cost, no isolation. What ignores its signal cannot be ended. */
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
    return new InlineRun(this.#tasks.get(request.handler), request, sink, sessions, this.#timers);
  }

  async close(): Promise<void> {}
}

/** One run, and what its context is made of. */
class InlineRun implements ActiveRun, ContextParts {
  readonly ended: Promise<RunOutcome>;
  readonly #sink: LogSink;
  readonly #sessions: SessionProvider | undefined;
  readonly #timers: Timers;
  /** Made when somebody asks for it: most short handlers never look, and it is a tenth of their price. */
  #abort: AbortController | undefined;
  #stopped: StopReason | undefined;
  #resolve: ((ended: RunOutcome) => void) | undefined;
  #cancelTimers: (() => void)[] | undefined;

  constructor(
    definition: AnyTask | undefined,
    request: RunRequest,
    sink: LogSink,
    sessions: SessionProvider | undefined,
    timers: Timers,
  ) {
    this.#sink = sink;
    this.#sessions = sessions;
    this.#timers = timers;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (definition === undefined) this.#end(unknown(request));
    else void this.#perform(definition, request);
  }

  stop(why: StopReason, ladder: Ladder): void {
    if (this.#resolve === undefined) return;
    const first = this.#stopped === undefined;
    this.#stopped ??= why;
    if (first) {
      // Who parks has asked for it, and has ended his log.
      if (why !== 'parked') this.#sink.line('system', `stop (${why}): abort signal`);
      this.#abort?.abort(new StopError(why));
    }
    // Beside the timer of an earlier stop: the one that is over first counts, so that nothing gives it more time.
    const cancel = this.#timers.after(ladder.abortMs + ladder.termMs, () => {
      this.#sink.line('system', `stop (${why}): the handler ignores its signal and runs on inside the worker`);
      this.#end({ kind: 'failed', error: new StopError(why) });
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
    // As it is: the sink makes a text of it, and does not throw when that fails.
    return (message) => this.#sink.line('log', message);
  }

  get progress(): (value: unknown) => void {
    return (value) => this.#sink.progress(value);
  }

  get session(): AttemptSession | undefined {
    return this.#sessions?.session;
  }

  async #perform(definition: AnyTask, request: RunRequest): Promise<void> {
    this.#end(await runHandler(definition, request, this));
  }

  /** The first end counts: what an abandoned handler comes to later is nobody's. */
  #end(ended: RunOutcome): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    for (const cancel of this.#cancelTimers ?? []) cancel();
    resolve(ended);
  }
}

/** What `ctx.signal` gives as its reason. */
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
