/** What of a large drawing is seen: how far it is moved, and how much it is made smaller. */

export interface Viewport {
  /** Of the drawing's upper left corner, in pixels of the box. */
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

export const MOST_SCALE = 1.5;
const LEAST_SCALE = 0.01;
/** Of the box, that the drawing cannot leave. */
const KEPT = 60;

/** All of it, and never larger than it is. A drawing lower than the box begins at its top. */
export function fit(drawing: Size, box: Size): Viewport {
  const scale = bounded(Math.min(1, box.width / Math.max(1, drawing.width), box.height / Math.max(1, drawing.height)));
  return {
    x: (box.width - drawing.width * scale) / 2,
    y: Math.max(0, (box.height - drawing.height * scale) / 2),
    scale,
  };
}

/** The same point of the drawing stays under the pointer. */
export function zoomAt(
  { x, y, scale }: Viewport,
  factor: number,
  at: { readonly x: number; readonly y: number },
): Viewport {
  const to = bounded(scale * factor);
  const by = to / scale;
  return { x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by, scale: to };
}

/** Moved, but not out of sight. */
export function within({ x, y, scale }: Viewport, drawing: Size, box: Size): Viewport {
  const clamp = (at: number, length: number, room: number): number =>
    Math.min(room - KEPT, Math.max(KEPT - length * scale, at));
  return { x: clamp(x, drawing.width, box.width), y: clamp(y, drawing.height, box.height), scale };
}

/** With this part of the drawing in view; as it is, if that is in view already. */
export function showing(view: Viewport, part: Rect, box: Size): Viewport {
  const { scale } = view;
  const along = (at: number, from: number, length: number, room: number): number => {
    const [first, last] = [from * scale + at, (from + length) * scale + at];
    if (first >= 12 && last <= room - 12) return at;
    return room / 2 - (from + length / 2) * scale;
  };
  return { x: along(view.x, part.x, part.width, box.width), y: along(view.y, part.y, part.height, box.height), scale };
}

/** The part of the drawing that is seen, with a margin in pixels of the box. */
export function seen({ x, y, scale }: Viewport, box: Size, margin: number): Rect {
  return {
    x: (-x - margin) / scale,
    y: (-y - margin) / scale,
    width: (box.width + 2 * margin) / scale,
    height: (box.height + 2 * margin) / scale,
  };
}

const bounded = (scale: number): number => Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale));
