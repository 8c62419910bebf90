/** The screen of one run: how it stands, its diagram, its waterfall beside its log, what it waits for and what it has used. */

import { useEffect, useMemo, useState } from 'react';
import { exactRun, type RunDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { whyOf } from '../../model/run/list.ts';
import { hasDetail, isIn, rowsOf, type StepRow } from '../../model/run/rows.ts';
import { isFinal } from '../../model/task-states.ts';
import { asSentence } from '../../model/text.ts';
import { go, setQuery, useLocation } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Page } from '../../ui/layout.tsx';
import { LogView, useTaskLog } from '../../ui/log/log-view.tsx';
import { Notice, State, WhenLoaded } from '../../ui/states.tsx';
import { FilesPanel } from '../files/files-panel.tsx';
import { ErrorPanel } from '../task/error-panel.tsx';
import { Actions } from './actions.tsx';
import { Budgets } from './budgets.tsx';
import { Changes } from './changes/changes.tsx';
import { Diagram } from './diagram.tsx';
import { Diverged } from './diverged.tsx';
import { About, Crumbs, RunFacts } from './facts.tsx';
import { ForkDialog } from './fork-dialog.tsx';
import { GraphPanel } from './graph/graph-panel.tsx';
import { StepDrawer } from './step-drawer.tsx';
import { Totals } from './totals.tsx';
import { useRunSteps } from './use-run-steps.ts';
import { Waits } from './waits.tsx';
import { Waterfall } from './waterfall.tsx';

export default function Run({ id }: { readonly id: string }) {
  const [live, setLive] = useState(true);
  const [tasks, setTasks] = useState<ReadonlySet<string>>(new Set([id]));
  const run = useResource(`run ${id}`, (signal) => exactRun(id, signal), {
    on: ({ task }) => task !== undefined && tasks.has(task),
    atMostMs: 400,
    // No event tells of a step within an attempt.
    everyMs: live ? 1_500 : 15_000,
  });
  const { data } = run;
  useEffect(() => setLive(data === undefined || !isFinal(data.state)), [data]);
  return (
    <Page
      crumb={<Crumbs of={data} />}
      title={
        <span className="title-line">
          <span className="break">{data?.title ?? 'Run'}</span>
          {data && <State state={data.state} why={whyOf(data)} />}
        </span>
      }
      about={<About id={id} of={data} />}
      actions={data && <Actions of={data} onDone={run.refresh} />}
    >
      <WhenLoaded of={run}>
        {(shown) => <Body key={shown.id} of={shown} tasks={tasks} onChanged={run.refresh} onTasks={setTasks} />}
      </WhenLoaded>
    </Page>
  );
}

const NONE: ReadonlySet<string> = new Set();

