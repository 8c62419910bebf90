/** The screen of runs: which there are, how each stands, and in which state its machine is. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import type { Run } from '../../api.ts';
import { RunList } from '../../live/run-list.ts';
import { useSignal } from '../../live/signal.ts';
import { NO_RUN_FILTER, queryOfRuns, type RunFilter, runFilterOf } from '../../model/run/list.ts';
import { TASK_STATES } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { go, segment, setQuery, useLocation } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/states.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { COLUMNS, narrowRow } from './columns.tsx';
import { StartDialog } from './start-dialog.tsx';

const KINDS = ['machine', 'loop', 'graph', 'workflow', 'task', 'agent'];

export default function Runs() {
  const { query } = useLocation();
  const filter = useMemo(() => runFilterOf(query), [query]);
  const key = queryOfRuns(filter);
  const change = useCallback((next: RunFilter) => setQuery(queryOfRuns(next)), []);
  const may = useMay('operator');
  const [starting, setStarting] = useState(false);
  return (
    <Page
      title="Runs"
      about="Executions of machines, graphs, workflows, agents and tasks with steps. A run goes on where it stopped, on any worker."
      actions={
        may && (
          <Button icon="play" kind="primary" onClick={() => setStarting(true)}>
            Start a run
          </Button>
        )
      }
    >
      {starting && <StartDialog onClose={() => setStarting(false)} />}
      <Filters filter={filter} onChange={change} />
      <List key={key} filter={filter} onClear={() => change(NO_RUN_FILTER)} />
    </Page>
  );
}

function Filters({ filter, onChange }: { readonly filter: RunFilter; readonly onChange: (filter: RunFilter) => void }) {
  return (
    <div className="filterbar">
      <div className="combo">
        <Icon name="search" size={14} />
        <input
          data-filter
          className="input"
          type="search"
          aria-label="Filter runs by what their name begins with"
          placeholder="Name begins with"
          value={filter.name}
          onChange={(event) => onChange({ ...filter, name: event.target.value })}
        />
        {filter.name === '' && <kbd>/</kbd>}
      </div>
      <select
        className="input short"
        aria-label="State"
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value })}
      >
        <option value="">Any state</option>
        {TASK_STATES.map((state) => (
          <option key={state} value={state}>
            {state}
          </option>
        ))}
      </select>
      <select
        className="input short"
        aria-label="Kind"
        value={filter.kind}
        onChange={(event) => onChange({ ...filter, kind: event.target.value })}
      >
        <option value="">Any kind</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            {kind}
          </option>
        ))}
      </select>
    </div>
  );
}

function List({ filter, onClear }: { readonly filter: RunFilter; readonly onClear: () => void }) {
  const [list, setList] = useState<RunList>();
  useEffect(() => {
    const made = new RunList(filter);
    setList(made);
    return () => made.close();
  }, [filter]);
  return list === undefined ? null : <Rows list={list} filter={filter} onClear={onClear} />;
}

function Rows({
  list,
  filter,
  onClear,
}: {
  readonly list: RunList;
  readonly filter: RunFilter;
  readonly onClear: () => void;
}) {
  const state = useSignal(list.state);
  const [scrolledAway, setScrolledAway] = useState(false);
  useEffect(() => list.freeze(scrolledAway), [list, scrolledAway]);
  const loadMore = useCallback(() => void list.more(), [list]);
  if (!state.loaded)
    return state.error === undefined ? (
      <div className="panel">
        <Loading rows={10} />
      </div>
    ) : (
      <ErrorNote error={state.error} retry={() => void list.reload()} />
    );
  if (state.rows.length === 0) return <NoRuns filtered={queryOfRuns(filter) !== ''} onClear={onClear} />;
  return (
    <>
      {state.error !== undefined && <ErrorNote error={state.error} retry={() => void list.reload()} />}
      {scrolledAway && state.fresh > 0 && (
        <div className="newchip">
          <button type="button" onClick={() => scrollTo({ top: 0 })}>
            Paused, {state.fresh} new
          </button>
        </div>
      )}
      <VirtualTable
        label="Runs"
        rows={state.rows}
        keyOf={idOf}
        columns={COLUMNS}
        narrow={narrowRow}
        height={48}
        onOpen={(row) => go(`/runs/${segment(row.id)}`)}
        onEnd={loadMore}
        onScrolledAway={setScrolledAway}
        foot={
          state.cursor === undefined
            ? `${plural(state.rows.length, 'run')}, all of them`
            : state.loadingMore
              ? 'Loading more …'
              : `${state.rows.length.toLocaleString('en')} shown; scroll for more`
        }
      />
    </>
  );
}

const idOf = (run: Run): string => run.id;

function NoRuns({ filtered, onClear }: { readonly filtered: boolean; readonly onClear: () => void }) {
  if (filtered)
    return (
      <div className="panel">
        <Empty icon="search" title="No run matches">
          <p>New runs that match appear here by themselves.</p>
          <Button onClick={onClear}>Clear the filter</Button>
        </Empty>
      </div>
    );
  return (
    <div className="panel">
      <Empty icon="runs" title="No runs yet">
        <p>A run is a machine, or a task with steps, that remembers what it has done. Start one here:</p>
        <Command text={`npx leasehold run MACHINE.yml --server ${location.origin}`} />
      </Empty>
    </div>
  );
}
