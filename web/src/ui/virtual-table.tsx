/** The virtual table: a long list with columns, selection and keys. It scrolls with the page, and only visible rows are drawn. */

import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { evenRows, scrollFor } from '../model/virtual-rows.ts';
import { useKeys } from './keys.ts';
import { useVisibleRows, viewOf } from './virtual-rows.ts';

export interface Column<Row> {
  readonly head: string;
  /** The grid track: `120px`, `minmax(0, 2fr)`. */
  readonly track: string;
  readonly cell: (row: Row) => ReactNode;
  readonly num?: boolean;
  /** The cell itself cuts what is too long. */
  readonly loose?: boolean;
}

const NARROW = matchMedia('(max-width: 760px)');

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const change = (): void => setNarrow(NARROW.matches);
    NARROW.addEventListener('change', change);
    return () => NARROW.removeEventListener('change', change);
  }, []);
  return narrow;
}

export interface VirtualTableProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** A row on a narrow screen, as one column. */
  readonly narrow: (row: Row) => ReactNode;
  readonly height?: number;
  readonly narrowHeight?: number;
  readonly onOpen: (row: Row) => void;
  readonly selected?: ReadonlySet<string> | undefined;
  readonly onSelect?: ((key: string, range: boolean) => void) | undefined;
  readonly onSelectAll?: (() => void) | undefined;
  /** Called when the end of the loaded rows comes near. */
  readonly onEnd?: (() => void) | undefined;
  /** Called with whether the top is scrolled away. */
  readonly onScrolledAway?: ((away: boolean) => void) | undefined;
  readonly foot?: ReactNode;
}

/** More rows are loaded when fewer than this are left below. */
const AHEAD = 150;

export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, rows, keyOf, columns, onOpen, selected, onSelect, onSelectAll, onEnd, onScrolledAway, foot } = props;
  const narrow = useNarrow();
  const body = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string>();
  const height = narrow ? (props.narrowHeight ?? 60) : (props.height ?? 40);

  const count = rows.length;
  const layout = useMemo(() => evenRows(count, height), [count, height]);
  const { visible } = useVisibleRows({
    layout,
    element: body,
    scrolls: 'with the page',
    // The first row is under the sticky head.
    onView: ({ top }) => onScrolledAway?.(top < 0),
  });
  useEffect(() => {
    if (count > 0 && visible.end >= count - AHEAD) onEnd?.();
  }, [visible.end, count, onEnd]);

  const move = (by: number): void => {
    if (body.current === null) return;
    const view = viewOf(body.current, 'with the page');
    const stuck = body.current.previousElementSibling?.getBoundingClientRect().bottom ?? 0;
    const at = rows.findIndex((row) => keyOf(row) === active);
    const next =
      at === -1 ? Math.max(0, Math.ceil((stuck - view.top) / height)) : Math.min(count - 1, Math.max(0, at + by));
    if (rows[next] === undefined) return;
    setActive(keyOf(rows[next]));
    scrollBy({ top: scrollFor(next, layout, view, Math.max(0, stuck)) });
  };
  useKeys([
    { keys: 'j', does: 'Next row', group: 'Lists', run: () => move(1) },
    { keys: 'k', does: 'Previous row', group: 'Lists', run: () => move(-1) },
    {
      keys: 'Enter',
      does: 'Open the row',
      group: 'Lists',
      run: () => {
        const row = rows.find((one) => keyOf(one) === active);
        if (row !== undefined) onOpen(row);
      },
    },
    ...(onSelect === undefined
      ? []
      : [
          {
            keys: 'x',
            does: 'Select the row',
            group: 'Lists',
            run: () => void (active !== undefined && onSelect(active, false)),
          },
        ]),
  ]);

  const open = useRef(onOpen);
  open.current = onOpen;
  const select = useRef(onSelect);
  select.current = onSelect;
  const opened = useCallback((row: Row) => open.current(row), []);
  const chosen = useCallback((key: string, range: boolean) => select.current?.(key, range), []);
  const tracks = narrow
    ? onSelect
      ? '20px minmax(0, 1fr)'
      : 'minmax(0, 1fr)'
    : [...(onSelect ? ['20px'] : []), ...columns.map(({ track }) => track)].join(' ');
  const all = selected !== undefined && rows.length > 0 && selected.size >= rows.length;
  return (
    <div
      className="vt"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ ['--tracks' as string]: tracks }}
    >
      <div className="vt-head" role="row" aria-rowindex={1}>
        {onSelect && (
          <span role="columnheader" aria-label="Selection">
            <input type="checkbox" aria-label="Select all rows" checked={all} onChange={() => onSelectAll?.()} />
          </span>
        )}
        {narrow ? (
          <span role="columnheader">{label}</span>
        ) : (
          columns.map(({ head, num }) => (
            <span key={head} role="columnheader" className={num ? 'num' : undefined}>
              {head}
            </span>
          ))
        )}
      </div>
      <div className="vt-body" role="rowgroup" ref={body} style={{ height: layout.height }}>
        {rows.slice(visible.first, visible.end).map((row, i) => {
          const index = visible.first + i;
          const key = keyOf(row);
          return (
            <TableRow
              key={key}
              id={key}
              row={row as unknown}
              index={index}
              top={layout.topOf(index)}
              height={height}
              active={key === active}
              selected={selected?.has(key) ?? false}
              selectable={onSelect !== undefined}
              columns={columns as readonly Column<unknown>[]}
              narrow={narrow ? (props.narrow as (row: unknown) => ReactNode) : undefined}
              onOpen={opened as (row: unknown) => void}
              onSelect={chosen}
            />
          );
        })}
      </div>
      {foot !== undefined && <div className="vt-more">{foot}</div>}
    </div>
  );
}

interface RowProps {
  readonly id: string;
  readonly row: unknown;
  readonly index: number;
  readonly top: number;
  readonly height: number;
  readonly active: boolean;
  readonly selected: boolean;
  readonly selectable: boolean;
  readonly columns: readonly Column<unknown>[];
  readonly narrow: ((row: unknown) => ReactNode) | undefined;
  readonly onOpen: (row: unknown) => void;
  readonly onSelect: (key: string, range: boolean) => void;
}

const TableRow = memo(function TableRow({
  id,
  row,
  index,
  top,
  height,
  active,
  selected,
  selectable,
  columns,
  narrow,
  onOpen,
  onSelect,
}: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={`vt-row ${active ? 'active' : ''} ${selected ? 'selected' : ''}`}
      style={{ height, top }}
      onClick={(event) => {
        if (
          (event.target as HTMLElement).closest('a, button, input, label') === null &&
          getSelection()?.isCollapsed !== false
        )
          onOpen(row);
      }}
    >
      {selectable && (
        <span role="cell">
          <label className="check">
            <input
              type="checkbox"
              aria-label="Select this row"
              checked={selected}
              onChange={(event) => onSelect(id, (event.nativeEvent as MouseEvent).shiftKey)}
            />
          </label>
        </span>
      )}
      {narrow ? (
        <div role="cell" className="vt-cell">
          {narrow(row)}
        </div>
      ) : (
        columns.map((column) => (
          <div
            key={column.head}
            role="cell"
            className={`vt-cell ${column.num ? 'num' : ''} ${column.loose ? 'loose' : ''}`}
          >
            {column.cell(row)}
          </div>
        ))
      )}
    </div>
  );
});
