/** Signals that a loop makes no progress, and what is done about them. */
import { type Completion, type CompletionMode, completionOf } from './completion.ts';
import { SAME, similarity } from './similarity.ts';

/** The more important ones first. */
export const SIGNALS = ['verification_failed', 'no_progress', 'repeated_task', 'malformed_complete'] as const;
export type WatchdogSignal = (typeof SIGNALS)[number];
export type WatchdogDecision = 'rewrite' | 'continue' | 'fail';

/** A prompt is rewritten so often in one run. */
export const MOST_REWRITES = 2;

export interface Watched {
  readonly output: string;
  /** Of the implementation before; undefined: this is the first. */
  readonly before: string | undefined;
  readonly mode: CompletionMode;
  /** Finished tasks of the plan, now and before; undefined: there is no plan to count in. */
  readonly done: number | undefined;
  readonly doneBefore: number | undefined;
  readonly verified: boolean;
}

/** What is to be seen in an implementation; the most important one. */
export function signalOf(watched: Watched): WatchdogSignal | undefined {
  return SIGNALS.find((signal) => IS_SEEN[signal](watched));
}

const IS_SEEN: Readonly<Record<WatchdogSignal, (watched: Watched) => boolean>> = {
  verification_failed: ({ verified }) => !verified,
  no_progress: (watched) =>
    watched.output.trim() === '' ||
    (is(watched, 'none') && watched.done !== undefined && watched.done === watched.doneBefore),
  repeated_task: (watched) =>
    watched.before !== undefined && !is(watched, 'complete') && similarity(watched.before, watched.output) > SAME,
  malformed_complete: (watched) => is(watched, 'malformed'),
};

const is = ({ output, mode }: Watched, completion: Completion): boolean => completionOf(output, mode) === completion;

/** A failed verification has sent the work back by itself. Against all else a prompt is rewritten, until that was done too often. */
export function decisionOn(signal: WatchdogSignal, rewrites: number): WatchdogDecision {
  if (signal === 'verification_failed') return 'continue';
  return rewrites < MOST_REWRITES ? 'rewrite' : 'fail';
}
