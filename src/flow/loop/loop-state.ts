/** What a loop remembers from phase to phase. All of it is in the context of its run. */
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';
import { isPhase, type LoopPhase, type PhaseRecord } from './records.ts';
import { SIGNALS, type WatchdogSignal } from './watchdog.ts';

export interface LoopState {
  readonly records: readonly PhaseRecord[];
  /** Bounds count from this record on: a run that was tried again has all of its bounds anew. */
  readonly from: number;
  readonly next: LoopPhase | 'completed' | 'failed';
  /** For the next prompt: what the verification found. */
  readonly notes: string;
  /** For all prompts from now on: what the watchdog asks for. */
  readonly rewrite: string;
  readonly rewrites: number;
  /** The end of what the last implementation said. */
  readonly output: string | undefined;
  readonly complete: boolean;
  readonly signal: WatchdogSignal | undefined;
  /** Checked boxes of the plan after the last implementation. */
  readonly done: number | undefined;
  /** Why the run fails. */
  readonly failure: string | undefined;
}

export const FIRST: LoopState = {
  records: [],
  from: 0,
  next: 'implementation',
  notes: '',
  rewrite: '',
  rewrites: 0,
  output: undefined,
  complete: false,
  signal: undefined,
  done: undefined,
  failure: undefined,
};

/** From a context, which hooks of others may have written to: what does not fit is as if it had not been there. */
export function loopStateIn(context: ValueMap): LoopState {
  const { records, from, next, notes, rewrite, rewrites, output, complete, signal, done, failure } = context;
  return {
    records: isList(records) ? records.filter(isRecord) : [],
    from: wholeIn(from) ?? 0,
    next: isPhase(next) || next === 'completed' || next === 'failed' ? next : FIRST.next,
    notes: textIn(notes) ?? '',
    rewrite: textIn(rewrite) ?? '',
    rewrites: wholeIn(rewrites) ?? 0,
    output: textIn(output),
    complete: complete === true,
    signal: SIGNALS.find((one) => one === signal),
    done: wholeIn(done),
    failure: textIn(failure),
  };
}

/** As a context has it: nothing is left out, so that nothing of before stays. */
export function contextOf(state: LoopState): ValueMap {
  return Object.fromEntries(Object.entries(state).map(([key, value]) => [key, value ?? null]));
}

const textIn = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined);
const wholeIn = (value: Value): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

function isRecord(value: Value): value is PhaseRecord {
  return (
    isMap(value) &&
    isPhase(value['phase']) &&
    wholeIn(value['attempt']) !== undefined &&
    typeof value['ok'] === 'boolean'
  );
}
