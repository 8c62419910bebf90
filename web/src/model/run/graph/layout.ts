/**
 * Where the nodes of a graph are drawn: as the workflow places them, or in columns from what begins to what ends. Sizes are in pixels
 * before the zoom.
 */

import { type BoxSize, layoutDiagram } from '../diagram.ts';

export const NODE_WIDTH = 172;
export const NODE_HEIGHT = 54;
const SIZE: BoxSize = { width: NODE_WIDTH, height: NODE_HEIGHT, gapX: 56, gapY: 22 };
const MARGIN = 24;
/** A column with more nodes is folded into several. */
const MOST_ROWS = 24;
/** How wide a drawing with folded columns is for its height, about as the box in which it is seen. */
const ASPECT = 2.2;
const BETWEEN_BLOCKS = 120;
/** As far as positions are drawn apart so that nodes do not cover each other. */
const SCALES = [1, 1.25, 1.6, 2, 2.5, 3];

export interface OutlineNode {
  readonly id: string;
  readonly x?: number | undefined;
  readonly y?: number | undefined;
}

export interface OutlineConnection {
  /** Places of nodes. */
  readonly from: number;
  readonly to: number;
  readonly rejected?: boolean | undefined;
}

export interface PlacedNode {
  /** The upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface PlacedConnection {
  readonly from: number;
  readonly to: number;
  readonly rejected: boolean;
  /** The path of an SVG. */
  readonly path: string;
}

export interface GraphLayout {
  /** In the order of the nodes. */
  readonly nodes: readonly PlacedNode[];
  readonly connections: readonly PlacedConnection[];
  readonly width: number;
  readonly height: number;
}

export function layoutGraph(nodes: readonly OutlineNode[], connections: readonly OutlineConnection[]): GraphLayout {
  const own = ownPlaces(nodes);
  return own === undefined ? inColumns(nodes, connections) : asPlaced(own, connections);
}

/** Undefined: some have none, or they cover each other however far they are drawn apart. */
function ownPlaces(nodes: readonly OutlineNode[]): readonly PlacedNode[] | undefined {
  const given = nodes.flatMap(({ x, y }) => (x === undefined || y === undefined ? [] : [{ x, y }]));
  if (given.length < nodes.length) return undefined;
  const scale = SCALES.find((one) => !covers(given.map(({ x, y }) => ({ x: x * one, y: y * one }))));
  if (scale === undefined) return undefined;
  const left = given.reduce((least, { x }) => Math.min(least, x), Number.POSITIVE_INFINITY);
  const top = given.reduce((least, { y }) => Math.min(least, y), Number.POSITIVE_INFINITY);
  return given.map(({ x, y }) => ({ x: (x - left) * scale + MARGIN, y: (y - top) * scale + MARGIN }));
}

/** Whether two nodes cover each other. A cell is as large as a node, so only neighbours can. */
function covers(places: readonly PlacedNode[]): boolean {
  const cells = new Map<string, PlacedNode[]>();
  const [width, height] = [NODE_WIDTH + 8, NODE_HEIGHT + 8];
  for (const place of places) {
    const [column, row] = [Math.floor(place.x / width), Math.floor(place.y / height)];
    for (let dx = -1; dx <= 1; dx++)
      for (let dy = -1; dy <= 1; dy++)
        for (const { x, y } of cells.get(`${column + dx} ${row + dy}`) ?? [])
          if (Math.abs(x - place.x) < width && Math.abs(y - place.y) < height) return true;
    const key = `${column} ${row}`;
    cells.set(key, [...(cells.get(key) ?? []), place]);
  }
  return false;
}

function asPlaced(nodes: readonly PlacedNode[], connections: readonly OutlineConnection[]): GraphLayout {
  const right = nodes.reduce((most, { x }) => Math.max(most, x), 0);
  const low = nodes.reduce((most, { y }) => Math.max(most, y), 0);
  return {
    nodes,
    connections: pairs(connections).map(({ from, to, rejected }) => {
      const path = curve(nodes[from] as PlacedNode, nodes[to] as PlacedNode);
      return { from, to, rejected, path };
    }),
    width: right + NODE_WIDTH + MARGIN,
    height: low + NODE_HEIGHT + MARGIN,
  };
}

