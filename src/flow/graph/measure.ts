/** How deep a value is, and about how long its JSON. Values share their parts: what is cheap to make may be dear to write. */
import { isList, isMap, type Value } from '../expression/values.ts';

export interface Measure {
  /** 0: it has no parts. */
  readonly depth: number;
  /** Characters of its JSON, without escapes. */
  readonly length: number;
}

/** Below what a task may be given, which is 64. */
export const MOST_DEEP = 48;
/** Of what one item gets from one node. No task or result could hold more. */
export const MOST_LONG = 4_000_000;

/** Values never change here, so each part is measured once. */
const known = new WeakMap<object, Measure>();

/** Deeper than `MOST_DEEP` is not gone into: the depth is infinite then. */
export function measure(value: Value, room = MOST_DEEP): Measure {
  if (typeof value === 'string') return { depth: 0, length: value.length + 2 };
  if (!isList(value) && !isMap(value)) return { depth: 0, length: 8 };
  const before = known.get(value);
  if (before !== undefined) return before;
  if (room === 0) return { depth: Number.POSITIVE_INFINITY, length: 0 };
  let depth = 0;
  let length = 2;
  for (const [key, part] of Object.entries(value)) {
    const own = measure(part, room - 1);
    depth = Math.max(depth, own.depth + 1);
    length += own.length + (isList(value) ? 1 : key.length + 4);
  }
  const measured = { depth, length };
  // One that had no room may have it elsewhere.
  if (depth !== Number.POSITIVE_INFINITY) known.set(value, measured);
  return measured;
}

/** What is wrong with it. */
export function tooMuch(value: Value): string | undefined {
  const { depth, length } = measure(value);
  if (depth > MOST_DEEP) return `it is nested more than ${MOST_DEEP} deep`;
  return length > MOST_LONG ? `it has more than ${MOST_LONG} characters` : undefined;
}
