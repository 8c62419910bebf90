/** Panels of a pool: its figures, its policy, and how its workers are started. */

import type { Pool } from '../../api.ts';
import { durationText, roughDuration } from '../../model/time.ts';
import { Link } from '../../router.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { Time } from '../../ui/times.tsx';

export function Figures({ of: { now, policy, queues } }: { readonly of: Pool }) {
  const waiting = `/tasks?state=ready&${queues.map((name) => `queue=${encodeURIComponent(name)}`).join('&')}`;
  return (
    <section className="figures" aria-label="Figures">
      <Figure value={now.want} text={`desired of ${policy.max} at most`} />
      <Figure value={now.there} text="there or on their way" />
      <Figure value={now.busy} text="busy" mark="busy" />
      <Figure value={now.idle} text="idle" mark="idle" />
      <Figure value={now.starting} text="starting" mark="starting" />
      <Figure value={now.leaving} text="draining" mark="leaving" />
      <Link className="figure" to={waiting}>
        <b>{now.runnable.toLocaleString('en')}</b>
        <span>
          {now.oldestAgeMs < 1000 ? 'tasks wait' : `tasks wait, ${roughDuration(now.oldestAgeMs)} the oldest`}
        </span>
      </Link>
      <Figure value={now.blocked} text="held by limits" />
    </section>
  );
}

function Figure({ value, text, mark }: { readonly value: number; readonly text: string; readonly mark?: string }) {
  return (
    <div className="figure">
      <b>{value.toLocaleString('en')}</b>
      <span className="row">
        {mark !== undefined && <i className={`swatch p-${mark}`} />}
        {text}
      </span>
    </div>
  );
}

export function Policy({ of: { policy, worker, queues, changedAt, changedBy } }: { readonly of: Pool }) {
  return (
    <Panel title="Policy">
      <div className="panel-body">
        <KeyValues
          of={[
            ['Queues', queues.join(', ')],
            ['Workers', `${policy.min} to ${policy.max}`],
            ['Tasks per worker', policy.tasksPerWorker],
            policy.scaleUpThreshold > 1 && ['Another worker', `when ${policy.scaleUpThreshold} tasks wait`],
            policy.targetWaitMs !== undefined && [
              'Target wait',
              `${durationText(policy.targetWaitMs)}, then a worker for each task`,
            ],
            ['Sent home', `after ${durationText(policy.idleMs)} without a task`],
            [
              'Pauses',
              `${durationText(policy.cooldownUpMs)} after starts, ${durationText(policy.cooldownDownMs)} before anybody goes`,
            ],
            ['One check starts', `${policy.burst} at most`],
            ['A start may take', durationText(policy.startMs)],
            [
              'A worker',
              worker.life === 'once'
                ? 'takes one task and ends'
                : `stays, with ${worker.slots} ${worker.slots === 1 ? 'slot' : 'slots'}`,
            ],
            worker.tags.length > 0 && ['Tags', worker.tags.join(', ')],
            [
              'Changed',
              <span key="c" className="break">
                <Time at={changedAt} /> by {changedBy}
              </span>,
            ],
          ]}
        />
      </div>
    </Panel>
  );
}

export function Launcher({ of: { launcher } }: { readonly of: Pool }) {
  return <JsonView label="How workers are started" value={launcher} />;
}
