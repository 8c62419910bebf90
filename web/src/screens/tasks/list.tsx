/** The list of tasks for one filter: its rows, its selection, and what is done to the selected tasks. */

import { useCallback, useEffect, useRef, useState } from 'react';
import { useSignal } from '../../live/signal.ts';
import { TaskList } from '../../live/task-list.ts';
import { isEmptyFilter, type TaskFilter } from '../../model/filter.ts';
import type { TaskRow } from '../../model/task-rows.ts';
import { isFinal } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { useKeys } from '../../ui/keys.ts';
import { Empty, ErrorNote, Loading } from '../../ui/states.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { ExplainDrawer } from '../task/explain.tsx';
import { BulkDialog, type BulkKind } from './bulk.tsx';
import { COLUMNS, explainedTask, narrowRow } from './columns.tsx';

const NONE: ReadonlySet<string> = new Set();

export function List({ filter, onClear }: { readonly filter: TaskFilter; readonly onClear: () => void }) {
  const may = useMay('operator');
  const [list, setList] = useState<TaskList>();
  useEffect(() => {
    const made = new TaskList(filter);
    setList(made);
    return () => made.close();
  }, [filter]);
  return list === undefined ? null : <Rows list={list} filter={filter} may={may} onClear={onClear} />;
}

function Rows({
  list,
  filter,
  may,
  onClear,
}: {
  readonly list: TaskList;
  readonly filter: TaskFilter;
  readonly may: boolean;
  readonly onClear: () => void;
}) {
  const state = useSignal(list.state);
  const [selected, setSelected] = useState<ReadonlySet<string>>(NONE);
  const [scrolledAway, setScrolledAway] = useState(false);
  const [bulk, setBulk] = useState<{ readonly kind: BulkKind; readonly ids?: readonly string[] }>();
  const explainedId = useSignal(explainedTask);
  useEffect(() => () => explainedTask.set(undefined), []);
  const lastSelected = useRef<string>(undefined);
  const frozen = selected.size > 0 || scrolledAway || bulk !== undefined;
  useEffect(() => list.freeze(frozen), [list, frozen]);
  const loadMore = useCallback(() => void list.more(), [list]);
  const select = (id: string, range: boolean): void => {
    const ids = state.rows.map((row) => row.id);
    // Read now: the update below may run after `lastSelected` has changed.
    const from = range && lastSelected.current !== undefined ? ids.indexOf(lastSelected.current) : -1;
    setSelected((before) => {
      const next = new Set(before);
      if (from === -1) {
        if (!next.delete(id)) next.add(id);
      } else
        for (const one of ids.slice(Math.min(from, ids.indexOf(id)), Math.max(from, ids.indexOf(id)) + 1))
          next.add(one);
      return next;
    });
    lastSelected.current = id;
  };
  /** Those of the selected tasks to which the action applies, as they are shown. */
  const applicable = (kind: BulkKind): readonly string[] =>
    state.rows.filter((row) => selected.has(row.id) && isFinal(row.state) === (kind === 'retry')).map(idOf);
  useKeys([{ keys: 'Escape', does: 'Select nothing', group: 'Lists', run: () => setSelected(NONE) }]);

  if (!state.loaded)
    return state.error === undefined ? (
      <div className="panel">
        <Loading rows={10} />
      </div>
    ) : (
      <ErrorNote error={state.error} retry={() => void list.reload()} />
    );
  const fresh = state.arrivals.size;
  if (state.rows.length === 0) return <NoTasks filter={filter} onClear={onClear} />;
  return (
    <>
      {state.error !== undefined && <ErrorNote error={state.error} retry={() => void list.reload()} />}
      {frozen && fresh > 0 && (
        <div className="newchip">
          <button
            type="button"
            onClick={() => {
              setSelected(NONE);
              setScrolledAway(false);
              scrollTo({ top: 0 });
            }}
          >
            Paused, {state.flooded ? `${fresh}+` : fresh} new
          </button>
        </div>
      )}
      <VirtualTable
        label="Tasks"
        rows={state.rows}
        keyOf={idOf}
        columns={COLUMNS}
        narrow={narrowRow}
        onOpen={(row) => go(`/tasks/${segment(row.id)}`)}
        selected={may ? selected : undefined}
        onSelect={may ? select : undefined}
        onSelectAll={() => setSelected(selected.size >= state.rows.length ? NONE : new Set(state.rows.map(idOf)))}
        onEnd={loadMore}
        onScrolledAway={setScrolledAway}
        foot={
          state.cursor === undefined
            ? `${plural(state.rows.length, 'task')}, all of them`
            : state.loadingMore
              ? 'Loading more …'
              : `${state.rows.length.toLocaleString('en')} shown; scroll for more`
        }
      />
      {selected.size > 0 && (
        <div className="bulk" role="region" aria-label="Actions on the selected tasks">
          <span className="strong">{selected.size.toLocaleString('en')} selected</span>
          <Button small icon="retry" onClick={() => setBulk({ kind: 'retry', ids: applicable('retry') })}>
            Run again
          </Button>
          <Button
            small
            icon="stop"
            kind="danger"
            onClick={() => setBulk({ kind: 'cancel', ids: applicable('cancel') })}
          >
            Cancel them
          </Button>
          <span className="quiet wide-only">or all matching tasks:</span>
          <Button small kind="plain" onClick={() => setBulk({ kind: 'retry' })}>
            Run all again
          </Button>
          <Button small kind="plain" onClick={() => setBulk({ kind: 'cancel' })}>
            Cancel all
          </Button>
          <Button small kind="plain" icon="close" aria-label="Select nothing" onClick={() => setSelected(NONE)} />
        </div>
      )}
      {explainedId !== undefined && <ExplainDrawer id={explainedId} onClose={() => explainedTask.set(undefined)} />}
      {bulk && (
        <BulkDialog
          kind={bulk.kind}
          ids={bulk.ids}
          filter={filter}
          onClose={() => setBulk(undefined)}
          onStarted={() => setSelected(NONE)}
        />
      )}
    </>
  );
}

const idOf = (row: TaskRow): string => row.id;

function NoTasks({ filter, onClear }: { readonly filter: TaskFilter; readonly onClear: () => void }) {
  if (!isEmptyFilter(filter)) {
    return (
      <div className="panel">
        <Empty icon="search" title="No task matches">
          <p>New tasks that match appear here by themselves.</p>
          <Button onClick={onClear}>Clear the filter</Button>
        </Empty>
      </div>
    );
  }
  return (
    <div className="panel">
      <Empty icon="tasks" title="No tasks yet">
        <p>A task waits in a queue until a worker takes it under a lease, runs it and records its result. Push one:</p>
        <Command text={`npx leasehold push echo '{"hello":"world"}' --follow`} />
        <Link to="/push" className="link">
          or fill in a form
        </Link>
      </Empty>
    </div>
  );
}
