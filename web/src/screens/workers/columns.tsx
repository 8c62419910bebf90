/** The columns of the list of workers, and a worker as one column of a phone shows it. */

import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { Meter } from '../../ui/meters.tsx';
import { State } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import type { Column } from '../../ui/virtual-table.tsx';
import { Enabled, Priority, Tags } from './cells.tsx';
import type { Row } from './use-workers.ts';

export function columnsFor(may: boolean, changed: () => void): readonly Column<Row>[] {
  return [
    {
      head: 'Worker',
      track: 'minmax(150px, 2fr)',
      cell: (row) => (
        <Link to={`/workers/${segment(row.name)}`} className="worker-line">
          <span className="strong cut">{row.name}</span>
          <span className="quiet cut">
            {row.worker?.address ?? row.worker?.host ?? 'never seen'}
            {row.worker?.version === undefined ? '' : ` · ${row.worker.version}`}
          </span>
        </Link>
      ),
    },
    {
      head: 'State',
      track: '116px',
      cell: (row) => (
        <span className="worker-line">
          <WorkerState row={row} />
          <span className="quiet">
            {row.worker === undefined ? (
              '–'
            ) : (
              <>
                seen <Time at={row.worker.lastSeenAt} />
              </>
            )}
          </span>
        </span>
      ),
    },
    { head: 'On', track: '34px', cell: (row) => <Enabled row={row} may={may} onChanged={changed} /> },
    { head: 'Priority', track: '56px', num: true, cell: (row) => <Priority row={row} may={may} onChanged={changed} /> },
    {
      head: 'Tags',
      track: 'minmax(120px, 2fr)',
      loose: true,
      cell: (row) => <Tags row={row} may={may} onChanged={changed} />,
    },
    {
      head: 'Slots',
      track: '92px',
      cell: (row) =>
        row.worker === undefined ? (
          <span className="quiet">–</span>
        ) : (
          <span className="worker-line">
            <span>
              {row.worker.running} of {row.worker.slots}
            </span>
            <Meter
              value={row.worker.running}
              max={row.worker.slots}
              label={`${row.worker.running} of ${row.worker.slots} slots are in use`}
              tone="s-running"
            />
          </span>
        ),
    },
    { head: 'Current', track: 'minmax(90px, 1fr)', loose: true, cell: (row) => <CurrentTasks row={row} /> },
    { head: 'Ended', track: '62px', num: true, cell: (row) => row.worker?.totalTasks.toLocaleString('en') ?? '–' },
  ];
}

function WorkerState({ row }: { readonly row: Row }) {
  const state = row.worker?.state ?? 'offline';
  return (
    <State
      state={!row.enabled && state === 'online' ? 'disabled' : state}
      label={!row.enabled && state === 'online' ? (row.worker?.running ? 'draining' : 'disabled') : state}
    />
  );
}

export function NarrowRow({ row }: { readonly row: Row }) {
  return (
    <Link to={`/workers/${segment(row.name)}`} className="narrow-row">
      <span className="strong cut">{row.name}</span>
      <WorkerState row={row} />
      <span className="quiet cut">{row.worker?.address ?? row.worker?.host ?? 'never seen'}</span>
      <span className="quiet">
        {row.worker === undefined ? '' : `${row.worker.running} of ${row.worker.slots} slots`}
      </span>
      <span className="tags" style={{ gridColumn: '1 / -1', maxHeight: 22, overflow: 'hidden' }}>
        {row.tags.slice(0, 6).map((tag) => (
          <span key={tag} className="tag">
            {tag}
          </span>
        ))}
      </span>
    </Link>
  );
}

function CurrentTasks({ row }: { readonly row: Row }) {
  const tasks = row.worker?.currentTasks ?? [];
  if (tasks.length === 0) return <span className="quiet">–</span>;
  return (
    <span className="row">
      {tasks.slice(0, 1).map((id) => (
        <Link key={id} to={`/tasks/${segment(id)}`} className="link mono" title={id}>
          {shortId(id)}
        </Link>
      ))}
      {tasks.length > 1 && <span className="quiet">+{tasks.length - 1}</span>}
    </span>
  );
}
