/**
 * The layout of a machine's diagram: states in columns from the initial one on, time to the right. A transition that leads back
 * is led around below all states, so that a loop reads as one. Sizes are in pixels.
 */

export interface DiagramState {
  readonly name: string;
  readonly type: string;
  readonly does: string;
  readonly to: readonly { readonly state: string; readonly condition?: string | undefined }[];
  readonly onError: readonly string[];
  readonly visits: number;
}

export interface PlacedState {
  readonly name: string;
  readonly column: number;
  /** The upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  readonly error: boolean;
  readonly back: boolean;
  /** It ends where another line to the same state passes. */
  readonly joins: boolean;
  /** The path of an SVG. */
  readonly path: string;
}

export interface Diagram {
  readonly states: readonly PlacedState[];
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

export const STATE_WIDTH = 128;
export const STATE_HEIGHT = 44;

/** How large a box is, and the room beside and below it. */
export interface BoxSize {
  readonly width: number;
  readonly height: number;
  readonly gapX: number;
  readonly gapY: number;
}

const STATE: BoxSize = { width: STATE_WIDTH, height: STATE_HEIGHT, gapX: 40, gapY: 18 };
/** Between lines that lead past states, and between those that lead back. */
const LINE_GAP = 12;
const MARGIN = 22;
/** Room above the states for transitions of a state to itself. */
const LOOP_ROOM = 20;
const SWEEPS = 4;
/** With more points at which edges pass columns, edges lead straight to where they end. */
const MOST_PASSING = 20_000;

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly error: boolean;
}

/** A state, or the point at which a long edge passes a column. */
interface Place {
  readonly id: string;
  readonly column: number;
  readonly isState: boolean;
  /** A line of transitions comes before one of errors. */
  readonly rank: number;
  readonly before: Place[];
  readonly after: Place[];
  /** What leads to it by a transition. */
  readonly main: Place[];
  y: number;
}

export function layoutDiagram(states: readonly DiagramState[], size: BoxSize = STATE): Diagram {
  const edges = edgesOf(states);
  const { back, order } = findLoops(states, edges);
  const columns = columnsOf(order, edges, back);
  const { places, ways } = placesOf(order, edges, back, columns);
  const byColumn = orderWithin(places);
  placeVertically(byColumn, size);
  const lowest = places.reduce((low, { y, isState }) => Math.max(low, y + (isState ? size.height / 2 : 0)), 0);
  const xOf = (column: number): number => MARGIN + column * (size.width + size.gapX);
  const lanes = lanesOf(
    edges.filter((edge) => back.has(edge) && edge.from !== edge.to),
    columns,
  );
  const placed = new Map(
    places
      .filter(({ isState }) => isState)
      .map(({ id, column, y }) => [id, { name: id, column, x: xOf(column), y: y - size.height / 2 }]),
  );
  const drawn = edges.map((edge): PlacedEdge => {
    const [from, to] = [placed.get(edge.from) as PlacedState, placed.get(edge.to) as PlacedState];
    const lane = lanes.get(edge);
    const way = ways.get(edge) ?? [];
    const path =
      edge.from === edge.to
        ? loopPath(from)
        : lane === undefined
          ? forwardPath(
              way.map(({ column, y, isState }) => ({ x: xOf(column), y, isState })),
              size.width,
            )
          : backPath(from, to, { lane, lowest, size });
    return { ...edge, back: back.has(edge), joins: way.at(-1)?.isState === false, path };
  });
  const count = [...columns.values()].reduce((most, one) => Math.max(most, one), 0) + (states.length === 0 ? 0 : 1);
  const laneCount = Math.max(0, ...[...lanes.values()].map((lane) => lane + 1));
  return {
    states: states.map(({ name }) => placed.get(name) as PlacedState),
    edges: drawn,
    width: 2 * MARGIN + count * size.width + Math.max(0, count - 1) * size.gapX,
    height: lowest + (laneCount === 0 ? 4 : laneCount * LINE_GAP + 10),
  };
}

/** One edge for each pair of states. What is both a transition and an error route is a transition. */
function edgesOf(states: readonly DiagramState[]): readonly Edge[] {
  const known = new Set(states.map(({ name }) => name));
  return states.flatMap(({ name, to, onError }) => {
    const next = new Set(to.map(({ state }) => state));
    const errors = new Set(onError.filter((state) => !next.has(state)));
    return [...next, ...errors]
      .filter((state) => known.has(state))
      .map((state) => ({ from: name, to: state, error: errors.has(state) }));
  });
}

