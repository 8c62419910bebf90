/** The hook of the virtual list: which rows to draw while a table scrolls with the page, or a box scrolls by itself. */

import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { nextRows, type RowLayout, type View, type Visible } from '../model/virtual-rows.ts';

interface Options {
  readonly layout: RowLayout;
  /** The element that holds the rows, or the box that scrolls. */
  readonly element: RefObject<HTMLElement | null>;
  readonly scrolls: 'with the page' | 'by itself';
  /** Called with every scroll. */
  readonly onView?: ((view: View) => void) | undefined;
}

export function viewOf(element: HTMLElement, scrolls: Options['scrolls']): View {
  return scrolls === 'by itself'
    ? { top: -element.scrollTop, seen: element.clientHeight }
    : { top: element.getBoundingClientRect().top, seen: innerHeight };
}

/** `look` finds the visible rows at once, after the program itself has scrolled. */
export function useVisibleRows({ layout, element, scrolls, onView }: Options): {
  readonly visible: Visible;
  readonly look: () => void;
} {
  const [visible, setVisible] = useState<Visible>({ first: 0, end: 40 });
  const drawn = useRef(visible);
  const newest = useRef({ layout, onView });
  newest.current = { layout, onView };
  const frame = useRef(0);

  const look = useCallback((): void => {
    if (element.current === null) return;
    const view = viewOf(element.current, scrolls);
    const { rows, leap } = nextRows(newest.current.layout, view, drawn.current);
    drawn.current = rows;
    setVisible((before) => (before.first === rows.first && before.end === rows.end ? before : rows));
    cancelAnimationFrame(frame.current);
    if (leap) frame.current = requestAnimationFrame(look);
    newest.current.onView?.(view);
  }, [element, scrolls]);

  useLayoutEffect(look, [look, layout]);
  useLayoutEffect(() => {
    const target = scrolls === 'by itself' ? element.current : globalThis;
    target?.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe((scrolls === 'by itself' ? element.current : null) ?? document.body);
    return () => {
      cancelAnimationFrame(frame.current);
      target?.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [look, element, scrolls]);
  return { visible, look };
}
