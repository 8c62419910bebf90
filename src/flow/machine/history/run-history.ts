/**
 * The history of a run in the journal of its task: one entry for each state that did something, and now and then the whole of where it stands.
 *
 *   s:000012         what the state of step 12 did, and what changed by it
 *   s:000012/mid:1   the same for a part of a state, which waits in the middle of it
 *   s:000012/0       the first machine that step 12 started; s:000012/l0 the first that it launched
 *   s:000012/m:0     what a tool loop of step 12 has done (see `worker/agents/ledger.ts`)
 *   b:7              where the run stands after its 7th entry: earlier ones need not be read to go on
 */
import type { Value } from '../../expression/values.ts';
import { emptySnapshot, type Snapshot } from '../snapshot.ts';
import { believing, checkSnapshot, entryIn, HistoryBound } from './checked.ts';
import { applyPatch, type MapPatch, patchOf, type SnapshotPatch } from './patch.ts';
import { sourcesOf } from './references.ts';
import { isWithin, textLength } from './text-length.ts';

/** An entry of the journal, as it is read. */
export interface JournalText {
  readonly key: string;
  /** JSON. */
  readonly value: string;
}

/** An entry of the journal, as it is written. */
export interface HistoryEntry {
  readonly key: string;
  readonly kind: 'value';
  readonly value: StepEntry | Base;
  readonly began?: number;
  readonly usage?: Value;
}

/** What stands in the journal for one state, or for a part of it. */
export interface StepEntry {
  /** Counts the entries of the run, from 1. */
  readonly n: number;
  readonly step: number;
  readonly state: string;
  /** States that were passed without doing anything, since the entry before. */
  readonly via?: readonly string[];
  /** And those that were passed after it, up to the one that comes next. */
  readonly passed?: readonly string[];
  /** What the state was given, and what it gave. */
  readonly given?: Value;
  readonly out?: Value;
  /** The state that comes next. */
  readonly next: string;
  readonly patch: SnapshotPatch;
}

/** What a driver knows of the states since the last entry. */
export interface StepDone extends Pick<StepEntry, 'via' | 'passed' | 'given' | 'out'> {
  readonly step: number;
  readonly state: string;
  /** In the middle of its state. */
  readonly mid: boolean;
  readonly began: number | undefined;
  readonly usage: Value;
  /** What children of this step have given, by their keys. */
  readonly results: ReadonlyMap<string, Value>;
}