/** Edges that close a loop on the way from the initial state, and the states in an order in which all others lead ahead. */
function findLoops(
  states: readonly DiagramState[],
  edges: readonly Edge[],
): { readonly back: ReadonlySet<Edge>; readonly order: readonly string[] } {
  const out = Map.groupBy(edges, ({ from }) => from);
  const back = new Set<Edge>();
  const done: string[] = [];
  const seen = new Set<string>();
  const onPath = new Set<string>();
  const starts = [...states].sort((a, b) => Number(b.type === 'initial') - Number(a.type === 'initial'));
  for (const { name } of starts) {
    if (seen.has(name)) continue;
    // An explicit stack, because a chain may be longer than the call stack is deep.
    const stack = [{ name, at: 0 }];
    seen.add(name);
    onPath.add(name);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = out.get(top.name)?.[top.at++];
      if (edge === undefined) {
        stack.pop();
        onPath.delete(top.name);
        done.push(top.name);
      } else if (onPath.has(edge.to)) back.add(edge);
      else if (!seen.has(edge.to)) {
        seen.add(edge.to);
        onPath.add(edge.to);
        stack.push({ name: edge.to, at: 0 });
      }
    }
  }
  return { back, order: done.reverse() };
}

/** The longest way to each state. */
function columnsOf(
  order: readonly string[],
  edges: readonly Edge[],
  back: ReadonlySet<Edge>,
): ReadonlyMap<string, number> {
  const out = Map.groupBy(edges, ({ from }) => from);
  const columns = new Map(order.map((name) => [name, 0]));
  for (const name of order)
    for (const edge of out.get(name) ?? [])
      if (!back.has(edge))
        columns.set(edge.to, Math.max(columns.get(edge.to) as number, (columns.get(name) as number) + 1));
  return columns;
}

function placesOf(
  order: readonly string[],
  edges: readonly Edge[],
  back: ReadonlySet<Edge>,
  columns: ReadonlyMap<string, number>,
): { readonly places: readonly Place[]; readonly ways: ReadonlyMap<Edge, readonly Place[]> } {
  const place = (id: string, column: number, rank: number): Place => ({
    id,
    column,
    isState: rank === 0,
    rank,
    before: [],
    after: [],
    main: [],
    y: 0,
  });
  const ofState = new Map(order.map((name) => [name, place(name, columns.get(name) as number, 0)]));
  const places = [...ofState.values()];
  const ways = new Map<Edge, readonly Place[]>();
  // Error routes to one state are one line, which others join.
  const shared = new Map<string, Place>();
  const passing = (edge: Edge, column: number): readonly [Place, boolean] => {
    const id = edge.error ? `error ${column} ${edge.to}` : `${column} ${edge.from} ${edge.to}`;
    const found = shared.get(id);
    if (found !== undefined) return [found, true];
    const made = place(id, column, edge.error ? 2 : 1);
    shared.set(id, made);
    places.push(made);
    return [made, false];
  };
  const link = (from: Place, to: Place, error: boolean): void => {
    from.after.push(to);
    to.before.push(from);
    if (!error) to.main.push(from);
  };
  const ahead = edges.filter((one) => !back.has(one));
  const spans = ahead.reduce(
    (sum, { from, to }) => sum + (columns.get(to) as number) - (columns.get(from) as number),
    0,
  );
  const passes = spans - ahead.length <= MOST_PASSING;
  for (const edge of ahead) {
    const [from, to] = [ofState.get(edge.from) as Place, ofState.get(edge.to) as Place];
    const way = [from];
    let joined = false;
    for (let column = from.column + 1; passes && column < to.column && !joined; column++) {
      const [next, isThere] = passing(edge, column);
      link(way.at(-1) as Place, next, edge.error);
      way.push(next);
      joined = isThere;
    }
    if (!joined) {
      link(way.at(-1) as Place, to, edge.error);
      way.push(to);
    }
    ways.set(edge, way);
  }
  return { places, ways };
}

