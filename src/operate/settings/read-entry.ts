import type { z } from 'zod';
import { fault } from '../../core/errors.ts';
import type { Entry } from '../../core/settings/compare.ts';

const MOST_NAMED = 5;

/** A value of a file in its shape. Throws `INVALID_INPUT` that names the field. */
export function inShape<T extends z.ZodType>(shape: T, place: string, value: unknown): z.output<T> {
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const problems = read.error.issues
    .slice(0, MOST_NAMED)
    .map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
  throw fault('INVALID_INPUT', { field: place, problem: problems.join('; ') });
}

/** Plain JSON without what is undefined, so that equal settings are equal. */
export function plain(value: object): Entry {
  return JSON.parse(JSON.stringify(value)) as Entry;
}
