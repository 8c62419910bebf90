import { isEngineError } from '../../core/errors.ts';
import type { LimitAnswer, LimitEdit } from '../operations/limits.ts';
import type { Caller } from '../operator.ts';

/** Somebody who makes a limit and takes it away as often as this between two calls does not do it by chance. */
const TRIES = 5;

/** Changes it, or makes it where there is none: there is a call for each, and either is refused to who comes too late for it. */
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
