/** What a code workflow writes down, and how it is read again. */
import { fault } from '../../core/errors.ts';
import { checkKey } from '../../core/names.ts';

export const PLACE_KINDS = ['step', 'child', 'signal', 'approval', 'sleep', 'now', 'random', 'log'] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];

/** The workflow does not wait for them. */
export const UNORDERED: ReadonlySet<PlaceKind> = new Set(['now', 'random', 'log']);

/** What is written about a place besides its result. */
/** `came`: what a child of the run gave that this one was forked from. */
const NOTES = ['error', 'end', 'came', 'due', 'try', 'begun', 'kept'] as const;
type NoteKind = (typeof NOTES)[number];

/** A place in the code: the n-th call with this name. */
export interface Place {
  readonly kind: PlaceKind;
  readonly name: string;
  readonly nth: number;
  /** `step:charge#0` */
  readonly key: string;
}

/** Leaves room in a key for its number, its kind and its count. */
const LONGEST_NAME = 150;
const KEY = new RegExp(
  `^w:(\\d{6,15})/(?:(?:(${NOTES.join('|')}):)?((?:${PLACE_KINDS.join('|')}):.*#\\d+)|(failed))$`,
  's',
);

export function checkPlaceName(kind: PlaceKind, name: unknown): string {
  const text = checkKey(`name of a ${kind}`, name);
  if (text.length <= LONGEST_NAME) return text;
  const problem = `its name is longer than ${LONGEST_NAME} characters`;
  throw fault('INVALID_INPUT', { field: `${kind} ${text}`, problem });
}

export function placeOf(kind: PlaceKind, name: string, nth: number): Place {
  return { kind, name, nth, key: `${kind}:${name}#${nth}` };
}

/** As a person calls it: `step charge`, `the third step charge`. */
export function sayPlace(key: string): string {
  const [, kind = '', name = '', nth = '0'] = /^(\w+):(.*)#(\d+)$/s.exec(key) ?? [];
  return `${kind} ${JSON.stringify(name)}${nth === '0' ? '' : ` (${Number(nth) + 1})`}`;
}

/** The key of an entry: its number, because the order in which results came is part of the history. */
export function entryKey(ordinal: number, what: string): string {
  return `w:${String(ordinal).padStart(6, '0')}/${what}`;
}

/** An error in a form that is the same when it is read again. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly details?: unknown;
}

/** How a place came out, in the order in which the workflow learned of it. */
export interface Outcome {
  readonly ordinal: number;
  readonly place: string;
  /** JSON text. Undefined for an error, and for a child, whose result the store has. */
  readonly value?: string | undefined;
  readonly error?: StoredError | undefined;
}

/** The journal is not that of a workflow. */
export class BrokenJournal extends Error {
  override readonly name = 'BrokenJournal';
}

/** An entry of a journal. */
export interface Recorded {
  readonly key: string;
  /** JSON text. */
  readonly value: string;
  /** It bore a child. */
  readonly child?: boolean | undefined;
}

/** What earlier attempts have written. */
export interface History {
  readonly outcomes: readonly Outcome[];
  /** The tasks of children by their places: those that the node says were born, never what a worker has written. */
  readonly born: ReadonlyMap<string, number>;
  /** JSON texts by `due:PLACE`, `try:PLACE`, …, and of `now` and `random` by their places. */
  readonly notes: ReadonlyMap<string, string>;
  /** The number of the next entry. */
  readonly next: number;
}

interface Entry extends Recorded {
  readonly ordinal: number;
  readonly note: NoteKind | undefined;
  readonly place: string;
  readonly child: boolean;
}