/** From the right side of one to the left side of the other, in a bow where that lies behind it. */
function curve(from: PlacedNode, to: PlacedNode): string {
  const [x1, y1] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + NODE_HEIGHT / 2];
  const bend = x2 >= x1 ? Math.max(24, (x2 - x1) / 2) : Math.min(160, 60 + (x1 - x2) / 3);
  return `M${round(x1)} ${round(y1)}C${round(x1 + bend)} ${round(y1)} ${round(x2 - bend)} ${round(y2)} ${round(x2)} ${round(y2)}`;
}

const round = (n: number): number => Math.round(n * 10) / 10;

function inColumns(nodes: readonly OutlineNode[], connections: readonly OutlineConnection[]): GraphLayout {
  const drawn = pairs(connections);
  const out = Map.groupBy(drawn, ({ from }) => from);
  const states = nodes.map(({ id }, i) => ({
    name: id,
    type: 'state',
    does: '',
    to: (out.get(i) ?? []).map(({ to }) => ({ state: nodes[to]?.id ?? '' })),
    onError: [],
    visits: 0,
  }));
  const { states: placed, edges, width, height } = layoutDiagram(states, SIZE);
  const columns = Map.groupBy(placed.keys(), (i) => placed[i]?.column ?? 0);
  if ([...columns.values()].some((column) => column.length > MOST_ROWS)) {
    const inOrder = [...columns].sort(([a], [b]) => a - b).map(([, column]) => column.sort((a, b) => a - b));
    return asPlaced(folded(inOrder, nodes.length), connections);
  }
  const places = new Map(nodes.map(({ id }, i) => [id, i]));
  const rejected = new Set(drawn.filter((one) => one.rejected).map(({ from, to }) => `${from} ${to}`));
  return {
    nodes: placed.map(({ x, y }) => ({ x, y })),
    connections: edges.map(({ from, to, path }) => {
      const [a, b] = [places.get(from) as number, places.get(to) as number];
      return { from: a, to: b, rejected: rejected.has(`${a} ${b}`), path };
    }),
    width,
    height: height + MARGIN,
  };
}

/** Each column as a block, all of the same height, so that a fan-out of hundreds is no thin tower. */
function folded(columns: readonly (readonly number[])[], count: number): readonly PlacedNode[] {
  const [width, height] = [NODE_WIDTH + 20, NODE_HEIGHT + 14];
  const widthBy = (rows: number): number =>
    columns.reduce((sum, column) => sum + Math.ceil(column.length / rows) * width + BETWEEN_BLOCKS, 0);
  let rows = 4;
  while (rows < count && widthBy(rows) > ASPECT * rows * height) rows = Math.ceil(rows * 1.15);
  const places: PlacedNode[] = [];
  let left = MARGIN;
  for (const column of columns) {
    const wide = Math.ceil(column.length / rows);
    const high = Math.ceil(column.length / wide);
    const top = MARGIN + ((rows - high) * height) / 2;
    for (const [n, i] of column.entries())
      places[i] = { x: left + Math.floor(n / high) * width, y: top + (n % high) * height };
    left += wide * width + BETWEEN_BLOCKS;
  }
  return places;
}

/** One for each pair of nodes: both ways out of an "if" may lead to the same node. */
function pairs(
  connections: readonly OutlineConnection[],
): readonly (OutlineConnection & { readonly rejected: boolean })[] {
  const found = new Map<string, OutlineConnection & { readonly rejected: boolean }>();
  for (const { from, to, rejected = false } of connections) {
    const key = `${from} ${to}`;
    found.set(key, { from, to, rejected: rejected && (found.get(key)?.rejected ?? true) });
  }
  return [...found.values()];
}
