/** How large a value of a machine is. Values share their parts, so that a small one can be written out to a gigantic text. */
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';

/** Characters and items of a value, and of a whole context. A run within a process has no other bound on what it gathers. */
export const MOST_SIZE = 16 * 1024 * 1024;
/** Of lists and maps within each other: what writes and reads JSON goes into each with a call of its own. */
export const MOST_DEPTH = 100;

/** What is wrong with the size of a value; undefined: nothing. */
export function sizeProblem(value: Value): string | undefined {
  return problemOf(sizeOf(value));
}

/** The same for a context with another value in the place of this entry. */
export function contextProblem(context: ValueMap, name?: string, value?: Value): string | undefined {
  return problemOf(name === undefined ? totalOf(context) : totalWith(context, name, value));
}

/** Remembers how large a context is that was made of another by writing one entry: a context of 1,000 entries is added up once, not at each write. */
export function noteWrite(context: ValueMap, total: number): void {
  totals.set(context, total);
}

/** The size of a context with this value in the place of this entry. */
export function totalWith(context: ValueMap, name: string, value: Value): number {
  const before = Object.hasOwn(context, name) ? sizeOf(context[name]) : 0;
  return totalOf(context) - before + sizeOf(value);
}

const totals = new WeakMap<object, number>();

function totalOf(context: ValueMap): number {
  const known = totals.get(context);
  if (known !== undefined) return known;
  let total = 0;
  for (const key of Object.keys(context)) total += sizeOf(context[key]);
  totals.set(context, total);
  return total;
}

function problemOf(size: number): string | undefined {
  if (size <= MOST_SIZE) return undefined;
  return size === TOO_DEEP
    ? `lists and maps are nested more than ${MOST_DEPTH} deep`
    : `it has more than ${MOST_SIZE} characters and items`;
}

const TOO_DEEP = Infinity;
/** Values are not changed once they are made, and most of a context stays the same from step to step. */
const known = new WeakMap<object, number>();

function sizeOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (!isList(value) && !isMap(value)) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  const size = counted(value);
  known.set(value, size);
  return size;
}

/** Level by level, and no further than the bound: what is shared is counted as often as it would be written. */
function counted(value: object): number {
  let size = 0;
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) return TOO_DEEP;
    const below: object[] = [];
    for (const one of level) {
      if (!isList(one)) for (const key of Object.keys(one)) size += key.length;
      for (const part of isList(one) ? one : Object.values(one)) {
        size += typeof part === 'string' ? part.length + 1 : 1;
        if (size > MOST_SIZE) return size;
        if (isList(part) || isMap(part)) below.push(part);
      }
    }
    level = below;
  }
  return size;
}
