/** Which rows of a long list are drawn, and where: arithmetic for the virtual table and the log. */

/** Where rows stand, in pixels from the upper edge of the list. A layout does not change; a changed list gets a new one. */
export interface RowLayout {
  readonly count: number;
  /** Of all rows together. */
  readonly height: number;
  readonly topOf: (row: number) => number;
  /** The row at this distance from the upper edge. */
  readonly rowAt: (y: number) => number;
}

/** Rows of the same height, so that nothing has to be measured. */
export function evenRows(count: number, height: number): RowLayout {
  return {
    count,
    height: count * height,
    topOf: (row) => row * height,
    rowAt: (y) => Math.floor(y / height),
  };
}

/**
 * The heights of rows that have to be measured. A row that was never drawn counts as `usual`. Rows have numbers that stay
 * when rows before them are dropped.
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

  /** What a row was found to measure. Returns whether that is news. */
  set(number: number, height: number): boolean {
    const row = number - this.#first;
    const known = this.#heights[row];
    // Fractions of a pixel come from zoom, and are no other height.
    if (known === undefined || Math.abs(known - height) < 0.5) return false;
    this.#heights[row] = height;
    this.#layout = undefined;
    return true;
  }

  /** After the width has changed: lines break elsewhere. */
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

/** The part of a list that is seen. */
export interface View {
  /** Where the list begins, from the upper edge of what is seen; negative once it was scrolled away. */
  readonly top: number;
  /** How high that part is. */
  readonly seen: number;
}

export interface Visible {
  readonly first: number;
  /** Behind the last one. */
  readonly end: number;
}

/** Drawn beyond what is seen, on each side. */
const BEYOND = 8;
/** The visible rows move by so many at once: most steps of a scroll draw nothing. */
const STEP = 4;

export function visibleRows(layout: RowLayout, { top, seen }: View, beyond = BEYOND): Visible {
  const first = layout.rowAt(-top) - beyond;
  const end = layout.rowAt(seen - top) + 1 + beyond;
  const clamp = (row: number): number => Math.min(layout.count, Math.max(0, row));
  return { first: clamp(Math.floor(first / STEP) * STEP), end: clamp(Math.ceil(end / STEP) * STEP) };
}

/**
 * What to draw next. After a leap every row is new: first those that are seen, in the next frame those around them. All at
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

/** How far to scroll so that a row is seen whole, below what sticks to the upper edge. */
export function scrollFor(row: number, layout: RowLayout, { top, seen }: View, stuck: number): number {
  const above = top + layout.topOf(row);
  if (above < stuck) return above - stuck;
  return Math.max(0, top + layout.topOf(row + 1) - seen);
}
