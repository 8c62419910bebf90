import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Signal, useSignal } from '../../live/signal.ts';
import { TaskList } from '../../live/task-list.ts';
import {
  askedOf,
  filterOfQuery,
  isEmptyFilter,
  NO_FILTER,
  queryOfFilter,
  type TaskFilter,
} from '../../model/filter.ts';
import type { TaskRow } from '../../model/task-rows.ts';
import { go, goQuery, Link, segment, usePlace } from '../../router.tsx';
import { useMay } from '../../session.ts';
import {
  Button,
  Command,
  Empty,
  ErrorNote,
  Lasting,
  Loading,
  Page,
  plural,
  State,
  shortId,
  Time,
} from '../../ui/basic.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { Histogram } from '../../ui/histogram.tsx';
import { useKeys } from '../../ui/keys.ts';
import { type Column, VirtualTable } from '../../ui/virtual-table.tsx';
import { ExplainDrawer } from '../task/explain.tsx';
import { BulkDialog, type BulkKind } from './bulk.tsx';
import { SavedViews } from './saved-views.tsx';

export function Tasks() {
  const { query } = usePlace();
  const filter = useMemo(() => filterOfQuery(query), [query]);
  const change = useCallback((next: TaskFilter) => goQuery(queryOfFilter(next)), []);
  const key = queryOfFilter(filter);
  const queues = useResource('queues', (signal) => client.call('listQueues', { signal }), { everyMs: 30_000 });
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }), { everyMs: 60_000 });
  return (
    <Page
      title="Tasks"
      actions={<SavedViews screen="tasks" query={key} onOpen={(saved) => change(filterOfQuery(saved))} />}
    >
      <FilterBar
        filter={filter}
        onChange={change}
        queues={queues.data?.queues.map(({ name }) => name) ?? []}
        handlers={handlers.data?.handlers.map(({ name }) => name) ?? []}
      />
      <Counts filter={filter} onChange={change} />
      <List key={key} filter={filter} onClear={() => change(NO_FILTER)} />
    </Page>
  );
}

/** The same for some seconds, so that a node can answer many who look with one count. */
const ROUND_MS = 5_000;

function Counts({
  filter,
  onChange,
}: {
  readonly filter: TaskFilter;
  readonly onChange: (filter: TaskFilter) => void;
}) {
  const { last: _, ...rest } = filter;
  const counts = useResource(
    `histogram ${queryOfFilter(filter)}`,
    async (signal) => {
      const now = Math.ceil(Date.now() / ROUND_MS) * ROUND_MS;
      const count = (last?: string) => {
        const asked = askedOf(last === undefined ? filter : { ...filter, last }, now);
        return client.call('countTasks', { query: { ...asked, until: filter.until ?? now, buckets: 90 }, signal });
      };
      if (filter.from !== undefined || filter.last !== undefined) return count();
      // Without a time of its own the last day is drawn, or less of it where nothing was before.
      const day = await count('24h');
      const first = day.buckets.findIndex((bucket) => Object.values(bucket).some((n) => n > 0));
      return first >= 86 ? count('1h') : day;
    },
    { everyMs: 15_000, on: ({ kind }) => kind !== 'beat', atMostMs: ROUND_MS },
  );
  if (counts.data === undefined) return <div className="panel histogram" style={{ height: 116 }} />;
  return (
    <section className="panel" aria-label="When they were created">
      <Histogram data={counts.data} onBrush={(range) => onChange({ ...rest, ...range })} />
      {counts.data.cut && (
        <p className="quiet" style={{ padding: '0 1rem 0.5rem' }}>
          There are more than are counted: these are the newest {counts.data.counted.toLocaleString('en')}.
        </p>
      )}
    </section>
  );
}

const COLUMNS: readonly Column<TaskRow>[] = [
  {
    head: 'State',
    track: 'minmax(112px, 150px)',
    cell: (row) => (
      <State
        state={row.state}
        why={row.cancelRequestedAt !== undefined && row.state === 'running' ? 'cancelling' : row.reason}
      />
    ),
  },
  { head: 'Task', track: 'minmax(180px, 3fr)', loose: true, cell: (row) => <TaskCell row={row} /> },
  {
    head: 'Queue',
    track: 'minmax(70px, 1fr)',
    cell: (row) => (
      <Link to={`/queues/${segment(row.queue)}`} title={row.queue}>
        {row.queue}
      </Link>
    ),
  },
  {
    head: 'Worker',
    track: 'minmax(70px, 1fr)',
    cell: (row) =>
      row.worker === undefined ? (
        <span className="quiet">–</span>
      ) : (
        <Link to={`/workers/${segment(row.worker)}`} title={row.worker}>
          {row.worker}
        </Link>
      ),
  },
  {
    head: 'Tries',
    track: '46px',
    num: true,
    cell: (row) => (
      <span className={row.tries > 1 ? 'warn' : 'quiet'}>
        {row.tries}/{row.maxAttempts}
      </span>
    ),
  },
  { head: 'Took', track: '68px', num: true, cell: (row) => <Took row={row} /> },
  {
    head: 'Created',
    track: '72px',
    num: true,
    cell: (row) => (
      <span className="quiet">
        <Time at={row.createdAt} />
      </span>
    ),
  },
  { head: 'Why', track: '24px', cell: (row) => <Why row={row} /> },
];

