/** The columns of the list of runs, and a run as one column of a phone shows it. */

import type { Run } from '../../api.ts';
import { whyOf } from '../../model/run/list.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { Icon } from '../../ui/icon.tsx';
import { State } from '../../ui/states.tsx';
import { Duration, Time } from '../../ui/times.tsx';
import type { Column } from '../../ui/virtual-table.tsx';

const NONE = <span className="quiet">–</span>;

export const COLUMNS: readonly Column<Run>[] = [
  { head: 'State', track: 'minmax(112px, 150px)', cell: (run) => <RunState run={run} /> },
  {
    head: 'Run',
    track: 'minmax(170px, 3fr)',
    cell: (run) => (
      <Link to={`/runs/${segment(run.id)}`} title={run.name ?? run.id} className="worker-line">
        <span className="strong cut">{run.title}</span>
        <span className={`quiet cut ${run.name === undefined ? 'mono' : ''}`}>{run.name ?? shortId(run.id)}</span>
      </Link>
    ),
  },
  { head: 'Kind', track: '72px', cell: (run) => <span className="quiet">{run.kind}</span> },
  {
    head: 'In',
    track: 'minmax(90px, 1.4fr)',
    cell: (run) => (run.current === undefined ? NONE : <span title={run.current}>{run.current}</span>),
  },
  {
    head: 'Forked from',
    track: '96px',
    cell: (run) =>
      run.forkedFrom === undefined ? (
        NONE
      ) : (
        <Link to={`/runs/${segment(run.forkedFrom)}`} className="link mono" title={run.forkedFrom}>
          {shortId(run.forkedFrom)}
        </Link>
      ),
  },
  {
    head: 'Started',
    track: '72px',
    num: true,
    cell: (run) => (
      <span className="quiet">
        <Time at={run.createdAt} />
      </span>
    ),
  },
  { head: 'Took', track: '68px', num: true, cell: (run) => <Took run={run} /> },
];

export function RunState({ run }: { readonly run: Run }) {
  return <State state={run.state} why={whyOf(run)} />;
}

/** From when somebody started it: its task is started anew by each attempt. */
function Took({ run: { createdAt, finishedAt } }: { readonly run: Run }) {
  return <Duration from={createdAt} until={finishedAt} />;
}

export function narrowRow(run: Run) {
  return (
    <Link to={`/runs/${segment(run.id)}`} className="narrow-row">
      <span className="row">
        <State state={run.state} />
        <span className="cut strong">{run.title}</span>
      </span>
      <span className="quiet">
        <Time at={run.createdAt} />
      </span>
      <span className="cut quiet">
        {run.forkedFrom !== undefined && <Icon name="fork" size={12} />} {run.name ?? shortId(run.id)}
        {run.current === undefined ? '' : ` · in ${run.current}`}
      </span>
      <span className="quiet">
        <Took run={run} />
      </span>
    </Link>
  );
}
