/** The waterfall: each step, wait and child of a run as a bar on one time scale. Only visible rows are drawn. */

import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { RunDetail } from '../../api.ts';
import { hasDetail, isIn, type StepRow, workIn } from '../../model/run/rows.ts';
import { idleGaps, timeScale } from '../../model/run/time.ts';
import { isFinal } from '../../model/task-states.ts';
import { evenRows, scrollFor } from '../../model/virtual-rows.ts';
import { Button } from '../../ui/buttons.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Empty, ErrorNote } from '../../ui/states.tsx';
import { useNow } from '../../ui/times.tsx';
import { useVisibleRows, viewOf } from '../../ui/virtual-rows.ts';
import { BAR_ROW, domId, WaterfallRow } from './waterfall-row.tsx';

/** More entries are read when fewer rows than this are left below. */
const AHEAD = 100;
/** With more rows than this, those that are seen may have a scale of their own. */
const MANY = 30;

export function Waterfall({
  run,
  rows,
  error,
  selected,
  hoveredState,
  lineAt,
  onHover,
  onSelect,
  onTurn,
  onOpen,
  onEnd,
  onFork,
}: {
  readonly run: RunDetail;
  readonly rows: readonly StepRow[];
  readonly error: unknown;
  readonly selected: StepRow | undefined;
  /** A state of the diagram under the pointer. */
  readonly hoveredState: string | undefined;
  /** The time of the log line under the pointer. */
  readonly lineAt: number | undefined;
  readonly onHover: (row: StepRow | undefined) => void;
  readonly onSelect: (row: StepRow | undefined) => void;
  readonly onTurn: (id: string) => void;
  readonly onOpen: (row: StepRow) => void;
  readonly onEnd: () => void;
  readonly onFork: ((row: StepRow) => void) | undefined;
}) {
  const live = !isFinal(run.state);
  // What has ended is as high as its rows. What is live has its height from the beginning, so that nothing below moves.
  const [fits] = useState(!live);
  const now = useNow((at) => (live ? Math.floor(at / 1000) * 1000 : 0));
  const [cutting, setCutting] = useState(true);
  const [zoomed, setZoomed] = useState(false);
  const from = Math.min(run.startedAt ?? run.createdAt, ...rows.slice(0, 1).map((row) => row.from));
  const last = rows.reduce((end, row) => Math.max(end, row.until ?? row.from), from);
  const until = Math.max(last, run.finishedAt ?? now);
  const box = useRef<HTMLDivElement>(null);
  const layout = useMemo(() => evenRows(rows.length, BAR_ROW), [rows.length]);
  const { visible, look } = useVisibleRows({ layout, element: box, scrolls: 'by itself' });
  const gaps = useMemo(() => idleGaps(workIn(rows), from, until), [rows, from, until]);
  const seen = zoomed ? visible : undefined;
  const scale = useMemo(() => {
    const [first, end] = seen === undefined ? [from, until] : timesOf(rows.slice(seen.first, seen.end), until);
    return timeScale(first, end, cutting ? gaps.filter((gap) => gap.from >= first && gap.until <= end) : []);
  }, [seen, rows, from, until, gaps, cutting]);
  useEffect(() => {
    if (rows.length > 0 && visible.end >= rows.length - AHEAD) onEnd();
  }, [visible.end, rows.length, onEnd]);

  // What is selected elsewhere, in the diagram or by the address, comes into view.
  const shownId = useRef<string>(undefined);
  const at = selected === undefined ? -1 : rows.findIndex(({ id }) => id === selected.id);
  useLayoutEffect(() => {
    if (box.current === null || at === -1 || selected === undefined || shownId.current === selected.id) return;
    shownId.current = selected.id;
    box.current.scrollTop += scrollFor(at, layout, viewOf(box.current, 'by itself'), 0);
    look();
  }, [selected, at, layout, look]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[at];
    const to = (index: number): void => onSelect(rows[Math.min(rows.length - 1, Math.max(0, index))]);
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / BAR_ROW) - 1);
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      PageDown: () => to(at + page),
      PageUp: () => to(at - page),
      Home: () => to(0),
      End: () => to(rows.length - 1),
      ArrowRight: () => (row?.open === false ? onTurn(row.id) : to(at + 1)),
      ArrowLeft: () => {
        if (row?.open === true) onTurn(row.id);
        else if (row !== undefined) to(rows.slice(0, at).findLastIndex(({ level }) => level < row.level));
      },
      Enter: () => row !== undefined && hasDetail(row) && onOpen(row),
      Escape: () => onSelect(undefined),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  };
  const hasVisible = at >= visible.first && at < visible.end;
  return (
    <Panel
      title="Steps"
      count={rows.length}
      actions={
        <>
          {gaps.length > 0 && (
            <Button small aria-pressed={cutting} onClick={() => setCutting(!cutting)}>
              Cut idle time
            </Button>
          )}
          {rows.length > MANY && (
            <Button small aria-pressed={zoomed} onClick={() => setZoomed(!zoomed)}>
              Zoom to rows
            </Button>
          )}
        </>
      }
    >
      {error !== undefined && <ErrorNote error={error} />}
      <div className="wf">
        <div className="wf-axis" aria-hidden="true">
          <span />
          <span className="wf-track">
            {scale.ticks.map(({ part, text }) => (
              <i key={text} style={{ left: `${part * 100}%` }}>
                {text}
              </i>
            ))}
          </span>
          <span />
        </div>
        <div
          className="wf-box"
          style={fits ? { height: `min(${Math.max(4, rows.length) * BAR_ROW + 8}px, 420px, 60vh)` } : undefined}
          ref={box}
          role="tree"
          tabIndex={0}
          aria-label="Steps, waits and children"
          aria-activedescendant={hasVisible && selected !== undefined ? domId(selected) : undefined}
          onKeyDown={onKeyDown}
          onMouseLeave={() => onHover(undefined)}
        >
          {rows.length === 0 && (
            <Empty icon="runs" title="No steps yet">
              <p>A step appears here when it is done, and so do waits and children.</p>
            </Empty>
          )}
          <div className="wf-rows" style={{ height: layout.height }} role="presentation">
            <div className="wf-grid" aria-hidden="true">
              <span className="wf-track">
                {scale.ticks.map(({ part, text }) => (
                  <i key={text} style={{ left: `${part * 100}%` }} />
                ))}
                {scale.gaps.map(({ part, size, text }) => (
                  <b
                    key={part}
                    title={`${text} in which nothing ran`}
                    style={{ left: `${part * 100}%`, width: `${size * 100}%` }}
                  />
                ))}
                {lineAt !== undefined && lineAt >= scale.from && lineAt <= scale.until && (
                  <em style={{ left: `${scale.partOf(lineAt) * 100}%` }} />
                )}
              </span>
            </div>
            {rows.slice(visible.first, visible.end).map((row, i) => (
              <WaterfallRow
                key={row.id}
                row={row}
                index={visible.first + i}
                all={rows.length}
                scale={scale}
                now={row.until === undefined ? until : 0}
                live={live}
                selected={row.id === selected?.id}
                lit={hoveredState !== undefined && isIn(row, run.id, hoveredState)}
                onHover={onHover}
                onSelect={onSelect}
                onTurn={onTurn}
                onOpen={onOpen}
              />
            ))}
          </div>
        </div>
        <Foot row={selected} onOpen={onOpen} onFork={onFork} />
      </div>
    </Panel>
  );
}

