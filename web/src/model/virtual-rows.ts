/** Which rows of a long list are drawn. All have the same height, so that nothing has to be measured or remembered. */

export interface Visible {
  readonly first: number;
  /** Behind the last one. */
  readonly end: number;
}

/** Drawn beyond what is seen, on each side. */
const BEYOND = 8;
/** A window moves by so many rows at once: most steps of a scroll draw nothing. */
const STEP = 4;

/** `top` is where the list begins, from the upper edge of what is seen; negative once it was scrolled away. */
export function visibleRows({
  top,
  seen,
  count,
  height,
  beyond = BEYOND,
}: {
  readonly top: number;
  readonly seen: number;
  readonly count: number;
  readonly height: number;
  readonly beyond?: number;
}): Visible {
  const first = Math.floor(-top / height) - beyond;
  const end = Math.ceil((seen - top) / height) + beyond;
  const clamp = (row: number): number => Math.min(count, Math.max(0, row));
  return { first: clamp(Math.floor(first / STEP) * STEP), end: clamp(Math.ceil(end / STEP) * STEP) };
}

/** Whether two windows have no row in common: what is drawn cannot be used again. */
export function isApart(a: Visible, b: Visible): boolean {
  return a.first >= b.end || a.end <= b.first;
}

/** How far to scroll so that a row is seen whole, below what sticks to the upper edge. */
export function scrollFor(
  row: number,
  {
    top,
    seen,
    height,
    stuck,
  }: { readonly top: number; readonly seen: number; readonly height: number; readonly stuck: number },
): number {
  const above = top + row * height;
  if (above < stuck) return above - stuck;
  return Math.max(0, above + height - seen);
}
