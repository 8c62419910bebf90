/** The drawing of a graph, which can be moved and zoomed. Near, its nodes are boxes; from far away they are blocks of their colour. */

import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RunGraph } from '../../../api.ts';
import { type GraphLayout, NODE_HEIGHT, NODE_WIDTH } from '../../../model/run/graph/layout.ts';
import { NodeIndex } from '../../../model/run/graph/spatial.ts';
import { nodeCaption, progressOf, type Standing, toneOfNode, wordOfNode } from '../../../model/run/graph/standing.ts';
import { fit, type Size, seen, showing, type Viewport } from '../../../model/run/graph/viewport.ts';
import { type Direction, stepFrom } from '../../../model/run/graph/walk.ts';
import { Button } from '../../../ui/buttons.tsx';
import { GraphLines } from './graph-lines.tsx';
import { NodeBox, nodeDomId } from './node-box.tsx';
import { useViewport } from './use-viewport.ts';

/** Smaller than this, names cannot be read; with more boxes, a frame takes long. */
const NEAR = 0.42;
const MOST_BOXES = 240;
/** A small graph begins so large that its names can be read. */
const SMALL = 60;
const READABLE = 0.8;
const MOST_HEIGHT = 460;

const KEYS: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

export function GraphView({
  graph,
  layout,
  standings,
  over,
  selected,
  jumped,
  onSelect,
}: {
  readonly graph: RunGraph;
  readonly layout: GraphLayout;
  readonly standings: readonly Standing[];
  readonly over: boolean;
  readonly selected: number | undefined;
  /** Counts how often somebody asked for a node from elsewhere. */
  readonly jumped: number;
  readonly onSelect: (i: number | undefined) => void;
}) {
  const element = useRef<HTMLDivElement>(null);
  const index = useMemo(() => new NodeIndex(layout), [layout]);
  const begin = (drawing: Size, box: Size): Viewport => {
    const all = fit(drawing, box);
    if (all.scale >= READABLE || graph.nodes.length > SMALL) return all;
    const near = { x: 0, y: Math.max(0, (box.height - drawing.height * READABLE) / 2), scale: READABLE };
    return selected === undefined ? near : showing(near, boxOf(layout, selected), box);
  };
  const { view, box, move, zoom, dragging, handlers } = useViewport(element, layout, begin);
  const [hovered, setHovered] = useState<number>();
  const choose = useCallback(
    (i: number) => {
      if (!dragging) onSelect(i);
    },
    [dragging, onSelect],
  );
  // What is selected by a key or elsewhere comes into view; what is clicked is there already.
  useEffect(() => {
    if (selected !== undefined) move((now, room) => showing(now, boxOf(layout, selected), room));
    // Also when the node beside it takes some of the room.
  }, [selected, jumped, layout, move, box.width]);

  const shown = view && (view.scale >= NEAR ? index.within(seen(view, box, 120), MOST_BOXES) : undefined);
  const near = shown !== undefined;
  const boxes = shown ?? (selected === undefined ? [] : [selected]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = KEYS[event.key];
    if (direction !== undefined) onSelect(stepFrom(layout, selected, direction));
    else if (event.key === 'Escape' && selected !== undefined) onSelect(undefined);
    else if (event.key === '+' || event.key === '=') zoom(1.3);
    else if (event.key === '-') zoom(1 / 1.3);
    else if (event.key === '0') move((_, room) => fit(layout, room));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const nodeUnder = (event: MouseEvent): number | undefined => {
    if (view === undefined || near) return undefined;
    const { left = 0, top = 0 } = element.current?.getBoundingClientRect() ?? {};
    return index.at((event.clientX - left - view.x) / view.scale, (event.clientY - top - view.y) / view.scale);
  };
  const about = hovered ?? selected;
  return (
    <div className="run-graph">
      <div
        ref={element}
        className={`graph-box ${dragging ? 'dragging' : ''}`}
        style={{ height: heightOf(layout) }}
        role="listbox"
        tabIndex={0}
        aria-label="Nodes of the graph"
        aria-activedescendant={selected === undefined ? undefined : nodeDomId(selected)}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          if (near || dragging) return;
          const at = nodeUnder(event);
          if (at !== undefined) onSelect(at);
        }}
        onMouseMove={(event) => {
          if (!near && !dragging) setHovered(nodeUnder(event));
        }}
        onMouseLeave={() => setHovered(undefined)}
        {...handlers}
      >
        {view && (
          <>
            <GraphLines layout={layout} standings={standings} selected={selected} view={view} box={box} near={near} />
            <div
              className={`graph-nodes ${near ? '' : 'far'}`}
              role="presentation"
              style={{ transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})` }}
            >
              {boxes.map((i) => (
                <Box
                  key={graph.nodes[i]?.id}
                  i={i}
                  graph={graph}
                  layout={layout}
                  standing={standings[i] as Standing}
                  over={over}
                  selected={i === selected}
                  onSelect={choose}
                  onHover={setHovered}
                />
              ))}
            </div>
          </>
        )}
        {near || view === undefined ? null : <p className="graph-far">Zoom in to read the names</p>}
      </div>
      <div className="graph-foot">
        <p className="cut" aria-live="off">
          {about === undefined ? (
            <span className="quiet">
              Select a node for what came in and what it gave. Drag to move, arrows to walk.
            </span>
          ) : (
            <About graph={graph} i={about} standing={standings[about] as Standing} over={over} />
          )}
        </p>
        <span className="buttons nowrap">
          <Button small aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoom(1 / 1.4)}>
            −
          </Button>
          <Button small aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(1.4)}>
            +
          </Button>
          <Button small title="Show all of it (0)" onClick={() => move((_, room) => fit(layout, room))}>
            Fit
          </Button>
        </span>
      </div>
    </div>
  );
}

function Box({
  i,
  graph,
  layout,
  standing,
  over,
  ...rest
}: {
  readonly i: number;
  readonly graph: RunGraph;
  readonly layout: GraphLayout;
  readonly standing: Standing;
  readonly over: boolean;
  readonly selected: boolean;
  readonly onSelect: (i: number) => void;
  readonly onHover: (i: number | undefined) => void;
}) {
  const { name = '', type = '', pinned, perItem = false } = graph.nodes[i] ?? {};
  const { x = 0, y = 0 } = layout.nodes[i] ?? {};
  return (
    <NodeBox
      index={i}
      all={graph.nodes.length}
      x={x}
      y={y}
      name={name}
      tone={toneOfNode(standing.state)}
      word={wordOfNode(standing.state, over)}
      caption={nodeCaption(standing, type, pinned !== undefined)}
      progress={progressOf(standing)}
      pinned={pinned !== undefined}
      perItem={perItem}
      {...rest}
    />
  );
}

function About({
  graph,
  i,
  standing,
  over,
}: {
  readonly graph: RunGraph;
  readonly i: number;
  readonly standing: Standing;
  readonly over: boolean;
}) {
  const { name, type, perItem, pinned } = graph.nodes[i] ?? {};
  const caption = nodeCaption(standing, '', pinned !== undefined);
  return (
    <>
      <b>{name}</b> <code>{type}</code>
      {perItem ? ', for each item' : ''}: {wordOfNode(standing.state, over)}
      {caption === '' ? '' : `, ${caption}`}
    </>
  );
}

function boxOf(layout: GraphLayout, i: number) {
  const { x = 0, y = 0 } = layout.nodes[i] ?? {};
  return { x, y, width: NODE_WIDTH, height: NODE_HEIGHT };
}

/** As high as the drawing, within bounds: what is below does not move when somebody zooms. */
const heightOf = ({ height }: GraphLayout): number => Math.min(MOST_HEIGHT, Math.max(150, height + 16));