/** The results of children, by their keys in the journal. */
export type ReadResults = (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

interface Base {
  readonly n: number;
  readonly patch: SnapshotPatch;
}

const STEP = /^s:\d{6,}(?:\/mid:\d+)?$/;
const BASE = /^b:(\d+)$/;
/** Outputs that are longer are left to the context: an entry holds a mebibyte. */
const MOST_OUT = 256 * 1024;

/** Whether it is the key of a state, or of a part of one. */
export const isStepKey = (key: string): boolean => STEP.test(key);

/** The number of the step that an entry belongs to; undefined: it is not part of a machine. */
export function stepOfKey(key: string): number | undefined {
  const step = /^s:(\d{6,15})(?:\/|$)/.exec(key)?.[1];
  return step === undefined ? undefined : Number(step);
}

/** After which entry the base of this key was written; undefined: it is not the key of a base. */
export function baseOf(key: string): number | undefined {
  const n = BASE.exec(key)?.[1];
  return n === undefined ? undefined : Number(n);
}

export const stepKey = (step: number): string => `s:${String(step).padStart(6, '0')}`;

export class RunHistory {
  /** The last snapshot that is stored. Undefined: the run has stored nothing so far. */
  #stored: Snapshot | undefined;
  readonly #input: Value;
  /** What the first patch is applied to. */
  readonly #begin: Snapshot;
  #entries = 0;
  #mids = 0;
  /** Since the last base, in about so many characters. */
  #patches = 0;
  #base = 0;

  /** `from`: where a fork begins. */
  constructor(input: Value, from?: SnapshotPatch) {
    this.#input = input;
    this.#begin = from === undefined ? emptySnapshot(input) : wholeOf(input, from);
  }

  get snapshot(): Snapshot | undefined {
    return this.#stored;
  }

  /** Goes back to where the journal ends. Rejects with `BrokenHistory` if it is not that of a machine. */
  async load(journal: readonly JournalText[], results: ReadResults): Promise<void> {
    const entries = journal
      .filter(({ key }) => isStepKey(key))
      .map(({ value }) => believing(() => entryIn(value) as unknown as StepEntry));
    entries.sort((a, b) => a.n - b.n);
    const bases = journal
      .filter(({ key }) => baseOf(key) !== undefined)
      .map(({ value }) => believing(() => entryIn(value) as unknown as Base));
    const base = bases.reduce<Base | undefined>(
      (last, one) => (last === undefined || one.n > last.n ? one : last),
      undefined,
    );
    if (entries.length === 0 && base === undefined) return;
    const since = entries.filter(({ n }) => n > (base?.n ?? 0));
    const found = await results(believing(() => childrenIn(since)));
    const snapshot = believing(() => {
      const bound = new HistoryBound();
      // A base says all of it, also of a fork.
      let last = base === undefined ? this.#begin : wholeOf(this.#input, base.patch);
      for (const { patch, out } of since) {
        if (patch.context !== undefined) bound.copies(last.context, patch.context);
        last = applyPatch(last, patch, new Map([...found, ['out', out]]));
        if (patch.context !== undefined) bound.holds(last.context);
      }
      return checkSnapshot(last);
    });
    this.#stored = snapshot;
    this.#entries = Math.max(entries.at(-1)?.n ?? 0, base?.n ?? 0);
    this.#mids = entries.filter(({ step }) => step === snapshot.step).length;
    this.#base = base === undefined ? 0 : lengthOf(base.patch);
    this.#patches = since.reduce((sum, entry) => sum + lengthOf(entry.patch), 0);
  }

  /** The entries that bring the journal to this snapshot. `stored` comes after they were committed. */
  entriesFor(
    snapshot: Snapshot,
    { mid, began, usage, results, via, passed, given, out, step, state }: StepDone,
  ): Entries {
    const kept = out !== undefined && isWithin(out, MOST_OUT) ? out : undefined;
    const before = this.#stored ?? this.#begin;
    const sources = new Map([...results, ...(kept === undefined ? [] : ([['out', kept]] as const))]);
    const n = this.#entries + 1;
    const entry: StepEntry = {
      n,
      step,
      state,
      ...(via === undefined || via.length === 0 ? {} : { via }),
      ...(passed === undefined || passed.length === 0 ? {} : { passed }),
      ...(given === undefined ? {} : { given }),
      ...(kept === undefined ? {} : { out: kept }),
      next: snapshot.state,
      patch: patchOf(before, snapshot, sources),
    };
    const key = mid ? `${stepKey(step)}/mid:${this.#mids + 1}` : stepKey(step);
    const values: HistoryEntry[] = [
      {
        key,
        kind: 'value',
        value: entry,
        ...(began === undefined ? {} : { began }),
        ...(usage === undefined ? {} : { usage }),
      },
    ];
    const patches = this.#patches + lengthOf(entry.patch);
    const base = this.#baseFor(snapshot, n, patches);
    if (base !== undefined) values.push({ key: `b:${n}`, kind: 'value', value: base });
    const stored = (): void => {
      this.#mids = mid && snapshot.step === step ? this.#mids + 1 : 0;
      this.#stored = snapshot;
      this.#entries = n;
      this.#patches = base === undefined ? patches : 0;
      if (base !== undefined) this.#base = lengthOf(base.patch);
    };
    return { values, stored };
  }

  /** Written when what must be read to go on outweighs it, so that all bases together are no longer than the patches. */
  #baseFor(snapshot: Snapshot, n: number, patches: number): Base | undefined {
    if (n === 1 || patches <= this.#base || patches < LEAST_PATCHES) return undefined;
    const base = { n, patch: patchOf(emptySnapshot(this.#input), snapshot, new Map()) };
    return patches <= lengthOf(base.patch) || JSON.stringify(base.patch).length > MOST_BASE ? undefined : base;
  }
}

/** A patch of the empty snapshot that says all of it. */
function wholeOf(input: Value, patch: SnapshotPatch): Snapshot {
  return believing(() => {
    const snapshot = checkSnapshot(applyPatch(emptySnapshot(input), patch, new Map()));
    new HistoryBound().holds(snapshot.context);
    return snapshot;
  });
}

const lengthOf = (patch: SnapshotPatch): number => textLength(patch as Value);

/** Less is read at once anyway. */
const LEAST_PATCHES = 16 * 1024;
const MOST_BASE = 900 * 1024;

interface Entries {
  readonly values: readonly HistoryEntry[];
  readonly stored: () => void;
}

/** The children whose results the patches point to. */
function childrenIn(entries: readonly StepEntry[]): readonly string[] {
  const keys = new Set<string>();
  const look = ({ from = {}, more = {}, within = {} }: MapPatch): void => {
    for (const one of [...Object.values(from), ...Object.values(more).flat()])
      for (const source of sourcesOf(one)) if (source.startsWith('s:')) keys.add(source);
    for (const one of Object.values(within)) look(one);
  };
  for (const { patch } of entries) if (patch.context !== undefined) look(patch.context);
  return [...keys];
}
