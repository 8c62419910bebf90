/** The graph of related tasks: dependencies, dependents and spawned tasks, with time to the right. */

import { layoutGraph } from '../model/graph.ts';
import { shortId } from '../model/text.ts';
import { go, hrefOf, segment } from '../router.tsx';

export interface GraphTask {
  readonly id: string;
  readonly handler: string;
  readonly state: string;
  readonly after: readonly string[];
  readonly spawnedBy: readonly string[];
}

const WIDTH = 148;
const HEIGHT = 42;
const GAP_X = 44;
const GAP_Y = 14;
const MAX_DRAWN = 120;

export function TaskGraph({ tasks, here }: { readonly tasks: readonly GraphTask[]; readonly here: string }) {
  const shown = tasks.slice(0, MAX_DRAWN);
  const { nodes, columns, rows } = layoutGraph(
    shown.map(({ id, after, spawnedBy }) => ({ id, after: [...after, ...spawnedBy] })),
  );
  const at = new Map(
    nodes.map(({ id, column, row }) => [id, { x: column * (WIDTH + GAP_X) + 2, y: row * (HEIGHT + GAP_Y) + 2 }]),
  );
  const width = columns * (WIDTH + GAP_X) - GAP_X + 4;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 4;
  const edges = shown.flatMap(({ id, after, spawnedBy }) => [
    ...after.map((from) => ({ from, to: id, spawn: false })),
    ...spawnedBy.filter((from) => !after.includes(from)).map((from) => ({ from, to: id, spawn: true })),
  ]);
  return (
    <div className="graph" tabIndex={0} role="group" aria-label="Graph of related tasks">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        {edges.map(({ from, to, spawn }) => {
          const [a, b] = [at.get(from), at.get(to)];
          if (a === undefined || b === undefined) return null;
          const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2];
          const bend = Math.max(18, (x2 - x1) / 2);
          return (
            <path
              key={`${from} ${to}`}
              className={`edge ${spawn ? 'spawn' : ''}`}
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {shown.map(({ id, handler, state }) => {
          const position = at.get(id) ?? { x: 0, y: 0 };
          const to = `/tasks/${segment(id)}`;
          return (
            <g key={id} transform={`translate(${position.x} ${position.y})`}>
              <a
                href={hrefOf(to)}
                className={`node s-${state} ${id === here ? 'here' : ''}`}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  go(to);
                }}
              >
                <rect width={WIDTH} height={HEIGHT} rx="7" />
                <rect className="bar" x="0.5" y="9" width="3" height={HEIGHT - 18} rx="1.5" />
                <text x="13" y="18">{`${nameOf(handler)} `}</text>
                <text x="13" y="33" className="sub">{`${state} `}</text>
                <text x={WIDTH - 10} y="33" textAnchor="end" className="sub" style={{ fill: 'var(--ink-3)' }}>
                  {shortId(id).slice(0, 9)}
                </text>
              </a>
            </g>
          );
        })}
      </svg>
      {tasks.length > MAX_DRAWN && <p className="quiet">{tasks.length - MAX_DRAWN} more are not drawn.</p>}
    </div>
  );
}

const nameOf = (handler: string): string => (handler.length > 17 ? `${handler.slice(0, 16)}…` : handler);
