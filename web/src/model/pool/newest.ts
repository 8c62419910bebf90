/** A list of which the newest part is read again and again, and the rest only once. */

interface Numbered {
  readonly n: number;
}

/**
 * What is kept, with its newest part as it was read now; both are the newest first. Undefined: all of it must be read, because something lies
 * between the two, or may have changed in what is older.
 */
export function mergeNewest<T extends Numbered>(
  kept: readonly T[],
  read: readonly T[],
  { most, settled }: { readonly most: number; readonly settled: (one: T) => boolean },
): readonly T[] | undefined {
  const [newest] = kept;
  const oldest = read.at(-1);
  if (newest === undefined || oldest === undefined) return read.length === 0 && kept.length > 0 ? undefined : read;
  // The numbers have begun anew, or there is a gap.
  if ((read[0] as T).n < newest.n || oldest.n > newest.n) return undefined;
  const older = kept.filter(({ n }) => n < oldest.n);
  return older.every(settled) ? [...read, ...older].slice(0, most) : undefined;
}
