/** The lines of a log in a box that scrolls. Only the visible lines are drawn. */

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'react';
import type { LogLine } from '../../live/task-log.ts';
import { clockTime, exactTime } from '../../model/time.ts';
import { RowHeights } from '../../model/virtual-rows.ts';
import { useVisibleRows } from '../virtual-rows.ts';
import { Text } from './log-text.tsx';

/** The height of a line that does not break, as in the style sheet. */
const LINE_HEIGHT = 20;
/** A scroll to within this distance of the end follows it again. */
const AT_END = 40;

/** What stays in view when lines come, go or change their height: the end, a line by its number, or else the upper edge. */
export type Pin = 'end' | { readonly line: number } | undefined;

export function LogLines({
  lines,
  dropped,
  search,
  hit,
  span,
  pin,
  onScrolled,
  onLine,
}: {
  readonly lines: readonly LogLine[];
  /** How many older lines are no longer there: the number of the first line. */
  readonly dropped: number;
  readonly search: string;
  /** The row of the current search result. */
  readonly hit: number | undefined;
  /** Lines of this time are marked. */
  readonly span?: { readonly from: number; readonly until: number | undefined } | undefined;
  readonly pin: Pin;
  /** Called when the user scrolls, not when this list does. */
  readonly onScrolled: (atEnd: boolean) => void;
  /** Called with the time of the line under the pointer. */
  readonly onLine?: ((at: number | undefined) => void) | undefined;
}) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<HTMLDivElement>(null);
  const [heights] = useState(() => new RowHeights(LINE_HEIGHT));
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const layout = heights.layoutOf(dropped, lines.length);
  const { visible, look } = useVisibleRows({ layout, element: box, scrolls: 'by itself' });
  const [size, setSize] = useState('');

  // The drawn lines are measured before they are painted. If a height has changed, they are drawn again at once.
  useLayoutEffect(() => {
    const rows = [...(drawn.current?.children ?? [])];
    const news = rows.map((row, i) => heights.set(dropped + visible.first + i, row.getBoundingClientRect().height));
    if (news.includes(true)) redraw();
  }, [heights, visible, lines, dropped, search, size]);

  const before = useRef({ layout, dropped });
  const scrolledTo = useRef(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const was = before.current;
    before.current = { layout, dropped };
    if (pin === 'end') element.scrollTop = layout.height;
    else if (pin !== undefined) {
      const [top, bottom] = [layout.topOf(pin.line - dropped), layout.topOf(pin.line - dropped + 1)];
      element.scrollTop = (top + bottom - element.clientHeight) / 2;
    } else if (was.layout !== layout) {
      const row = was.layout.rowAt(element.scrollTop);
      element.scrollTop += layout.topOf(row - (dropped - was.dropped)) - was.layout.topOf(row);
    }
    scrolledTo.current = element.scrollTop;
    look();
  }, [layout, dropped, pin, size, look]);

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      // At another width lines break elsewhere.
      if (element.clientWidth !== width) heights.forget();
      width = element.clientWidth;
      setSize(`${width} × ${element.clientHeight}`);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [heights]);

  return (
    <div
      className="log-lines"
      style={{ height: `min(${Math.max(64, layout.height + 8)}px, 480px, 60vh)` }}
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Lines"
      onMouseLeave={onLine && (() => onLine(undefined))}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        // A scroll to where this list has put itself is not the user's.
        if (Math.abs(scrollTop - scrolledTo.current) > 1) onScrolled(scrollHeight - scrollTop - clientHeight < AT_END);
        scrolledTo.current = scrollTop;
      }}
    >
      <div style={{ height: layout.height }}>
        <div ref={drawn} style={{ transform: `translateY(${layout.topOf(visible.first)}px)` }}>
          {lines.slice(visible.first, visible.end).map((line, i) => (
            <div
              key={dropped + visible.first + i}
              className={`log-line ${line.stream === 'stderr' ? 'err' : line.stream === 'system' ? 'sys' : ''} ${hit === visible.first + i ? 'hit' : ''} ${isIn(line, span) ? 'span' : ''}`}
              onMouseEnter={onLine && (() => onLine(line.at))}
            >
              <time title={`${exactTime(line.at)}, attempt ${line.attempt}, ${line.stream}`}>{clockTime(line.at)}</time>
              <Text line={line} search={search} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function isIn(
  { at }: LogLine,
  span: { readonly from: number; readonly until: number | undefined } | undefined,
): boolean {
  return span !== undefined && at >= span.from && at <= (span.until ?? Number.POSITIVE_INFINITY);
}
