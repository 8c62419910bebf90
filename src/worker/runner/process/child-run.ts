import type { ActiveRun, Ladder, LogSink, RunOutcome, RunRequest, SessionProvider, StopReason } from '../runner.ts';
import { StopLadder, type TakeStep } from './stop-ladder.ts';

/** One run, from the call of `run` until no process of it is left. It waits for a child, then runs in it. */
export class ChildRun implements ActiveRun {
  readonly request: RunRequest;
  readonly sink: LogSink;
  readonly sessions: SessionProvider | undefined;
  readonly ended: Promise<RunOutcome>;
  readonly ladder: StopLadder;
  /** The child has reported that it begins. */
  started = false;
  /** The outcome that the child has reported; processes of the run may be left. */
  outcome: RunOutcome | undefined;
  #takeStep: TakeStep | undefined;
  #resolve: (ended: RunOutcome) => void;
  #over = false;

  constructor(request: RunRequest, sink: LogSink, sessions: SessionProvider | undefined) {
    this.request = request;
    this.sink = sink;
    this.sessions = sessions;
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    this.ended = promise;
    this.#resolve = resolve;
    this.ladder = new StopLadder((step, why, afterMs) => {
      const what = step === 'abort' ? 'abort signal' : `${step} after ${formatMs(afterMs)}`;
      // A parked attempt stops by its own request, and its log is closed.
      if (why !== 'parked') this.sink.line('system', `stop (${why}): ${what}`);
      if (this.#takeStep === undefined) this.unstarted(`the task was stopped (${why}) before it was started`);
      else this.#takeStep(step, why, afterMs);
    });
  }

  get over(): boolean {
    return this.#over;
  }

  get lease(): string {
    return `${this.request.task}/${this.request.attempt}`;
  }

  /** From now on the child takes the steps of a stop. */
  handOver(takeStep: TakeStep): void {
    this.#takeStep = takeStep;
  }

  stop(why: StopReason, ladder: Ladder): void {
    this.ladder.stop(why, ladder);
  }

  unstarted(message: string): void {
    this.settle({ kind: 'unstarted', error: { name: 'NotStarted', message, code: 'NOT_STARTED' } });
  }

  settle(ended: RunOutcome): void {
    this.#over = true;
    this.ladder.finish();
    this.#resolve(ended);
  }
}

export function formatMs(ms: number): string {
  return `${ms.toLocaleString('en-US')} ms`;
}