/** Sorts each column by the middle of its neighbours, forth and back: few lines cross then. */
function orderWithin(places: readonly Place[]): readonly (readonly Place[])[] {
  const columns: Place[][] = [];
  for (const one of places) (columns[one.column] ??= []).push(one);
  const rank = new Map<Place, number>();
  const number = (column: readonly Place[]): void => {
    for (const [i, one] of column.entries()) rank.set(one, i);
  };
  const middle = (neighbours: readonly Place[], own: number): number =>
    neighbours.length === 0 ? own : neighbours.reduce((sum, one) => sum + (rank.get(one) ?? 0), 0) / neighbours.length;
  for (const column of columns) number(column);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forth = sweep % 2 === 0;
    for (const column of forth ? columns : [...columns].reverse()) {
      const at = new Map(
        column.map((one) => [one, middle(forth ? one.before : one.after, rank.get(one) as number)] as const),
      );
      column.sort((a, b) => (at.get(a) as number) - (at.get(b) as number) || a.rank - b.rank);
      number(column);
    }
  }
  return columns;
}

/** Each place as near to what leads to it as those above it allow, so that the main way is straight. */
function placeVertically(columns: readonly (readonly Place[])[], { height, gapY }: BoxSize): void {
  for (const column of columns) {
    let free = Number.NEGATIVE_INFINITY;
    for (const one of column) {
      const half = one.isState ? height / 2 : 0;
      const leading = one.main.length > 0 ? one.main : one.before;
      const wanted = leading.length === 0 ? height / 2 : leading.reduce((sum, { y }) => sum + y, 0) / leading.length;
      one.y = Math.max(wanted, free + half);
      free = one.y + half + (one.isState ? gapY : LINE_GAP);
    }
  }
  const all = columns.flat();
  const highest = all.reduce(
    (top, { y, isState }) => Math.min(top, y - (isState ? height / 2 : 0)),
    Number.POSITIVE_INFINITY,
  );
  for (const one of all) one.y += LOOP_ROOM - highest;
}

/** Lanes below the states for what leads back; short ways are above long ones. */
function lanesOf(edges: readonly Edge[], columns: ReadonlyMap<string, number>): ReadonlyMap<Edge, number> {
  const span = ({ from, to }: Edge): readonly [number, number] => [
    columns.get(to) as number,
    columns.get(from) as number,
  ];
  const length = (edge: Edge): number => span(edge)[1] - span(edge)[0];
  const taken: (readonly [number, number])[][] = [];
  const lanes = new Map<Edge, number>();
  for (const edge of [...edges].sort((a, b) => length(a) - length(b))) {
    const [first, last] = span(edge);
    const free = taken.findIndex((others) => others.every(([from, until]) => until < first || from > last));
    const lane = free === -1 ? taken.length : free;
    (taken[lane] ??= []).push([first, last]);
    lanes.set(edge, lane);
  }
  return lanes;
}

function forwardPath(
  points: readonly { readonly x: number; readonly y: number; readonly isState: boolean }[],
  width: number,
): string {
  const [start, ...rest] = points;
  if (start === undefined) return '';
  let [x, y] = [start.x + width, start.y];
  let path = `M${x} ${y}`;
  for (const next of rest) {
    const bend = (next.x - x) / 2;
    path += `C${x + bend} ${y} ${next.x - bend} ${next.y} ${next.x} ${next.y}`;
    [x, y] = [next.x, next.y];
    // Straight past the states of this column.
    if (!next.isState) {
      x += width;
      path += `H${x}`;
    }
  }
  return path;
}

function backPath(
  from: PlacedState,
  to: PlacedState,
  { lane, lowest, size }: { readonly lane: number; readonly lowest: number; readonly size: BoxSize },
): string {
  const y = lowest + 8 + lane * LINE_GAP;
  const [x1, y1] = [from.x + size.width, from.y + size.height / 2 + 9];
  const [x2, y2] = [to.x, to.y + size.height / 2 + 9];
  const [right, left] = [x1 + 12, x2 - 14];
  const r = 6;
  return (
    `M${x1} ${y1}H${right - r}Q${right} ${y1} ${right} ${y1 + r}V${y - r}Q${right} ${y} ${right - r} ${y}` +
    `H${left + r}Q${left} ${y} ${left} ${y - r}V${y2 + r}Q${left} ${y2} ${left + r} ${y2}H${x2}`
  );
}

function loopPath({ x, y }: PlacedState): string {
  // Left of the middle: on the right is the number of visits.
  return `M${x + 24} ${y}c0 -20 26 -20 26 -1`;
}
