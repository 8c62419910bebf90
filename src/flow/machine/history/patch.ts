/**
 * What changes from one snapshot of a run to the next. A run is kept as a chain of patches, so that its history grows with what it does and not
 * with what it holds.
 */
import { isList, isMap, mapOf, type Value, type ValueMap } from '../../expression/values.ts';
import type { Snapshot } from '../snapshot.ts';
import { type Built, builtValue, References, type Sources } from './references.ts';

export interface SnapshotPatch {
  /** Fields of the snapshot besides its context and its input. */
  readonly at?: Partial<Snapshot>;
  /** Fields that are no longer there. */
  readonly gone?: readonly string[];
  readonly context?: MapPatch;
}

/** What changes within a map. */
export interface MapPatch {
  readonly set?: ValueMap;
  /** A value that stands elsewhere already, and is not written a second time. */
  readonly from?: Readonly<Record<string, Built>>;
  /** What was added to the end of a list. */
  readonly more?: Readonly<Record<string, readonly Built[]>>;
  readonly within?: Readonly<Record<string, MapPatch>>;
  readonly drop?: readonly string[];
}

/** Whether a run can begin with it: it names a state, and its context is a map. */
export function isSnapshotPatch(value: Value): boolean {
  if (!isMap(value)) return false;
  const { at, gone, context } = value;
  if (!isMap(at) || typeof at['state'] !== 'string') return false;
  return (gone === undefined || isList(gone)) && (context === undefined || isMap(context));
}

/** Maps within maps are compared so deep; below that, one that has changed is written whole. */
const MOST_LEVELS = 4;

export function patchOf(before: Snapshot, after: Snapshot, sources: Sources): SnapshotPatch {
  const at: Record<string, Value> = {};
  const old = before as unknown as ValueMap;
  const now = after as unknown as ValueMap;
  for (const key of Object.keys(now)) {
    if (key === 'context' || key === 'input' || now[key] === undefined) continue;
    if (!same(old[key], now[key])) at[key] = now[key];
  }
  const gone = Object.keys(old).filter((key) => old[key] !== undefined && now[key] === undefined);
  const references = new References(new Map([...sources, ['context', before.context], ['input', after.input]]));
  const context = mapPatch(before.context, after.context, references, MOST_LEVELS);
  return {
    ...(Object.keys(at).length === 0 ? {} : { at: at as Partial<Snapshot> }),
    ...(gone.length === 0 ? {} : { gone }),
    ...(context === undefined ? {} : { context }),
  };
}

export function applyPatch(
  before: Snapshot,
  { at = {}, gone = [], context }: SnapshotPatch,
  sources: Sources,
): Snapshot {
  const after: Record<string, unknown> = { ...before, ...at };
  for (const key of gone) delete after[key];
  if (context !== undefined) {
    const all = new Map([...sources, ['context', before.context], ['input', before.input]]);
    after['context'] = applyMap(before.context, context, all);
  }
  return after as unknown as Snapshot;
}

function mapPatch(before: ValueMap, after: ValueMap, references: References, levels: number): MapPatch | undefined {
  if (before === after) return undefined;
  const set: [string, Value][] = [];
  const from: [string, Built][] = [];
  const more: [string, readonly Built[]][] = [];
  const within: [string, MapPatch][] = [];
  for (const key of Object.keys(after)) {
    const [old, now] = [Object.hasOwn(before, key) ? before[key] : undefined, after[key]];
    // JSON has no word for what is not there.
    if (now === undefined || old === now) continue;
    const added = isList(old) && isList(now) ? addedTo(old, now) : undefined;
    if (added !== undefined) {
      if (added.length > 0) more.push([key, added.map((one) => references.of(one) ?? { value: one ?? null })]);
      continue;
    }
    if (isMap(old) && isMap(now) && levels > 0 && alike(old, now)) {
      const inner = mapPatch(old, now, references, levels - 1);
      if (inner !== undefined) within.push([key, inner]);
      continue;
    }
    const known = references.of(now);
    if (known !== undefined) from.push([key, known]);
    else if (!same(old, now)) set.push([key, now]);
  }
  const drop = Object.keys(before).filter(
    (key) => before[key] !== undefined && (!Object.hasOwn(after, key) || after[key] === undefined),
  );
  const patch: MapPatch = {
    ...(set.length === 0 ? {} : { set: mapOf(set) }),
    ...(from.length === 0 ? {} : { from: Object.fromEntries(from) }),
    ...(more.length === 0 ? {} : { more: Object.fromEntries(more) }),
    ...(within.length === 0 ? {} : { within: Object.fromEntries(within) }),
    ...(drop.length === 0 ? {} : { drop }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function applyMap(
  before: ValueMap,
  { set = {}, from = {}, more = {}, within = {}, drop = [] }: MapPatch,
  sources: Sources,
): ValueMap {
  const dropped = new Set(drop);
  const changed = new Map<string, Value>(Object.entries(before).filter(([key]) => !dropped.has(key)));
  for (const [key, value] of Object.entries(set)) changed.set(key, value);
  for (const [key, built] of Object.entries(from)) changed.set(key, builtValue(built, sources));
  for (const [key, values] of Object.entries(more))
    changed.set(key, [...listOf(changed.get(key)), ...values.map((one) => builtValue(one, sources))]);
  for (const [key, inner] of Object.entries(within)) {
    const old = changed.get(key);
    changed.set(key, applyMap(isMap(old) ? old : {}, inner, sources));
  }
  return mapOf([...changed]);
}

const listOf = (value: Value): readonly Value[] => (isList(value) ? value : []);

/** The values that a list has more than the one before it; undefined if it is another list. */
function addedTo(old: readonly Value[], now: readonly Value[]): readonly Value[] | undefined {
  if ((old.length === 0 && now.length > 0) || now.length < old.length) return undefined;
  return old.every((one, i) => same(one, now[i])) ? now.slice(old.length) : undefined;
}

/** One map became the other, and is not a new one: they share a key. */
const alike = (old: ValueMap, now: ValueMap): boolean => Object.keys(old).some((key) => Object.hasOwn(now, key));

/** Deep; a hook that gives back a copy of its context has changed nothing. Values are at most a hundred deep. */
function same(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (isList(a)) return isList(b) && a.length === b.length && a.every((one, i) => same(one, b[i]));
  if (!isMap(a) || !isMap(b) || isList(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
