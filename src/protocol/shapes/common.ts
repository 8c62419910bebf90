import { z } from 'zod';
import { PER_PAGE } from '../defaults.ts';

/** `30s`, `5m`, or milliseconds. */
export const Duration = z.union([z.string().max(40), z.number()]).describe('A duration: "30s", "5m", or milliseconds');

/** Calendar time in milliseconds. */
export const Time = z.number().int().describe('Calendar time in milliseconds');

export const TaskState = z.enum(['waiting', 'scheduled', 'ready', 'running', 'completed', 'failed', 'cancelled']);

/**
 * A string whose values the compiler knows, while the OpenAPI document says only that it is a string: a new value breaks no
 * client.
 */
export function word<W extends string>(): z.ZodType<W, W> {
  return z.string() as z.ZodType as z.ZodType<W, W>;
}

/** Counts by name; a count of 0 may be absent. */
export function tally<W extends string>(): z.ZodType<Tally<W>, Tally<W>> {
  return z.record(z.string(), z.number()) as z.ZodType as z.ZodType<Tally<W>, Tally<W>>;
}

type Tally<W extends string> = { readonly [K in W]?: number };

/** Any JSON value. */
export const Json = z.unknown().describe('Any JSON value');

export const MOST_PER_PAGE = 500;

/** A whole number in an address: digits only, so that an empty text is not 0 and `1e3` is refused. */
export function digits(number: z.ZodNumber) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
    number.int(),
  );
}

/** Keyset paging: the cursor comes from the page before. */
export const Paging = {
  limit: digits(z.number().min(1).max(MOST_PER_PAGE))
    .default(PER_PAGE)
    .describe(`How many at most; default ${PER_PAGE}`),
  cursor: z.string().max(200).optional().describe('The cursor of the page before'),
};

/** The name of a thing in a path. */
export const pathName = (what: string): z.ZodString => z.string().min(1).max(500).describe(what);

/** One or several of the same in a query: `?state=ready&state=running`. */
export function several<T extends z.ZodType>(one: T) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(one).max(50)).default([]);
}

export const Switch = z
  .enum(['0', '1', 'true', 'false'])
  .optional()
  .transform((text) => text === '1' || text === 'true');
