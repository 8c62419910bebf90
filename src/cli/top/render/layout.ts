import type { Panel } from '../lists.ts';

/** Panels beside each other, and the lines that they have, the title included. */
export interface PanelRow {
  readonly panels: readonly Panel[];
  readonly height: number;
}

/** From here on two panels stand beside each other. */
const WIDE = 110;
/** Below this there is room for one panel only. */
const LEAST_FOR_ALL = 8;
/** Below this the one in focus has all it needs, and the others what it leaves: two rows of each would tell nothing of any. */
const LOW = 16;
/** A head and a row: with less a panel shows nothing but its title. */
const LEAST_BODY = 2;

const NARROW_ROWS: readonly (readonly Panel[])[] = [['queues'], ['workers'], ['tasks'], ['limits'], ['events']];
const WIDE_ROWS: readonly (readonly Panel[])[] = [['queues', 'workers'], ['tasks'], ['limits', 'events']];

export interface LayoutInput {
  readonly columns: number;
  /** Lines for all panels together. */
  readonly lines: number;
  readonly focus: Panel;
  /** Rows that each panel has, heads not counted. */
  readonly rows: Readonly<Record<Panel, number>>;
}

/**
 * Who gets how many lines: each band its title; then the one in focus up to half of the rest; then each a head and a row, as far as that
 * goes; then one line after the other to whoever still has rows to show. What nobody needs goes to the last one, the tail of events.
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
  // One line is a head without a row: only who shows rows already gets single lines.
  const hungry = (): readonly number[] =>
    [...panelRows.keys()].filter(
      (i) => (given[i] as number) >= LEAST_BODY && (given[i] as number) < (needs[i] as number),
    );
  for (let waiting = hungry(); left > 0 && waiting.length > 0; waiting = hungry())
    for (const i of waiting) give(i, i === focused ? 2 : 1);
  given[given.length - 1] = (given.at(-1) as number) + left;
  return panelRows.map((panels, i) => ({ panels, height: 1 + (given[i] as number) }));
}
