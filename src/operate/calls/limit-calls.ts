import { isEngineError } from '../../core/errors.ts';
import type { LimitAnswer, LimitEdit } from '../operations/limits.ts';
import type { Caller } from '../operator.ts';

/** A limit that is made and removed so often between two calls is not a coincidence. */
const TRIES = 5;

/**
 * Changes the limit, or makes it where there is none. Each has a call of its own, and either is refused when it comes too
 * late.
 */
export async function setLimit(
  caller: Caller,
  name: string,
  edit: LimitEdit,
  by: string | undefined,
  tries = TRIES,
): Promise<LimitAnswer> {
  try {
    const { before, ...limit } = await caller.call('editLimit', { params: { name }, body: edit, by });
    return { limit, before: before ?? limit, changed: before !== undefined };
  } catch (error) {
    if (!isEngineError(error, 'NOT_FOUND')) throw error;
  }
  try {
    return { limit: await caller.call('createLimit', { body: { name, ...edit }, by }), changed: true };
  } catch (error) {
    if (!isEngineError(error, 'CONFLICT') || tries === 1) throw error;
  }
  return setLimit(caller, name, edit, by, tries - 1);
}
