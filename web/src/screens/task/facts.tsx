/** The panel of facts: queue, worker, lease, tries, times, placement, limits. */

import type { TaskDetail } from '../../api.ts';
import { isFinal } from '../../model/task-states.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Countdown, Duration, Time } from '../../ui/times.tsx';

export function Facts({ of: task }: { readonly of: TaskDetail }) {
  const { placement, limits, fairness } = task;
  const list = (values: readonly string[]) => (
    <span className="tags">
      {values.map((value) => (
        <span key={value} className="tag">
          {value}
        </span>
      ))}
    </span>
  );
  return (
    <Panel title="Facts">
      <div className="panel-body">
        <KeyValues
          of={[
            [
              'Queue',
              <span key="q" className="row">
                <Link to={`/queues/${segment(task.queue)}`} className="link break">
                  {task.queue}
                </Link>
                {task.queuePaused && <State state="paused" />}
              </span>,
            ],
            [
              'Run',
              <Link key="r" to={`/runs/${segment(task.id)}`} className="link">
                steps and children
              </Link>,
            ],
            task.parentId !== undefined && ['Parent', <RunLink key="p" id={task.parentId} />],
            task.runId !== undefined && task.runId !== task.id && ['Root', <RunLink key="o" id={task.runId} />],
            task.worker !== undefined && [
              'Worker',
              <Link key="w" to={`/workers/${segment(task.worker)}`} className="link break">
                {task.worker}
              </Link>,
            ],
            task.state === 'running' &&
              task.leaseExpiresAt !== undefined && [
                'Lease',
                <span key="l">
                  ends in <Countdown to={task.leaseExpiresAt} over="0s, unless it is renewed" />
                </span>,
              ],
            ['Tries', `${task.tries} of ${task.maxAttempts}`],
            ['Attempt', task.attempt === 0 ? 'none yet' : `${task.attempt}`],
            ['Priority', task.priority],
            ['Created', <Time key="c" at={task.createdAt} />],
            task.runAt !== undefined && task.state === 'scheduled' && ['Due', <Time key="d" at={task.runAt} />],
            task.startedAt !== undefined && ['Started', <Time key="s" at={task.startedAt} />],
            task.finishedAt !== undefined && ['Ended', <Time key="e" at={task.finishedAt} />],
            task.finishedAt !== undefined && [
              'Total time',
              <Duration key="t" from={task.createdAt} until={task.finishedAt} />,
            ],
            placement?.requires !== undefined && ['Requires', list(placement.requires)],
            placement?.only !== undefined && ['Only on', list(placement.only)],
            placement?.never !== undefined && ['Never on', list(placement.never)],
            placement?.version !== undefined && ['Version', placement.version],
            limits !== undefined && [
              'Limits',
              <span key="li" className="tags">
                {limits.map(({ name, key, weight }) => (
                  <Link key={`${name} ${key}`} to={`/limits/${segment(name)}`} className="tag">
                    {name}
                    {key === undefined ? '' : ` / ${key}`}
                    {weight === undefined ? '' : ` × ${weight}`}
                  </Link>
                ))}
              </span>,
            ],
            fairness !== undefined && [
              'Fair share',
              `${fairness.key}${fairness.weight === 1 ? '' : ` × ${fairness.weight}`}`,
            ],
            task.unique !== undefined && ['Unique key', <code key="u">{task.unique}</code>],
            !isFinal(task.state) && ['Eligible workers', task.workersForIt],
          ]}
        />
      </div>
    </Panel>
  );
}

/** A child leads to who started it, and to the root of its tree. */
function RunLink({ id }: { readonly id: string }) {
  return (
    <Link to={`/runs/${segment(id)}`} className="link mono" title={id}>
      {shortId(id)}
    </Link>
  );
}
