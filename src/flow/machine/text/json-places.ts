/** Where the fields of a JSON text stand, and which key comes twice: `JSON.parse` says neither. */
import type { Path } from '../problems.ts';

export interface JsonPlaces {
  /** The place of a field in the text; of the nearest field around it, if it is not there itself. */
  readonly placeOf: (path: Path) => number;
  /** The first key that its map already had. */
  readonly twice: number | undefined;
  /** The first number that is too large to be one. */
  readonly endless: number | undefined;
}

interface Frame {
  readonly parent: number;
  /** Undefined: a list. */
  readonly keys: Set<string> | undefined;
  last: number;
  inKey: boolean;
}

const NONE = -1;

/** Of a text that `JSON.parse` takes. Goes through it once; entries are kept as numbers, since a text may have a million of them. */
export function jsonPlacesOf(text: string): JsonPlaces {
  const at: number[] = [];
  const first: number[] = [];
  const next: number[] = [];
  const frames: Frame[] = [];
  let twice: number | undefined;
  let endless: number | undefined;

  const entry = (frame: Frame, place: number): void => {
    const index = at.push(place) - 1;
    first.push(NONE);
    next.push(NONE);
    if (frame.last !== NONE) next[frame.last] = index;
    else if (frame.parent !== NONE) first[frame.parent] = index;
    frame.last = index;
  };

  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    const frame = frames.at(-1);
    if (char === ',') {
      if (frame?.keys !== undefined) frame.inKey = true;
    } else if (char === '}' || char === ']') frames.pop();
    else if (char === '"' && frame?.inKey === true && frame.keys !== undefined) {
      const stop = endOfString(text, i);
      const key = JSON.parse(text.slice(i, stop)) as string;
      if (frame.keys.size === frame.keys.add(key).size) twice ??= i;
      entry(frame, i);
      frame.inKey = false;
      i = stop - 1;
    } else if (!' \t\r\n:'.includes(char)) {
      if (frame !== undefined && frame.keys === undefined) entry(frame, i);
      if (char === '{' || char === '[') {
        frames.push({
          parent: at.length - 1,
          keys: char === '{' ? new Set() : undefined,
          last: NONE,
          inKey: char === '{',
        });
      } else if (char === '"') i = endOfString(text, i) - 1;
      else {
        const stop = endOfScalar(text, i);
        if (Math.abs(Number(text.slice(i, stop))) === Number.POSITIVE_INFINITY) endless ??= i;
        i = stop - 1;
      }
    }
  }

  const placeOf = (path: Path): number => {
    let place = 0;
    let index = at.length === 0 ? NONE : 0;
    for (const part of path) {
      if (typeof part === 'number') for (let k = 0; k < part && index !== NONE; k++) index = next[index] as number;
      else {
        const key = JSON.stringify(part);
        while (index !== NONE && !text.startsWith(key, at[index])) index = next[index] as number;
      }
      if (index === NONE) return place;
      place = at[index] as number;
      index = first[index] as number;
    }
    return place;
  };
  return { placeOf, twice, endless };
}

function endOfString(text: string, from: number): number {
  let i = from + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i + 1;
}

function endOfScalar(text: string, from: number): number {
  let i = from;
  while (i < text.length && !', ]}\t\r\n'.includes(text[i] as string)) i++;
  return i;
}
