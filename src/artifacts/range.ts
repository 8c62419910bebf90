import { fault } from '../core/errors.ts';

export interface Range {
  readonly start?: number;
  readonly end?: number;
}

/** From `start` up to and without `end`, as numbers that fit the blob; an end behind the last byte is that of the blob. */
export function rangeWithin(size: number, range: Range): { readonly start: number; readonly end: number } {
  checkRange(range);
  const end = Math.min(range.end ?? size, size);
  return { start: Math.min(range.start ?? 0, end), end };
}

export function checkRange({ start = 0, end = start }: Range): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) return;
  throw fault('INVALID_INPUT', { field: 'range of a blob', problem: `${start} to ${end} is none` });
}
