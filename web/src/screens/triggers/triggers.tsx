/** The screen of triggers: what each listens to and does, and what became of its last delivery. */

import { useState } from 'react';
import type { Trigger } from '../../api.ts';
import { actionText, isProblem, outcomeState, outcomeText, sourceText } from '../../model/trigger/words.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { EditTrigger } from './edit-dialog.tsx';
import { TriggerDrawer } from './trigger-drawer.tsx';
import { useTriggers } from './use-trigger.ts';

export default function Triggers({ name }: { readonly name: string | undefined }) {
  const may = useMay('operator');
  const triggers = useTriggers();
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title="Triggers"
      about="What starts work when something happens. Each delivery acts once, on one of the nodes."
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a trigger
          </Button>
        )
      }
    >
      <WhenLoaded of={triggers}>
        {(data) =>
          data.triggers.length === 0 ? (
            <div className="panel">
              <Empty icon="triggers" title="No triggers">
                <p>
                  A trigger pushes a task, starts a run or checks a pool when a webhook comes, a task ends, a worker is
                  lost or a file lies in a folder. By a clock, work starts with a{' '}
                  <Link to="/schedules" className="link">
                    schedule
                  </Link>
                  .
                </p>
                <Command text={`npx leasehold triggers set paid '{"kind": "webhook", "push": {"queue": "echo"}}'`} />
                <Command
                  text={`npx leasehold triggers set on-fail '{"kind": "event", "on": "task_finished", "states": ["failed"], "push": {"queue": "echo"}}'`}
                />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Trigger</th>
                    <th className="wide-only">Kind</th>
                    <th className="wide-only">When</th>
                    <th className="wide-only">Does</th>
                    <th className="num">Fired</th>
                    <th>Last delivery</th>
                  </tr>
                </thead>
                <tbody>
                  {data.triggers.map((trigger) => (
                    <Row key={trigger.name} trigger={trigger} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {creating && (
        <EditTrigger
          onClose={() => setCreating(false)}
          onDone={(made) => {
            triggers.refresh();
            go(`/triggers/${segment(made)}`);
          }}
        />
      )}
      {name !== undefined && <TriggerDrawer key={name} name={name} onChanged={triggers.refresh} />}
    </Page>
  );
}

function Row({ trigger }: { readonly trigger: Trigger }) {
  const { name, kind, enabled, fired, last } = trigger;
  return (
    <tr>
      <td>
        <span className="row wrap">
          <Link to={`/triggers/${segment(name)}`} className="strong break">
            {name}
          </Link>
          {!enabled && <State state="paused" label="off" />}
        </span>
      </td>
      <td className="wide-only">{kind}</td>
      <td className="wide-only">
        <span className="cut-lines" title={sourceText(trigger)}>
          {sourceText(trigger)}
        </span>
      </td>
      <td className="wide-only">
        <span className="cut-lines" title={actionText(trigger)}>
          {actionText(trigger)}
        </span>
      </td>
      <td className="num">{fired === 0 ? <span className="quiet">0</span> : fired.toLocaleString('en')}</td>
      <td className="last">
        {last === undefined ? (
          <span className="quiet">never</span>
        ) : (
          <span className="stack tightest">
            <span className="row wrap">
              <State state={outcomeState(last)} label={last.state ?? last.outcome} />
              <span className="quiet nowrap">
                <Time at={last.at} />
              </span>
            </span>
            {isProblem(last) && last.detail !== undefined && (
              <span className="bad cut-lines" title={outcomeText(last)}>
                {last.detail}
              </span>
            )}
          </span>
        )}
      </td>
    </tr>
  );
}
