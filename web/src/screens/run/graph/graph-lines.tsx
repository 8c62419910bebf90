/** What is behind the boxes of a graph: its connections, and from far away the nodes too. Drawn, since there may be ten thousand. */

import { useLayoutEffect, useMemo, useRef } from 'react';
import { useSignal } from '../../../live/signal.ts';
import { type GraphLayout, NODE_HEIGHT, NODE_WIDTH, type PlacedNode } from '../../../model/run/graph/layout.ts';
import { NODE_STATES, type Standing, toneOfNode } from '../../../model/run/graph/standing.ts';
import { type Rect, type Size, seen, type Viewport } from '../../../model/run/graph/viewport.ts';
import { theme } from '../../../theme.ts';

/** With more connections, those of the selected node stand out. */
const MANY = 400;

type Style = 'idle' | 'passed' | 'on';

export function GraphLines({
  layout,
  standings,
  selected,
  view,
  box,
  near,
}: {
  readonly layout: GraphLayout;
  readonly standings: readonly Standing[];
  readonly selected: number | undefined;
  readonly view: Viewport;
  readonly box: Size;
  /** The nodes are boxes of the page; else they are drawn here. */
  readonly near: boolean;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useRef<HTMLSpanElement>(null);
  const shown = useSignal(theme);
  const styles = useMemo(
    () => layout.connections.map(({ from, to, rejected }) => styleOf(from, to, rejected, standings, selected)),
    [layout, standings, selected],
  );
  const far = useMemo(() => farLines(layout, styles), [layout, styles]);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || box.width === 0) return;
    const density = Math.min(2, devicePixelRatio);
    const [width, height] = [Math.round(box.width * density), Math.round(box.height * density)];
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const { scale } = view;
    const palette = paletteOf(colours.current);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(scale * density, 0, 0, scale * density, view.x * density, view.y * density);
    context.lineWidth = near ? 1.6 : Math.max(1, 0.7 / scale);
    if (near) drawNear(context, layout, styles, seen(view, box, 40), palette);
    else {
      for (const style of ['idle', 'passed', 'on'] as const) {
        context.strokeStyle = palette[style];
        context.globalAlpha = style === 'on' ? 1 : 0.5;
        context.stroke(far[style]);
      }
      context.globalAlpha = 1;
      drawBlocks(context, layout.nodes, standings, palette);
      if (selected !== undefined) ring(context, layout.nodes[selected], palette.on, scale);
    }
    // The theme is in the colours that are read here.
  }, [layout, standings, styles, far, selected, view, box, near, shown]);
  return (
    <>
      <canvas ref={canvas} className="graph-lines" aria-hidden="true" />
      <span ref={colours} hidden aria-hidden="true">
        <i className="graph-ink-idle" />
        <i className="graph-ink-passed" />
        <i className="graph-ink-on" />
        {NODE_STATES.map((state) => (
          <i key={state} className={`graph-ink s-${toneOfNode(state)}`} />
        ))}
      </span>
    </>
  );
}

type Palette = Readonly<Record<string, string>> & Readonly<Record<Style, string>>;

function paletteOf(element: HTMLElement | null): Palette {
  const found = [...(element?.children ?? [])].map((one) => getComputedStyle(one).color);
  const [idle = '#888', passed = '#888', on = '#888', ...states] = found;
  return { idle, passed, on, ...Object.fromEntries(NODE_STATES.map((state, i) => [state, states[i] ?? '#888'])) };
}

function styleOf(
  from: number,
  to: number,
  rejected: boolean,
  standings: readonly Standing[],
  selected: number | undefined,
): Style {
  if (from === selected || to === selected) return 'on';
  const { state, kept = 0, rejected: refused = 0 } = standings[from] ?? { state: 'waiting' };
  return state === 'done' && (rejected ? refused : kept) > 0 ? 'passed' : 'idle';
}

const middles = (from: PlacedNode, to: PlacedNode): readonly [number, number, number, number] => [
  from.x + NODE_WIDTH,
  from.y + NODE_HEIGHT / 2,
  to.x,
  to.y + NODE_HEIGHT / 2,
];

/** From far away a curve is a line. */
function farLines(layout: GraphLayout, styles: readonly Style[]): Readonly<Record<Style, Path2D>> {
  const lines = { idle: new Path2D(), passed: new Path2D(), on: new Path2D() };
  for (const [i, { from, to }] of layout.connections.entries()) {
    const [x1, y1, x2, y2] = middles(layout.nodes[from] as PlacedNode, layout.nodes[to] as PlacedNode);
    const line = lines[styles[i] as Style];
    line.moveTo(x1, y1);
    line.lineTo(x2, y2);
  }
  return lines;
}

function drawNear(
  context: CanvasRenderingContext2D,
  { nodes, connections }: GraphLayout,
  styles: readonly Style[],
  part: Rect,
  palette: Palette,
): void {
  const many = connections.length > MANY;
  for (const style of ['idle', 'passed', 'on'] as const) {
    context.globalAlpha = many && style !== 'on' ? 0.4 : 1;
    context.strokeStyle = palette[style];
    context.fillStyle = palette[style];
    for (const [i, { from, to, rejected, path }] of connections.entries()) {
      if (styles[i] !== style) continue;
      const [a, b] = [nodes[from] as PlacedNode, nodes[to] as PlacedNode];
      if (!touches(a, b, part)) continue;
      context.setLineDash(rejected ? [5, 4] : []);
      context.stroke(new Path2D(path));
      const [x, y] = [b.x, b.y + NODE_HEIGHT / 2];
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(x - 7, y - 4);
      context.lineTo(x, y);
      context.lineTo(x - 7, y + 4);
      context.fill();
    }
  }
  context.globalAlpha = 1;
}

function touches(a: PlacedNode, b: PlacedNode, { x, y, width, height }: Rect): boolean {
  return (
    Math.min(a.x, b.x) <= x + width &&
    Math.max(a.x, b.x) + NODE_WIDTH >= x &&
    Math.min(a.y, b.y) - NODE_HEIGHT <= y + height &&
    Math.max(a.y, b.y) + 2 * NODE_HEIGHT >= y
  );
}

function drawBlocks(
  context: CanvasRenderingContext2D,
  nodes: readonly PlacedNode[],
  standings: readonly Standing[],
  palette: Palette,
): void {
  const byState = new Map<string, PlacedNode[]>();
  for (const [i, node] of nodes.entries()) {
    const state = standings[i]?.state ?? 'waiting';
    const some = byState.get(state);
    if (some === undefined) byState.set(state, [node]);
    else some.push(node);
  }
  // What asks for attention is drawn last, so that nothing covers it.
  for (const state of [...NODE_STATES].reverse()) {
    // What waits asks for nothing.
    context.fillStyle = (state === 'waiting' ? undefined : palette[state]) ?? palette.idle;
    for (const { x, y } of byState.get(state) ?? []) context.fillRect(x, y, NODE_WIDTH, NODE_HEIGHT);
  }
}

function ring(context: CanvasRenderingContext2D, at: PlacedNode | undefined, colour: string, scale: number): void {
  if (at === undefined) return;
  const room = 5 / scale;
  context.strokeStyle = colour;
  context.lineWidth = 2.5 / scale;
  context.strokeRect(at.x - room, at.y - room, NODE_WIDTH + 2 * room, NODE_HEIGHT + 2 * room);
}
