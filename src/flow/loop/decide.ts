/**
 * What follows the end of a phase.
 *
 *   implementation ──> review ──> verification ──passed, complete──> merge ──> completed
 *        ▲                             │  └─────passed, a signal──> watchdog
 *        └──── failed: runner notes ───┴──── passed: one more ──────────┘
 *
 * Bounds are looked at when the next implementation would begin, and at each failure.
 */
import { completionOf } from './completion.ts';
import type { LoopConfig } from './config-keys.ts';
import type { LoopState } from './loop-state.ts';
import { failuresInARow, isBeyond, iterationsOf, type LoopPhase, nextAttempt } from './records.ts';
import { decisionOn, signalOf, type WatchdogSignal } from './watchdog.ts';

/** How a phase has ended. */
export interface PhaseEnd {
  readonly phase: LoopPhase;
  readonly ok: boolean;
  /** What the agent said, or the runner notes of a verification. */
  readonly output: string;
  /** Why it failed, in a few words. */
  readonly message?: string | undefined;
  /** Checked boxes of the plan, after an implementation. */
  readonly done?: number | undefined;
}

/** The end of an output is all that anybody compares. */
const KEPT_OUTPUT = 16 * 1024;
const KEPT_MESSAGE = 500;

export function decide(before: LoopState, end: PhaseEnd, config: LoopConfig): LoopState {
  const { phase, ok } = end;
  const attempt = nextAttempt(before.records, phase);
  const state: LoopState = { ...before, records: [...before.records, { phase, attempt, ok }] };
  switch (phase) {
    case 'implementation':
      return afterImplementation(state, end, config);
    case 'review':
      return failedOften(state, 'review', config.max_consecutive_review_failures) ?? { ...state, next: 'verification' };
    case 'verification':
      return afterVerification(state, end, config);
    case 'watchdog':
      return afterWatchdog(state, config);
    case 'merge':
      return ok ? { ...state, next: 'completed' } : failed(state, `merge_failed: ${brief(end)}`);
  }
}

function afterImplementation(state: LoopState, end: PhaseEnd, config: LoopConfig): LoopState {
  if (!end.ok) return failed(state, `implementation_failed: ${brief(end)}`);
  const { completion_mode: mode, reviewer } = config;
  const { output, done } = end;
  return {
    ...state,
    // They were in the prompt of this one.
    notes: '',
    output: output.slice(-KEPT_OUTPUT),
    complete: completionOf(output, mode) === 'complete',
    signal: signalOf({ output, before: state.output, mode, done, doneBefore: state.done, verified: true }),
    done,
    next: reviewer ? 'review' : 'verification',
  };
}

function afterVerification(state: LoopState, { ok, output }: PhaseEnd, config: LoopConfig): LoopState {
  if (!ok) {
    // Whoever mends it says much the same as before, and checks the same box.
    const compared = { output: undefined, done: undefined, signal: undefined };
    const again: LoopState = { ...state, ...compared, notes: output, complete: false };
    const most = config.max_consecutive_verification_failures;
    return failedOften(again, 'verification', most) ?? oneMore(again, config);
  }
  const passed: LoopState = { ...state, notes: '' };
  if (passed.complete) return { ...passed, next: 'merge' };
  return passed.signal === undefined ? oneMore(passed, config) : { ...passed, next: 'watchdog' };
}

function afterWatchdog(state: LoopState, config: LoopConfig): LoopState {
  const { signal, rewrites } = state;
  if (signal === undefined) return oneMore(state, config);
  const told: LoopState = { ...state, signal: undefined };
  switch (decisionOn(signal, rewrites)) {
    case 'fail':
      return failed(told, `watchdog_failed:${signal}`);
    case 'rewrite':
      return oneMore({ ...told, rewrite: ADVICE[signal], rewrites: rewrites + 1 }, config);
    case 'continue':
      return oneMore(told, config);
  }
}

/** What a prompt says besides from then on. */
const ADVICE: Readonly<Record<WatchdogSignal, string>> = {
  verification_failed: '',
  no_progress:
    'The last iteration changed nothing. Choose the smallest task that is left, finish it, and check its box.',
  repeated_task:
    'The last two iterations said nearly the same. Do not repeat that work: go on with another task, or another way.',
  malformed_complete:
    'The completion token was not where it counts. Say it only when nothing is left to do, and then as the prompt asks for it.',
};

function oneMore(state: LoopState, { iterations }: LoopConfig): LoopState {
  if (iterationsOf(counted(state)) < iterations) return { ...state, next: 'implementation' };
  return failed(state, `iteration_limit_reached:${iterations}`);
}

function failedOften(state: LoopState, phase: LoopPhase, most: number): LoopState | undefined {
  if (!isBeyond(failuresInARow(counted(state), phase), most)) return undefined;
  return failed(state, `consecutive_${phase}_failures:${most}`);
}

const counted = ({ records, from }: LoopState): LoopState['records'] => records.slice(from);

const failed = (state: LoopState, failure: string): LoopState => ({ ...state, next: 'failed', failure });

const brief = ({ message, output }: PhaseEnd): string => (message ?? output).trim().slice(0, KEPT_MESSAGE);

/** A run that failed goes on: with an implementation, and with all of its bounds anew. */
export function triedAgain(state: LoopState): LoopState {
  const { records } = state;
  return {
    ...state,
    failure: undefined,
    from: records.length,
    rewrites: 0,
    complete: false,
    signal: undefined,
    next: 'implementation',
  };
}
