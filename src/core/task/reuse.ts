import { type Duration, parseDuration } from '../duration.ts';
import { fault } from '../errors.ts';
import { checkKey } from '../names.ts';
import { canonicalJson } from './payload.ts';

/**
 * Whether a task takes over the result of a similar one instead of running: `true`, or the greatest age of such a result. With `key`, tasks
 * with the same handler and key are similar; without, those with the same handler and input.
 */
export type ReuseInput =
  | boolean
  | Duration
  | { readonly key?: string | undefined; readonly maxAge?: Duration | undefined };

export interface Reuse {
  readonly key: string | undefined;
  readonly maxAgeMs: number;
}

export const DEFAULT_REUSE_MS = 24 * 3_600_000;

const KEYS: readonly string[] = ['key', 'maxAge'];

/** Undefined: nothing is reused. */
export function normalizeReuse(input: ReuseInput): Reuse | undefined {
  if (input === false) return undefined;
  if (input === true) return { key: undefined, maxAgeMs: DEFAULT_REUSE_MS };
  if (typeof input === 'number' || typeof input === 'string') return { key: undefined, maxAgeMs: ageOf(input) };
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw refuse('reuse', 'it must be true, false, a duration, or an object with key and maxAge');
  }
  for (const name of Object.keys(input)) {
    if (!KEYS.includes(name)) {
      throw refuse('reuse', `${JSON.stringify(name.slice(0, 40))} is not one of its keys ${KEYS.join(', ')}`);
    }
  }
  const { key, maxAge = DEFAULT_REUSE_MS } = input;
  return { key: key === undefined ? undefined : checkKey('reuse.key', key), maxAgeMs: ageOf(maxAge) };
}

/**
 * The identity of a result, for ever: stores find it by a hash of this. Neither the task nor the attempt is part of it, because both differ
 * exactly when it must match: in a second push, and after a crash. `payload` is JSON text.
 */
export function logicalText(handler: string, of: { readonly key: string } | { readonly payload: string }): string {
  return JSON.stringify('key' in of ? [handler, 'key', of.key] : [handler, 'input', canonicalJson(of.payload)]);
}

function ageOf(maxAge: Duration): number {
  const ms = parseDuration(maxAge, 'reuse.maxAge');
  if (ms >= 1) return ms;
  throw refuse('reuse.maxAge', 'it must be at least 1 ms');
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
