import { fault } from '../core/errors.ts';

/** Of payloads, and some for what they are wrapped in. */
const MAX_DEPTH = 72;

/** The value of a JSON text. One that is nested too deeply is refused before anything walks down into it. */
export function parseBody(text: string, maxDepth = MAX_DEPTH): unknown {
  if (depthOf(text, maxDepth) > maxDepth) throw refuse(`it is nested more than ${maxDepth} deep`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse(`it is not JSON (${cause instanceof Error ? cause.message : ''})`, cause);
  }
  return value;
}

/** How deep arrays and objects are nested, counted up to one more than `enough`. */
function depthOf(text: string, enough: number): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && deepest <= enough; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === OPEN_ARRAY || unit === OPEN_OBJECT) deepest = Math.max(deepest, ++depth);
    else if (unit === CLOSE_ARRAY || unit === CLOSE_OBJECT) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) return i;
  }
  return text.length;
}

function refuse(problem: string, cause?: unknown): Error {
  return fault('INVALID_INPUT', { field: 'body', problem }, { cause });
}
