/** The screen of approvals: every task that waits for a decision. */

import { client } from '../api.ts';
import { useResource } from '../live/resource.ts';
import { Link, segment } from '../router.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Page } from '../ui/layout.tsx';
import { Empty, WhenLoaded } from '../ui/states.tsx';
import { Countdown, Time } from '../ui/times.tsx';
import { DecideForm } from './task/decide.tsx';

export default function Approvals() {
  const approvals = useResource(
    'approvals',
    (signal) => client.call('listApprovals', { query: { limit: 200 }, signal }),
    {
      everyMs: 15_000,
      on: ({ kind }) => kind === 'parked' || kind === 'woken' || kind === 'cancelled' || kind === 'failed',
      atMostMs: 700,
    },
  );
  return (
    <Page title="Approvals" about="Tasks that wait for a decision, the oldest first. They hold no slot.">
      <WhenLoaded of={approvals}>
        {(data) =>
          data.approvals.length === 0 ? (
            <div className="panel">
              <Empty icon="approvals" title="Nothing to decide">
                <p>
                  A task asks for a decision with{' '}
                  <code>
                    ctx.wait(…, {'{'} approval {'}'})
                  </code>
                  . It gives its slot back and continues with the answer.
                </p>
              </Empty>
            </div>
          ) : (
            <ul className="cards">
              {data.approvals.map((approval) => (
                <li key={`${approval.id} ${approval.key}`} className="panel card">
                  <DecideForm
                    id={approval.id}
                    wait={approval.key}
                    title={approval.title}
                    actions={approval.actions}
                    form={approval.form}
                    onDone={approvals.refresh}
                  />
                  {approval.context !== undefined && <JsonView label="Context" value={approval.context} />}
                  <p className="quiet">
                    <Link to={`/tasks/${segment(approval.id)}`} className="link">
                      {approval.handler}
                    </Link>{' '}
                    in {approval.queue}, since <Time at={approval.since} />
                    {approval.deadline !== undefined && (
                      <>
                        , until <Countdown to={approval.deadline} over="now" />
                      </>
                    )}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </WhenLoaded>
    </Page>
  );
}
