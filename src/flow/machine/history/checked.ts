/** What a journal must be before it is believed. Workers of other hosts write it, and a node and other workers read it. */
import { isList, isMap, type Value, type ValueMap } from '../../expression/values.ts';
import { MOST_DEPTH, MOST_SIZE } from '../sizes.ts';
import { ASKED_IN, type End, type Phase, type Snapshot, type Waiting } from '../snapshot.ts';
import type { MapPatch, SnapshotPatch } from './patch.ts';

/** The journal is not that of a machine, or more than can be read. */
export class BrokenHistory extends Error {
  override readonly name = 'BrokenHistory';
}

/** Entries of contexts that are copied to read one history. An honest one is written whole before it comes near. */
const MOST_COPIED = 20_000_000;

/** An entry with its number and its patch. */
export function entryIn(text: string): ValueMap & { readonly n: number; readonly patch: SnapshotPatch } {
  const entry = JSON.parse(text) as Value;
  if (!isMap(entry) || !isCount(entry['n']) || !isMap(entry['patch'])) throw new BrokenHistory('an entry is not one');
  return entry as ValueMap & { readonly n: number; readonly patch: SnapshotPatch };
}

/** Whatever goes wrong with an entry of another form says that it is of another form. */
export function believing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof BrokenHistory) throw error;
    throw new BrokenHistory('an entry is of another form', { cause: error });
  }
}

/**
 * What it takes to read a history, step by step. Patches copy the maps that they change, so that many small ones of a large context take as long as
 * large ones; and contexts share their parts, so that a few bytes can stand for a gigantic text.
 */
export class HistoryBound {
  #left = MOST_COPIED;
  readonly #known = new WeakMap<object, Extent>();

  /** Before a patch of this context is applied. */
  copies(context: ValueMap, patch: MapPatch): void {
    this.#left -= Object.keys(context).length;
    if (this.#left < 0) throw new BrokenHistory('it has done more than is read at once');
    for (const [key, inner] of Object.entries(patch.within ?? {})) {
      const within = Object.hasOwn(context, key) ? context[key] : undefined;
      if (isMap(within)) this.copies(within, inner);
    }
  }

  /** After it was. Only what is new is gone through. */
  holds(context: Value): void {
    const { size, depth } = this.#extentOf(context);
    if (size > MOST_SIZE || depth > MOST_DEPTH) throw new BrokenHistory('its context is larger than one may be');
  }

  #extentOf(value: Value): Extent {
    if (typeof value === 'string') return { size: value.length, depth: 0 };
    if (!isList(value) && !isMap(value)) return { size: 1, depth: 0 };
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    let [size, depth] = [isList(value) ? 0 : Object.keys(value).reduce((sum, key) => sum + key.length, 0), 0];
    for (const part of isList(value) ? value : Object.values(value)) {
      const below = this.#extentOf(part);
      size += below.size + 1;
      depth = Math.max(depth, below.depth);
    }
    const extent = { size, depth: depth + 1 };
    this.#known.set(value, extent);
    return extent;
  }
}

/** Characters and items, and lists and maps within each other. */
interface Extent {
  readonly size: number;
  readonly depth: number;
}

const ENDS: ReadonlySet<unknown> = new Set(['completed', 'failed'] satisfies End['kind'][]);
const PHASES: ReadonlySet<unknown> = new Set([
  'started?',
  'enter',
  'entered?',
  'recovered?',
  'close',
  'ended',
  ...(Object.keys(ASKED_IN) as Waiting[]),
  ...Object.values(ASKED_IN),
] satisfies Phase[]);

export function checkSnapshot(snapshot: Snapshot): Snapshot {
  const { context } = snapshot;
  const texts = [snapshot.executionId, snapshot.state, snapshot.phase];
  const { step, depth, maxDepth, agentCalls, totalApiCalls, totalCost, totalTokens, totalAgentMs } = snapshot;
  const numbers = [step, depth, maxDepth, agentCalls, totalApiCalls, totalCost, totalTokens, totalAgentMs];
  const isOne =
    texts.every((one) => typeof one === 'string') &&
    numbers.every((one) => typeof one === 'number') &&
    // Keys are made of it.
    isCount(step) &&
    isMap(context) &&
    isMap(snapshot.sessions as Value) &&
    Array.isArray(snapshot.results) &&
    (snapshot.items === null || Array.isArray(snapshot.items)) &&
    PHASES.has(snapshot.phase) &&
    (snapshot.end === undefined || ENDS.has((snapshot.end as Partial<End> | null)?.kind)) &&
    (snapshot.error === undefined || isMap(snapshot.error as unknown as Value));
  if (!isOne) throw new BrokenHistory('it is not where a machine stands');
  return snapshot;
}

const isCount = (value: Value): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
