import type {
  ActiveRun,
  LogSink,
  RunHost,
  Runner,
  RunOutcome,
  RunRequest,
  SessionProvider,
  StoppableRun,
} from '../runner/runner.ts';
import type { TaskGate } from './task-gate.ts';

const NOTHING_RUNS: StoppableRun = { stop: () => {} };

/** A runner that asks the gate first: a task that is refused reaches no handler and no child process, and fails for good. */
export class GuardedRunner implements Runner {
  readonly #inner: Runner;
  readonly #gate: TaskGate;
  readonly begin?: (request: RunRequest, sink: LogSink, host: RunHost) => StoppableRun;

  constructor(inner: Runner, gate: TaskGate) {
    this.#inner = inner;
    this.#gate = gate;
    if (inner.begin !== undefined) this.begin = (request, sink, host) => this.#begin(request, sink, host);
  }

  get isolates(): boolean {
    return this.#inner.isolates;
  }

  get handlers(): readonly string[] {
    return this.#inner.handlers;
  }

  timeoutMs(handler: string): number | undefined {
    return this.#inner.timeoutMs?.(handler);
  }

  schemaOf(handler: string): string | undefined {
    return this.#inner.schemaOf?.(handler);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  run(request: RunRequest, sink: LogSink, sessions?: SessionProvider): ActiveRun {
    const refused = this.#refusal(request, sink);
    if (refused === undefined) return this.#inner.run(request, sink, sessions);
    return { ...NOTHING_RUNS, ended: Promise.resolve(refused) };
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #begin(request: RunRequest, sink: LogSink, host: RunHost): StoppableRun {
    const refused = this.#refusal(request, sink);
    if (refused === undefined) return (this.#inner.begin as NonNullable<Runner['begin']>)(request, sink, host);
    queueMicrotask(() => host.ended(refused));
    return NOTHING_RUNS;
  }

  #refusal(request: RunRequest, sink: LogSink): RunOutcome | undefined {
    let error: unknown;
    try {
      error = this.#gate.refusalOf(request);
    } catch (thrown) {
      // What cannot be checked is not run.
      error = thrown;
    }
    if (error === undefined) return undefined;
    sink.line('stderr', `refused by this worker: ${(error as Error).message}`);
    return { kind: 'giveUp', error };
  }
}
