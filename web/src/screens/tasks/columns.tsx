/** The columns of the list of tasks, and a task as one column of a phone shows it. */

import { Signal } from '../../live/signal.ts';
import type { TaskRow } from '../../model/task-rows.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { State } from '../../ui/states.tsx';
import { Duration, Time } from '../../ui/times.tsx';
import type { Column } from '../../ui/virtual-table.tsx';

export const COLUMNS: readonly Column<TaskRow>[] = [
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
  { head: 'Took', track: '68px', num: true, cell: (row) => <RunTime row={row} /> },
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
  { head: 'Why', track: '24px', cell: (row) => <ExplainButton row={row} /> },
];

/** The task whose explanation is open. */
export const explainedTask = new Signal<string | undefined>(undefined);

const WAITING_STATES = ['ready', 'waiting', 'scheduled'];

function ExplainButton({ row }: { readonly row: TaskRow }) {
  if (!WAITING_STATES.includes(row.state)) return null;
  return (
    <Button
      kind="plain"
      small
      icon="help"
      aria-label={`Why does ${row.handler} ${shortId(row.id)} wait?`}
      title="Why does it wait?"
      onClick={() => explainedTask.set(row.id)}
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

function RunTime({ row }: { readonly row: TaskRow }) {
  if (row.startedAt === undefined || (row.state !== 'running' && row.finishedAt === undefined))
    return <span className="quiet">–</span>;
  return <Duration from={row.startedAt} until={row.state === 'running' ? undefined : row.finishedAt} />;
}

export function narrowRow(row: TaskRow) {
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
        <RunTime row={row} />
      </span>
    </Link>
  );
}
