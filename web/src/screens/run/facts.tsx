/** Who the run is: the way to it, its name, its family, its times. */

import type { RunDetail } from '../../api.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { CopyButton } from '../../ui/buttons.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Duration, Time } from '../../ui/times.tsx';

/** A child leads to its root and to its parent. */
export function Crumbs({ of: run }: { readonly of: RunDetail | undefined }) {
  const { root, parent } = run ?? {};
  return (
    <nav className="row wrap crumbs" aria-label="Where this run belongs">
      <Link to="/runs" className="crumb">
        Runs
      </Link>
      {root !== undefined && root !== run?.id && <Ancestor name="root" id={root} />}
      {parent !== undefined && parent !== root && <Ancestor name="parent" id={parent} />}
    </nav>
  );
}

function Ancestor({ name, id }: { readonly name: string; readonly id: string }) {
  return (
    <Link to={`/runs/${segment(id)}`} className="crumb" title={id}>
      {name} <span className="mono">{shortId(id)}</span>
    </Link>
  );
}

export function About({ id, of: run }: { readonly id: string; readonly of: RunDetail | undefined }) {
  return (
    <span className="row run-about">
      {run?.name !== undefined && <span className="cut strong">{run.name}</span>}
      <code className="cut">{run?.id ?? id}</code>
      <CopyButton text={run?.id ?? id} label="Copy the id" />
    </span>
  );
}

export function RunFacts({ of: run }: { readonly of: RunDetail }) {
  const labels = Object.entries(run.labels);
  return (
    <Panel title="Facts">
      <div className="panel-body">
        <KeyValues
          of={[
            ['Kind', run.kind],
            [
              'Task',
              <Link key="t" to={`/tasks/${segment(run.id)}`} className="link mono">
                {shortId(run.id)}
              </Link>,
            ],
            [
              'Queue',
              <Link key="q" to={`/queues/${segment(run.queue)}`} className="link break">
                {run.queue}
              </Link>,
            ],
            ['Handler', run.handler],
            ['Attempt', run.attempt === 0 ? 'none yet' : run.attempt],
            run.parent !== undefined && ['Parent', <RunLink key="p" id={run.parent} />],
            run.root !== undefined && run.root !== run.id && ['Root', <RunLink key="r" id={run.root} />],
            run.forkedFrom !== undefined && ['Forked from', <RunLink key="f" id={run.forkedFrom} />],
            ['Started', <Time key="c" at={run.createdAt} />],
            run.startedAt !== undefined && run.attempt > 1 && ['Last attempt', <Time key="s" at={run.startedAt} />],
            run.finishedAt !== undefined && ['Ended', <Time key="e" at={run.finishedAt} />],
            ['Took', <Duration key="d" from={run.createdAt} until={run.finishedAt} />],
            [
              'Tasks',
              <span key="m" className="stack tight">
                {Object.entries(run.members).map(([state, count]) => (
                  <State key={state} state={state} label={`${(count ?? 0).toLocaleString('en')} ${state}`} />
                ))}
              </span>,
            ],
            run.cancelRequestedAt !== undefined && ['Cancelled', <Time key="ca" at={run.cancelRequestedAt} />],
            run.cancelReason !== undefined && ['Why', <span key="w">{run.cancelReason}</span>],
            run.cancelledBy !== undefined && ['By', run.cancelledBy],
            labels.length > 0 && [
              'Labels',
              <span key="l" className="tags">
                {labels.map(([name, value]) => (
                  <span key={name} className="tag cut" title={`${name}=${value}`}>
                    {name}={value}
                  </span>
                ))}
              </span>,
            ],
            run.definition !== undefined && ['Definition', <code key="h">{run.definition.slice(0, 12)}</code>],
          ]}
        />
      </div>
    </Panel>
  );
}

function RunLink({ id }: { readonly id: string }) {
  return (
    <Link to={`/runs/${segment(id)}`} className="link mono" title={id}>
      {shortId(id)}
    </Link>
  );
}
