export interface ByteRange {
  readonly start: number;
  /** Up to and without it. */
  readonly end: number;
}

/**
 * The range that a request asks for, of so many bytes. Undefined: it asks for all of them. Several ranges at once, and what is no range, count as all:
 * a server may answer so. `none`: it asks for bytes that are not there.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'none' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    // The last so many.
    const count = Math.min(Number(to), size);
    return count === 0 ? 'none' : { start: size - count, end: size };
  }
  const start = Number(from);
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < start) return undefined;
  return start >= size ? 'none' : { start, end: last + 1 };
}
