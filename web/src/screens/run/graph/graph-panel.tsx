/** The graph of a run: its drawing, how its nodes stand together, and the node that is selected. */

import { useEffect, useState } from 'react';
import type { RunDetail, RunGraph } from '../../../api.ts';
import type { GraphLayout } from '../../../model/run/graph/layout.ts';
import {
  countStates,
  NODE_STATES,
  progressOfGraph,
  type Standing,
  toneOfNode,
  wordOfNode,
} from '../../../model/run/graph/standing.ts';
import { isFinal } from '../../../model/task-states.ts';
import { StateGlyph } from '../../../ui/icon.tsx';
import { Panel } from '../../../ui/layout.tsx';
import { ErrorNote, Loading } from '../../../ui/states.tsx';
import { GraphView } from './graph-view.tsx';
import { NodePanel } from './node-panel.tsx';
import { useRunGraph } from './use-run-graph.ts';

export function GraphPanel({
  of: run,
  tasks,
  selected,
  onSelect,
}: {
  readonly of: RunDetail;
  /** Those whose events concern the page. */
  readonly tasks: ReadonlySet<string>;
  /** The id of a node. */
  readonly selected: string | undefined;
  readonly onSelect: (node: string | undefined) => void;
}) {
  const { graph, layout, standings, partial, refresh } = useRunGraph(run, tasks);
  const { state } = run;
  useEffect(refresh, [state, refresh]);
  if (graph.data === undefined || layout === undefined) {
    return (
      <Panel title="Graph">
        {graph.error === undefined ? <Loading rows={6} /> : <ErrorNote error={graph.error} retry={graph.refresh} />}
      </Panel>
    );
  }
  return (
    <Drawn
      run={run}
      graph={graph.data}
      layout={layout}
      standings={standings}
      partial={partial}
      selected={selected}
      onSelect={onSelect}
    />
  );
}

function Drawn({
  run,
  graph,
  layout,
  standings,
  partial,
  selected,
  onSelect,
}: {
  readonly run: RunDetail;
  readonly graph: RunGraph;
  readonly layout: GraphLayout;
  readonly standings: readonly Standing[];
  readonly partial: boolean;
  readonly selected: string | undefined;
  readonly onSelect: (node: string | undefined) => void;
}) {
  const over = isFinal(run.state);
  const counts = countStates(standings);
  const { over: done, all } = progressOfGraph(counts);
  const found = selected === undefined ? -1 : graph.nodes.findIndex(({ id }) => id === selected);
  const at = found === -1 ? undefined : found;
  const [jumped, setJumped] = useState(0);
  const select = (i: number | undefined): void => onSelect(i === undefined ? undefined : graph.nodes[i]?.id);
  /** To the next node in this state, round and round. */
  const jump = (to: string): void => {
    const next = (from: number): number => standings.findIndex((one, i) => i > from && one.state === to);
    const after = next(at ?? -1);
    select(after === -1 ? next(-1) : after);
    setJumped((n) => n + 1);
  };
  return (
    <Panel title="Graph" count={graph.nodes.length}>
      <div className="graph-sums">
        <progress max={Math.max(1, all)} value={done} aria-label="Nodes that have ended" />
        <ul className="row wrap">
          {NODE_STATES.filter((state) => counts.has(state)).map((state) => (
            <li key={state}>
              <button
                type="button"
                className={`graph-sum s-${toneOfNode(state)}`}
                title={`Go to the next node: ${wordOfNode(state, over)}`}
                onClick={() => jump(state)}
              >
                <StateGlyph state={toneOfNode(state)} />
                <b>{(counts.get(state) ?? 0).toLocaleString('en')}</b> {wordOfNode(state, over)}
              </button>
            </li>
          ))}
        </ul>
      </div>
      {partial && (
        <p className="panel-body quiet">
          The journal is so long that only a part of it is read: some nodes look as if they waited.
        </p>
      )}
      <div className={`graph-panes ${at === undefined ? '' : 'chosen'}`}>
        <GraphView
          graph={graph}
          layout={layout}
          standings={standings}
          over={over}
          selected={at}
          jumped={jumped}
          onSelect={select}
        />
        {at !== undefined && (
          <NodePanel
            key={graph.nodes[at]?.id}
            run={run}
            node={graph.nodes[at]?.id ?? ''}
            standing={standings[at] as Standing}
            onClose={() => select(undefined)}
          />
        )}
      </div>
    </Panel>
  );
}