/** Of which task somebody wants to know why it waits. */
const asked = new Signal<string | undefined>(undefined);

const WAITS = ['ready', 'waiting', 'scheduled'];

function Why({ row }: { readonly row: TaskRow }) {
  if (!WAITS.includes(row.state)) return null;
  return (
    <Button
      kind="plain"
      small
      icon="help"
      aria-label={`Why does ${row.handler} ${shortId(row.id)} wait?`}
      title="Why does it wait?"
      onClick={() => asked.set(row.id)}
    />
  );
}

function TaskCell({ row }: { readonly row: TaskRow }) {
  return (
    <Link to={`/tasks/${segment(row.id)}`} title={row.id} className="row">
      <span className="strong nowrap">{row.handler}</span>
      <span className="mono quiet nowrap">{shortId(row.id)}</span>
      {row.error === '' ? (
        <span className="mono quiet cut">{row.preview}</span>
      ) : (
        <span className="bad cut">{row.error}</span>
      )}
    </Link>
  );
}

function Took({ row }: { readonly row: TaskRow }) {
  if (row.startedAt === undefined || (row.state !== 'running' && row.finishedAt === undefined))
    return <span className="quiet">–</span>;
  return <Lasting from={row.startedAt} until={row.state === 'running' ? undefined : row.finishedAt} />;
}

function narrowRow(row: TaskRow) {
  return (
    <Link to={`/tasks/${segment(row.id)}`} className="narrow-row">
      <span className="row">
        <State state={row.state} />
        <span className="cut strong">{row.handler}</span>
      </span>
      <span className="quiet">
        <Time at={row.createdAt} />
      </span>
      <span className={`cut ${row.error === '' ? 'quiet mono' : 'bad'}`}>
        {row.error === '' ? row.preview : row.error}
      </span>
      <span className="quiet">
        <Took row={row} />
      </span>
    </Link>
  );
}

const NOTHING: ReadonlySet<string> = new Set();

function List({ filter, onClear }: { readonly filter: TaskFilter; readonly onClear: () => void }) {
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
  const [selected, setSelected] = useState<ReadonlySet<string>>(NOTHING);
  const [away, setAway] = useState(false);
  const [bulk, setBulk] = useState<{ readonly kind: BulkKind; readonly ids?: readonly string[] }>();
  const explained = useSignal(asked);
  useEffect(() => () => asked.set(undefined), []);
  const lastSelected = useRef<string>(undefined);
  const frozen = selected.size > 0 || away || bulk !== undefined;
  useEffect(() => list.freeze(frozen), [list, frozen]);
  const end = useCallback(() => void list.more(), [list]);
  const select = (id: string, range: boolean): void => {
    const ids = state.rows.map((row) => row.id);
    // Read here: the change may be made later, when this row is the last one.
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
  useKeys([{ keys: 'Escape', does: 'Select nothing', group: 'Lists', run: () => setSelected(NOTHING) }]);

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
              setSelected(NOTHING);
              setAway(false);
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
        onSelectAll={() => setSelected(selected.size >= state.rows.length ? NOTHING : new Set(state.rows.map(idOf)))}
        onEnd={end}
        onAway={setAway}
        foot={
          state.cursor === undefined
            ? `${plural(state.rows.length, 'task')}, all of them`
            : state.loadingMore
              ? 'More are on their way …'
              : `${state.rows.length.toLocaleString('en')} shown; scroll for more`
        }
      />
      {selected.size > 0 && (
        <div className="bulk" role="region" aria-label="What to do to the selected tasks">
          <span className="strong">{selected.size.toLocaleString('en')} selected</span>
          <Button small icon="retry" onClick={() => setBulk({ kind: 'retry', ids: [...selected] })}>
            Run again
          </Button>
          <Button small icon="stop" kind="danger" onClick={() => setBulk({ kind: 'cancel', ids: [...selected] })}>
            Cancel them
          </Button>
          <span className="quiet wide-only">or all that match:</span>
          <Button small kind="plain" onClick={() => setBulk({ kind: 'retry' })}>
            Run all again
          </Button>
          <Button small kind="plain" onClick={() => setBulk({ kind: 'cancel' })}>
            Cancel all
          </Button>
          <Button small kind="plain" icon="close" aria-label="Select nothing" onClick={() => setSelected(NOTHING)} />
        </div>
      )}
      {explained !== undefined && <ExplainDrawer id={explained} onClose={() => asked.set(undefined)} />}
      {bulk && (
        <BulkDialog
          kind={bulk.kind}
          ids={bulk.ids}
          filter={filter}
          onClose={() => setBulk(undefined)}
          onStarted={() => setSelected(NOTHING)}
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
          <p>What fits and is pushed now appears here by itself.</p>
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
