import { isBlobKey } from '../core/artifact/blob-key.ts';
import { fault } from '../core/errors.ts';

/** Where a blob lies below the root of a store. */
export interface KeyPlace {
  /** Two hex digits, below `sha256`. */
  readonly folder: string;
  /** The hash of its bytes, and the id of the first artifact that has them. */
  readonly file: string;
}

/** Nothing but keys that were made here goes on: no dot, no segment and no byte of a name that somebody gave reaches a disk or a bucket. */
export function placeOf(key: string): KeyPlace {
  const [, folder = '', file = ''] = typeof key === 'string' && isBlobKey(key) ? key.split('/') : [];
  if (file === '') throw fault('INVALID_INPUT', { field: 'key of a blob', problem: 'it has not the form of one' });
  return { folder, file };
}
