import { fault } from '../core/errors.ts';

const KEY = /^sha256\/([0-9a-f]{2})\/(\1[0-9a-f]{62}(?:\.[0-9a-f]{1,64})?)$/;

/** The places of a key below the root of a store: `sha256/ab/<64 hex>`, with `.<hex>` behind it where only the maker has checked the bytes. */
export interface KeyPlace {
  readonly folder: string;
  readonly file: string;
}

/** Nothing else is a key: no other segment, no dot, no slash and no byte of a name that somebody gave reaches a disk or a bucket. */
export function placeOf(key: string): KeyPlace {
  const found = typeof key === 'string' ? KEY.exec(key) : null;
  const [, folder, file] = found ?? [];
  // `$` also matches before a newline at the end in other dialects: the length is the second look.
  if (folder === undefined || file === undefined || key.length !== 'sha256/ab/'.length + file.length)
    throw fault('INVALID_INPUT', { field: 'key of a blob', problem: 'it is not sha256/ab/<64 hex digits>' });
  return { folder, file };
}