/** What can be done with the selected row. It has its place also while none is selected. */
function Foot({
  row,
  onOpen,
  onFork,
}: {
  readonly row: StepRow | undefined;
  readonly onOpen: (row: StepRow) => void;
  readonly onFork: ((row: StepRow) => void) | undefined;
}) {
  if (row === undefined)
    return (
      <div className="wf-foot quiet">
        <span className="cut">Select a step: its lines are marked in the log. Enter opens it.</span>
      </div>
    );
  return (
    <div className="wf-foot">
      <span className="cut">
        <span className="strong">{row.name}</span> <code className="quiet">{row.key}</code>
      </span>
      <span className="grow" />
      {row.of === undefined && <span className="quiet nowrap">under way</span>}
      {hasDetail(row) && (
        <Button small onClick={() => onOpen(row)}>
          Open
        </Button>
      )}
      {row.of?.forkable === true && onFork !== undefined && (
        <Button small icon="fork" onClick={() => onFork(row)}>
          Fork from here
        </Button>
      )}
    </div>
  );
}

function timesOf(rows: readonly StepRow[], until: number): readonly [number, number] {
  const from = rows.reduce((first, row) => Math.min(first, row.from), until);
  return [from, rows.reduce((last, row) => Math.max(last, row.until ?? until), from)];
}
