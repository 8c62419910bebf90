/** Moves and zooms a drawing: by dragging, by two fingers, by the wheel with a key held, and by buttons. */

import { type PointerEvent, type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { fit, type Size, type Viewport, within, zoomAt } from '../../../model/run/graph/viewport.ts';

const DRAG_FROM = 4;

interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Panning {
  /** Undefined until the box was measured. */
  readonly view: Viewport | undefined;
  readonly box: Size;
  /** Changed at most once a frame. */
  readonly move: (change: (view: Viewport, box: Size) => Viewport) => void;
  readonly zoom: (factor: number) => void;
  readonly dragging: boolean;
  readonly handlers: {
    readonly onPointerDown: (event: PointerEvent) => void;
    readonly onPointerMove: (event: PointerEvent) => void;
    readonly onPointerUp: (event: PointerEvent) => void;
    readonly onPointerCancel: (event: PointerEvent) => void;
  };
}

export function useViewport(
  element: RefObject<HTMLElement | null>,
  drawing: Size,
  /** Where it begins, once the box is measured, and whenever the drawing is another one. */
  first: (drawing: Size, box: Size) => Viewport = fit,
): Panning {
  const [box, setBox] = useState<Size>({ width: 0, height: 0 });
  const [view, setView] = useState<Viewport>();
  const frame = useRef<number>(undefined);
  const changes = useRef<((view: Viewport, box: Size) => Viewport)[]>([]);
  const latest = useRef({ box, drawing, first });
  latest.current = { box, drawing, first };

  useLayoutEffect(() => {
    const at = element.current;
    if (at === null) return;
    const look = (): void => setBox({ width: at.clientWidth, height: at.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(at);
    return () => observer.disconnect();
  }, [element]);

  const { width, height } = drawing;
  const measured = box.width > 0;
  useLayoutEffect(() => {
    if (measured) setView(latest.current.first({ width, height }, latest.current.box));
  }, [measured, width, height]);

  const move = useCallback((change: (view: Viewport, box: Size) => Viewport): void => {
    changes.current.push(change);
    frame.current ??= requestAnimationFrame(() => {
      frame.current = undefined;
      const all = changes.current.splice(0);
      const { box: room, drawing: whole } = latest.current;
      setView(
        (before) =>
          before &&
          within(
            all.reduce((now, one) => one(now, room), before),
            whole,
            room,
          ),
      );
    });
  }, []);
  useEffect(
    () => () => {
      if (frame.current !== undefined) cancelAnimationFrame(frame.current);
    },
    [],
  );

  // React listens for wheels in a way that cannot keep the page from zooming.
  useEffect(() => {
    const at = element.current;
    if (at === null) return;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = at.getBoundingClientRect();
      const point = { x: event.clientX - left, y: event.clientY - top };
      move((now) => zoomAt(now, Math.exp(-event.deltaY / 300), point));
    };
    at.addEventListener('wheel', onWheel, { passive: false });
    return () => at.removeEventListener('wheel', onWheel);
  }, [element, move]);

  const pointers = useRef(new Map<number, Point>());
  const began = useRef<Point>(undefined);
  const [dragging, setDragging] = useState(false);
  const pointOf = (event: PointerEvent): Point => {
    const { left = 0, top = 0 } = element.current?.getBoundingClientRect() ?? {};
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const drop = (event: PointerEvent): void => {
    pointers.current.delete(event.pointerId);
    if (pointers.current.size === 0) {
      began.current = undefined;
      // After the click that ends it.
      setTimeout(() => setDragging(false));
    }
  };
  return {
    view,
    box,
    move,
    zoom: (factor) => move((now, room) => zoomAt(now, factor, { x: room.width / 2, y: room.height / 2 })),
    dragging,
    handlers: {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        const at = pointOf(event);
        pointers.current.set(event.pointerId, at);
        began.current ??= at;
      },
      onPointerMove: (event) => {
        const before = pointers.current.get(event.pointerId);
        if (before === undefined || began.current === undefined) return;
        const at = pointOf(event);
        if (!dragging && Math.hypot(at.x - began.current.x, at.y - began.current.y) < DRAG_FROM) return;
        if (!dragging) {
          setDragging(true);
          element.current?.setPointerCapture(event.pointerId);
        }
        pointers.current.set(event.pointerId, at);
        const [other] = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
        if (other === undefined) {
          move((now) => ({ ...now, x: now.x + at.x - before.x, y: now.y + at.y - before.y }));
          return;
        }
        const factor =
          Math.hypot(at.x - other.x, at.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
        move((now) => zoomAt(now, factor, { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }));
      },
      onPointerUp: drop,
      onPointerCancel: drop,
    },
  };
}