/** Reads a journal. A run that failed goes back to what failed it: that, and what began after it, is not believed any more. */
export function readHistory(journal: readonly Recorded[]): History {
  const born = new Map<string, number>();
  const notes = new Map<string, string>();
  const outcomes: Outcome[] = [];
  const out = new Set<string>();
  for (const { ordinal, note, place, value, child } of liveEntries(journal)) {
    const kind = kindOf(place);
    if ((kind === 'child' && note === undefined) !== child) throw new BrokenJournal(`${sayPlace(place)} is no child`);
    if (child) born.set(place, taskIn(value));
    else if (note !== undefined && !ENDINGS.has(note)) notes.set(`${note}:${place}`, value);
    else if (UNORDERED.has(kind)) notes.set(place, value);
    else {
      if (out.has(place)) throw new BrokenJournal(`${sayPlace(place)} came out twice`);
      if (note === 'end' && !born.has(place)) throw new BrokenJournal(`${sayPlace(place)} was never born`);
      out.add(place);
      const outcome = note === 'error' ? { error: errorIn(value) } : note === 'end' ? {} : { value };
      outcomes.push({ ordinal, place, ...outcome });
    }
  }
  const next = journal.reduce((most, { key }) => Math.max(most, Number(KEY.exec(key)?.[1] ?? -1) + 1), 0);
  return { outcomes, born, notes, next };
}

const ENDINGS: ReadonlySet<NoteKind> = new Set(['error', 'end', 'came']);

/** Of an entry with a result. Children that have not ended are no result. */
export function isOutcomeKey(key: string): boolean {
  const [, , note, place] = KEY.exec(key) ?? [];
  if (place === undefined || UNORDERED.has(kindOf(place))) return false;
  return note === undefined ? kindOf(place) !== 'child' : ENDINGS.has(note as NoteKind);
}

/** What of a journal counts, in its order. */
export function liveEntries(journal: readonly Recorded[]): readonly Entry[] {
  const entries: Entry[] = [];
  const ends: { readonly ordinal: number; readonly value: string }[] = [];
  for (const { key, value, child = false } of journal) {
    const [, number, note, place, failed] = KEY.exec(key) ?? [];
    if (number === undefined) continue;
    const ordinal = Number(number);
    if (failed !== undefined) ends.push({ ordinal, value });
    else entries.push({ key, ordinal, note: note as NoteKind | undefined, place: place as string, value, child });
  }
  entries.sort((a, b) => a.ordinal - b.ordinal);
  return withoutUndone(entries, ends);
}

/** A failed run names the entry of the error that ended it, and what was under way when the workflow heard of that. */
function withoutUndone(
  entries: readonly Entry[],
  ends: readonly { readonly ordinal: number; readonly value: string }[],
): readonly Entry[] {
  let live = entries;
  for (const { ordinal, value } of ends.toSorted((a, b) => a.ordinal - b.ordinal)) {
    const { again, beside } = failureIn(value);
    if (again === undefined) continue;
    live = live.filter((one) => one.ordinal < again || one.ordinal > ordinal || beside.has(one.place));
  }
  return live;
}

function failureIn(value: string): { readonly again: number | undefined; readonly beside: ReadonlySet<string> } {
  const { again, beside = [] } = objectIn(value);
  if (again !== undefined && !Number.isSafeInteger(again)) throw new BrokenJournal('a failure is of another form');
  if (!Array.isArray(beside)) throw new BrokenJournal('a failure is of another form');
  return { again: again as number | undefined, beside: new Set(beside) };
}

function errorIn(value: string): StoredError {
  const { name, message, code, details } = objectIn(value);
  if (typeof name !== 'string' || typeof message !== 'string') throw new BrokenJournal('an error is of another form');
  return {
    name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(details === undefined ? {} : { details }),
  };
}

function objectIn(value: string): Readonly<Record<string, unknown>> {
  const read = JSON.parse(value) as unknown;
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  throw new BrokenJournal('an entry is of another form');
}

/** A number that an earlier attempt has noted. */
export function numberIn(text: string): number {
  const value = JSON.parse(text) as unknown;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new BrokenJournal('a note is no number');
}

export function kindOf(place: string): PlaceKind {
  return place.slice(0, place.indexOf(':')) as PlaceKind;
}

/** As the node tells of a child. */
export function taskIn(text: string): number {
  return (JSON.parse(text) as { readonly task: number }).task;
}
