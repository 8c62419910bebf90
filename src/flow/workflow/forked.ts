/** What a run of a workflow in code takes over from the run that it was forked from. */
import { INHERITED } from '../../core/task/inherited.ts';
import { BrokenJournal, isOutcomeKey, liveEntries, type Recorded } from './workflow-journal.ts';

/** It comes first in the input of a fork, so that it costs nothing to see that another input is none. No push may have it. */
const FORK = INHERITED;
const OPENING = `{"${FORK}":`;

export interface Forked {
  readonly [FORK]: readonly Recorded[];
  readonly input: unknown;
}

/** The input of a fork: that of the run, and what is recorded before it begins. */
export function forkedInput(recorded: readonly Recorded[], input: unknown): Forked {
  return { [FORK]: recorded, input };
}

/** What is recorded before the first attempt of the run with this input. */
export function recordedIn(payload: string): readonly Recorded[] {
  if (!payload.startsWith(OPENING)) return [];
  const recorded: unknown = (JSON.parse(payload) as Forked)[FORK];
  if (Array.isArray(recorded) && recorded.every(isRecorded)) return recorded;
  throw new BrokenJournal('what the fork takes over is of another form');
}

/** Another release may have written it. */
function isRecorded(one: unknown): one is Recorded {
  if (typeof one !== 'object' || one === null) return false;
  const { key, value, child } = one as Record<string, unknown>;
  return typeof key === 'string' && typeof value === 'string' && child === undefined;
}

/** The input as whoever started the first run gave it. */
export function plainInput(input: unknown): unknown {
  return typeof input === 'object' && input !== null && FORK in input ? (input as unknown as Forked).input : input;
}

/** A record of a fork, or the child whose result it will be. */
export type Inherited = Recorded | { readonly key: string; readonly child: number };

/** The results of a run in their order: what a fork can go on after. */
export function placesIn(journal: readonly Recorded[]): readonly { readonly key: string; readonly place: string }[] {
  return outcomesOf(journal).map(({ key, place }) => ({ key, place }));
}

/**
 * What of a journal a fork goes on with: all up to this result, in the order in which the run learned of it. What had begun and not ended by then begins
 * anew. Children are not taken over: what they gave is.
 */
export function inheritedUpTo(journal: readonly Recorded[], key: string): readonly Inherited[] {
  const last = outcomesOf(journal).find((one) => one.key === key)?.ordinal ?? 0;
  const live = liveEntries(journal).filter(({ ordinal }) => ordinal <= last);
  const born = new Map(live.filter(({ child }) => child).map(({ place, value }) => [place, taskOf(value)]));
  const done = new Set(
    outcomesOf(journal)
      .filter(({ ordinal }) => ordinal <= last)
      .map(({ place }) => place),
  );
  return live.flatMap(({ key: own, note, place, value, child }): readonly Inherited[] => {
    if (child) return [];
    if (note === 'end') return [{ key: own.replace('/end:', '/came:'), child: born.get(place) ?? 0 }];
    const bound = note !== undefined && note !== 'error' && note !== 'came' && note !== 'kept';
    return bound && !done.has(place) ? [] : [{ key: own, value }];
  });
}

function outcomesOf(journal: readonly Recorded[]) {
  return liveEntries(journal).filter(({ key }) => isOutcomeKey(key));
}

const taskOf = (value: string): number => (JSON.parse(value) as { readonly task: number }).task;