function Body({
  of: run,
  tasks,
  onChanged,
  onTasks,
}: {
  readonly of: RunDetail;
  readonly tasks: ReadonlySet<string>;
  readonly onChanged: () => void;
  readonly onTasks: (tasks: ReadonlySet<string>) => void;
}) {
  const live = !isFinal(run.state);
  const may = useMay('operator');
  const [turned, setTurned] = useState(NONE);
  const { journals, error, watch, more } = useRunSteps(run.id, live);
  const rows = useMemo(() => rowsOf(run, journals, turned), [run, journals, turned]);
  useEffect(() => watch(rows, onTasks), [watch, rows, onTasks]);
  const [selected, select, drawer, node, selectNode] = useSelection(run, rows);
  const [hoveredRow, setHoveredRow] = useState<StepRow>();
  const [hoveredState, setHoveredState] = useState<string>();
  const [lineAt, setLineAt] = useState<number>();
  const [fork, setFork] = useState<StepRow | 'last'>();
  const marked = hoveredRow ?? selected;
  const logOf = marked?.child ?? marked?.task ?? run.id;
  const shownLog = selected?.child ?? selected?.task ?? run.id;
  const log = useTaskLog(shownLog, live);
  const lit = useMemo(
    () =>
      new Set(
        marked !== undefined && marked.task === run.id && marked.kind === 'step' ? [marked.name, ...marked.via] : [],
      ),
    [marked, run.id],
  );
  const turn = (id: string): void =>
    setTurned((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]));
  const choose = (state: string): void => {
    const last = rows.findLast((row) => isIn(row, run.id, state));
    if (last !== undefined) select(last);
  };
  useKeys([{ keys: 'u', does: 'Back to the list', group: 'Run', run: () => go('/runs') }]);
  return (
    <>
      <Notice tone={run.state}>{asSentence(run.summary)}</Notice>
      <Diverged of={run} />
      <div className="run-panes">
        <div className="stack run-head">
          <Totals of={run} />
          {run.states !== undefined && run.states.length > 0 && (
            <Diagram
              states={run.states}
              current={run.current}
              tone={run.state}
              lit={lit}
              onHover={setHoveredState}
              onChoose={choose}
            />
          )}
          {run.handler === 'graph' && <GraphPanel of={run} tasks={tasks} selected={node} onSelect={selectNode} />}
        </div>
        <div className="stack run-main">
          <div className="run-times">
            <Waterfall
              run={run}
              rows={rows}
              error={error}
              selected={selected}
              hoveredState={hoveredState ?? node}
              lineAt={lineAt}
              onHover={setHoveredRow}
              onSelect={select}
              onTurn={turn}
              onOpen={drawer.open}
              onEnd={more}
              onFork={may ? setFork : undefined}
            />
            {log && (
              <LogView
                log={log}
                live={live}
                of={shownLog === run.id ? undefined : shownLog}
                span={logOf === shownLog && marked !== undefined ? marked : undefined}
                pinned={selected}
                onLine={setLineAt}
              />
            )}
          </div>
          {run.kind === 'loop' && <Changes id={run.id} name={run.name ?? run.id.slice(-8)} live={live} />}
          <FilesPanel of="run" id={run.id} live={live} />
          {run.error !== undefined && <ErrorPanel error={run.error} />}
          {run.output !== undefined && <JsonView label="Output" value={run.output} />}
          {run.context !== undefined && <JsonView label="Context" value={run.context} />}
          {run.input !== undefined && <JsonView label="Input" value={run.input} />}
        </div>
        <div className="stack run-asks">
          <Waits of={run} onDone={onChanged} />
        </div>
        <aside className="stack run-facts">
          <Budgets of={run} onDone={onChanged} />
          <RunFacts of={run} />
        </aside>
      </div>
      {drawer.row !== undefined && (
        <StepDrawer
          run={run}
          row={drawer.row}
          onClose={drawer.close}
          onFork={may ? () => setFork(drawer.row) : undefined}
        />
      )}
      {fork !== undefined && (
        <ForkDialog run={run} from={fork === 'last' ? undefined : fork} onClose={() => setFork(undefined)} />
      )}
    </>
  );
}

interface DrawerState {
  readonly row: StepRow | undefined;
  readonly open: (row: StepRow) => void;
  readonly close: () => void;
}

/** The selected row, the open drawer and the node of a graph are in the address: `?step=KEY&task=ID&open=1&node=ID`. */
function useSelection(
  run: RunDetail,
  rows: readonly StepRow[],
): readonly [
  StepRow | undefined,
  (row: StepRow | undefined) => void,
  DrawerState,
  string | undefined,
  (node: string | undefined) => void,
] {
  const { query } = useLocation();
  const asked = new URLSearchParams(query);
  const [key, task] = [asked.get('step'), asked.get('task') ?? run.id];
  const node = asked.get('node') ?? undefined;
  const row = key === null ? undefined : rows.find((one) => one.key === key && one.task === task);
  const write = (to: StepRow | undefined, open: boolean): void => {
    const next = new URLSearchParams();
    if (to !== undefined) next.set('step', to.key);
    if (to !== undefined && to.task !== run.id) next.set('task', to.task);
    if (open) next.set('open', '1');
    if (node !== undefined) next.set('node', node);
    setQuery(next.toString());
  };
  const selectNode = (to: string | undefined): void => {
    const next = new URLSearchParams(query);
    if (to === undefined) next.delete('node');
    else next.set('node', to);
    setQuery(next.toString());
  };
  const drawer = {
    row: asked.get('open') === '1' && row !== undefined && hasDetail(row) ? row : undefined,
    open: (to: StepRow) => write(to, true),
    close: () => write(row, false),
  };
  return [row, (to) => write(to, false), drawer, node, selectNode];
}
