/** Which rows of a long list are drawn, and where: arithmetic for the virtual table and the log. */

/** The positions of rows, in pixels from the upper edge of the list. A layout is immutable: a changed list gets a new one. */
export interface RowLayout {
  readonly count: number;
  /** The height of all rows together. */
  readonly height: number;
  readonly topOf: (row: number) => number;
  /** The row at this distance from the upper edge. */
  readonly rowAt: (y: number) => number;
}

/** Rows of one height, which need no measuring. */
export function evenRows(count: number, height: number): RowLayout {
  return {
    count,
    height: count * height,
    topOf: (row) => row * height,
    rowAt: (y) => Math.floor(y / height),
  };
}

/**
 * The heights of rows that have to be measured. A row that was never drawn counts as `usual`. A row keeps its number when rows
 * before it are dropped.
 */
export class RowHeights {
  readonly #usual: number;
  #first = 0;
  #heights: number[] = [];
  #layout: RowLayout | undefined;

  constructor(usual: number) {
    this.#usual = usual;
  }

  /** The layout of `count` rows from number `first` on; the same object as before if nothing has changed. */
  layoutOf(first: number, count: number): RowLayout {
    const dropped = first - this.#first;
    if (this.#layout !== undefined && dropped === 0 && count === this.#heights.length) return this.#layout;
    this.#first = first;
    if (dropped > 0) this.#heights.splice(0, dropped);
    while (this.#heights.length < count) this.#heights.push(this.#usual);
    this.#heights.length = count;
    this.#layout = addUp(this.#heights);
    return this.#layout;
  }

  /** Records the measured height of a row. Returns whether it differs from the known one. */
  set(number: number, height: number): boolean {
    const row = number - this.#first;
    const known = this.#heights[row];
    // A fraction of a pixel comes from zoom and does not count.
    if (known === undefined || Math.abs(known - height) < 0.5) return false;
    this.#heights[row] = height;
    this.#layout = undefined;
    return true;
  }

  /** Forgets all heights, after the width has changed and lines break elsewhere. */
  forget(): void {
    this.#heights.fill(this.#usual);
    this.#layout = undefined;
  }
}

/** 100,000 rows take 0.6 ms, so that every change adds up all of them. */
function addUp(heights: readonly number[]): RowLayout {
  const count = heights.length;
  const tops = new Float64Array(count + 1);
  for (let row = 0; row < count; row++) tops[row + 1] = (tops[row] as number) + (heights[row] as number);
  const topOf = (row: number): number => tops[Math.min(count, Math.max(0, row))] as number;
  return {
    count,
    height: topOf(count),
    topOf,
    rowAt: (y) => {
      let [low, high] = [0, Math.max(0, count - 1)];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (topOf(middle) <= y) low = middle;
        else high = middle - 1;
      }
      return low;
    },
  };
}

/** The visible part of a list. */
export interface View {
  /** The upper edge of the list, from the upper edge of the visible part; negative once it is scrolled away. */
  readonly top: number;
  /** The height of the visible part. */
  readonly seen: number;
}

export interface Visible {
  readonly first: number;
  /** The row after the last one. */
  readonly end: number;
}

/** Rows drawn beyond the visible part, on each side. */
const BEYOND = 8;
/** First and end are multiples of this, so that most steps of a scroll draw nothing. */
const STEP = 4;

export function visibleRows(layout: RowLayout, { top, seen }: View, beyond = BEYOND): Visible {
  const first = layout.rowAt(-top) - beyond;
  const end = layout.rowAt(seen - top) + 1 + beyond;
  const clamp = (row: number): number => Math.min(layout.count, Math.max(0, row));
  return { first: clamp(Math.floor(first / STEP) * STEP), end: clamp(Math.ceil(end / STEP) * STEP) };
}

/**
 * The rows to draw next. After a leap every row is new: the visible ones are drawn first, the others in the next frame. All at
 * once took twice as long.
 */
export function nextRows(
  layout: RowLayout,
  view: View,
  drawn: Visible,
): { readonly rows: Visible; readonly leap: boolean } {
  const whole = visibleRows(layout, view);
  const seen = visibleRows(layout, view, 0);
  const leap = seen.first < seen.end && (whole.first >= drawn.end || whole.end <= drawn.first);
  return { rows: leap ? seen : whole, leap };
}

/** How far to scroll until a row is wholly visible, below the part that sticks to the upper edge. */
export function scrollFor(row: number, layout: RowLayout, { top, seen }: View, stuck: number): number {
  const above = top + layout.topOf(row);
  if (above < stuck) return above - stuck;
  return Math.max(0, top + layout.topOf(row + 1) - seen);
}
