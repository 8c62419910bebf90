import { loadCall } from '../../config/load.ts';
import { stepsOfRun } from '../../operate/calls/run-calls.ts';
import type { Operator } from '../../operate/operator.ts';
import type { RunDetailView, RunStepView } from '../../operate/views.ts';
import { errorLine } from '../display/error-line.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { paintState, stateText } from '../display/state.ts';
import { formatClock, formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal, type StopSignal } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { answersTo, isOver } from './run-page.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs tail RUN`. */
export const tail: Command = {
  name: 'runs tail',
  doc: 'Follow a run until its end: its steps, its tasks and what it waits for',
  args: [RUN],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'runs tail nightly/7', does: 'exit status 0 when it completes, 1 when it does not' },
    { line: 'runs tail nightly/7 --json', does: 'one object a line, for programs' },
  ],

  run(args) {
    const { config, args: words } = loadCall(tail, args);
    const [id] = words as [string];
    const out = outFor(config);
    return withOperator(config, (operator) => follow(operator, id, out));
  },
};

/** A step makes no event of its own. */
const POLL_MS = 1000;

async function follow(operator: Operator, id: string, out: Out): Promise<number> {
  const stopping = new AbortController();
  const unlisten = onStopSignals({
    stop: (signal) => stopping.abort(signal),
    force: (signal) => process.exit(exitCodeOfSignal(signal)),
  });
  try {
    // The position of the feed before the run is read, so that its end cannot be missed.
    const { last: after } = await operator.call('readEvents');
    const follower = new RunFollower(operator, id, out);
    let run = await follower.look();
    const ended = new AbortController();
    const signal = AbortSignal.any([stopping.signal, ended.signal]);
    const looks = (async () => {
      while (!isOver(run.state) && !signal.aborted) {
        await waited(POLL_MS, signal);
        run = await follower.look();
      }
      ended.abort();
    })();
    const events = (async () => {
      for await (const item of operator.events({ after, run: run.id, signal })) {
        if (item.kind === 'event') follower.tellEvent(item.event);
      }
    })();
    // Whichever fails ends the other one too.
    const failures = (await Promise.allSettled([looks, events].map((one) => one.finally(() => ended.abort())))).flatMap(
      (one) => (one.status === 'rejected' ? [one.reason as unknown] : []),
    );
    if (failures.length > 0 && !isOver(run.state) && !stopping.signal.aborted) throw failures[0];
    if (stopping.signal.aborted) return exitCodeOfSignal(stopping.signal.reason as StopSignal);
    tellEnd(run, out);
    return run.state === 'completed' ? EXIT.fine : EXIT.failed;
  } finally {
    unlisten();
  }
}

class RunFollower {
  readonly #operator: Operator;
  readonly #id: string;
  readonly #out: Out;
  readonly #told = new Set<string>();
  #summary = '';

  constructor(operator: Operator, id: string, out: Out) {
    this.#operator = operator;
    this.#id = id;
    this.#out = out;
  }

  /** Tells the steps that are new, and how the run stands if that has changed. */
  async look(): Promise<RunDetailView> {
    const run = await this.#operator.call('getRun', { params: { id: this.#id } });
    const { steps } = await stepsOfRun(this.#operator, this.#id);
    for (const step of steps.toSorted((a, b) => a.at - b.at)) this.#tellStep(step);
    const how = run.waits.map(({ task, key }) => `${task} ${key}`).join(' ');
    if (how !== this.#summary && how !== '') this.#tellWaits(run);
    this.#summary = how;
    return run;
  }

  tellEvent(event: {
    readonly at: number;
    readonly kind: string;
    readonly task?: string | undefined;
    readonly state?: RunDetailView['state'] | undefined;
  }): void {
    const { at, kind, task = '', state } = event;
    if (this.#out.mode === 'json') this.#out.json({ event: kind, ...event });
    else
      this.#line(
        at,
        `${task} ${state === undefined ? kind : `${kind}: ${paintState(this.#out, state, stateText(state))}`}`,
      );
  }

  #tellStep(step: RunStepView): void {
    const name = `${step.task} ${step.key}`;
    if (step.kind === 'attempt' || step.kind === 'mark' || this.#told.has(name)) return;
    this.#told.add(name);
    if (this.#out.mode === 'json') {
      this.#out.json({ step: step.name, ...step });
      return;
    }
    const took = step.began === undefined ? '' : `  ${formatTook(step.at - step.began)}`;
    const child = step.child === undefined ? '' : `  ${step.child}`;
    this.#line(step.at, `${this.#out.paint('bold', safeLine(step.name))}${took}${child}`);
  }

  #tellWaits(run: RunDetailView): void {
    const { summary, waits } = run;
    if (this.#out.mode === 'json') {
      this.#out.json({ summary, waits });
      return;
    }
    this.#line(Date.now(), this.#out.paint('yellow', safeLine(summary)));
    for (const line of answersTo(run)) this.#out.line(`             ${this.#out.paint('dim', line)}`);
  }

  #line(at: number, text: string): void {
    this.#out.line(`${this.#out.paint('dim', formatClock(at))} ${text}`);
  }
}

function tellEnd(run: RunDetailView, out: Out): void {
  const { id, name, state, output, error, summary } = run;
  if (out.mode === 'json') {
    out.json({ ended: state, id, ...(name === undefined ? {} : { name }), output, error });
    return;
  }
  out.line(`${safeLine(name ?? id)} ${safeLine(summary)}`);
  if (output !== undefined) out.line(safeJson(output));
  if (error !== undefined) out.line(safeLine(errorLine(error)));
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
