import type { Panel } from '../lists.ts';

/** Panels beside each other, and their height with the title. */
export interface PanelRow {
  readonly panels: readonly Panel[];
  readonly height: number;
}

/** From this width on, two panels are beside each other. */
const WIDE = 110;
/** Below this height there is one panel only. */
const LEAST_FOR_ALL = 8;
/** Below this height the panel in focus gets all it needs, and the others the rest: two rows of each would be useless. */
const LOW = 16;
/** A head and one row: with less a panel shows only its title. */
const LEAST_BODY = 2;

const NARROW_ROWS: readonly (readonly Panel[])[] = [['queues'], ['workers'], ['tasks'], ['limits'], ['events']];
const WIDE_ROWS: readonly (readonly Panel[])[] = [['queues', 'workers'], ['tasks'], ['limits', 'events']];

export interface LayoutInput {
  readonly columns: number;
  /** Lines for all panels together. */
  readonly lines: number;
  readonly focus: Panel;
  /** The rows of each panel, without heads. */
  readonly rows: Readonly<Record<Panel, number>>;
}

/**
 * Distributes the lines: first a title for each row of panels; then up to half of the rest for the one in focus; then a head and a
 * row for each of the others, while lines last; then single lines in turn for those with more rows to show. Spare lines go to the last
 * one, the tail of events.
 */
export function layOutPanels({ columns, lines, focus, rows }: LayoutInput): readonly PanelRow[] {
  if (lines < LEAST_FOR_ALL) return [{ panels: [focus], height: Math.max(0, lines) }];
  const panelRows = columns >= WIDE ? WIDE_ROWS : NARROW_ROWS;
  const needs = panelRows.map((panels) =>
    Math.max(...panels.map((panel) => (rows[panel] === 0 ? 1 : rows[panel] + 1))),
  );
  const focused = panelRows.findIndex((panels) => panels.includes(focus));
  const given = panelRows.map(() => 0);
  let left = lines - panelRows.length;
  const give = (i: number, count: number): void => {
    const more = Math.max(0, Math.min(count, left, (needs[i] as number) - (given[i] as number)));
    given[i] = (given[i] as number) + more;
    left -= more;
  };
  give(focused, lines < LOW ? left : Math.max(LEAST_BODY, Math.floor(left / 2)));
  for (const i of panelRows.keys()) if (given[i] === 0 && left >= LEAST_BODY) give(i, LEAST_BODY);
  // A single line would be a head without a row: only panels that show rows get single lines.
  const hungry = (): readonly number[] =>
    [...panelRows.keys()].filter(
      (i) => (given[i] as number) >= LEAST_BODY && (given[i] as number) < (needs[i] as number),
    );
  for (let waiting = hungry(); left > 0 && waiting.length > 0; waiting = hungry())
    for (const i of waiting) give(i, i === focused ? 2 : 1);
  given[given.length - 1] = (given.at(-1) as number) + left;
  return panelRows.map((panels, i) => ({ panels, height: 1 + (given[i] as number) }));
}
