/** The screen of failed tasks, grouped by error, and the dialog that runs a group again. */

import { useState } from 'react';
import { client, type FailureGroup } from '../api.ts';
import { jobs, startJob } from '../live/jobs.ts';
import { useResource } from '../live/resource.ts';
import { useSignal } from '../live/signal.ts';
import { plainText } from '../model/ansi.ts';
import { plural, shortId } from '../model/text.ts';
import { Link, segment } from '../router.tsx';
import { useMay } from '../session.ts';
import { Button } from '../ui/buttons.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Field } from '../ui/fields.tsx';
import { StateGlyph } from '../ui/icon.tsx';
import { Page } from '../ui/layout.tsx';
import { Empty, WhenLoaded } from '../ui/states.tsx';
import { Time } from '../ui/times.tsx';

export default function Failed() {
  const may = useMay('operator');
  const failures = useResource('failures', (signal) => client.call('listFailures', { signal }), {
    everyMs: 20_000,
    on: ({ kind, state }) => state === 'failed' || kind === 'revived',
    atMostMs: 3_000,
  });
  const [redriving, setRedriving] = useState<FailureGroup>();
  const busy = useSignal(jobs).some(({ state }) => state === 'running');
  return (
    <Page title="Failed" about="Tasks that have failed for good, grouped by error.">
      <WhenLoaded of={failures}>
        {(data) =>
          data.groups.length === 0 ? (
            <div className="panel">
              <Empty icon="check" title="Nothing has failed">
                <p>
                  A task comes here when its tries are used up, or when its error says that no other try helps. Run it
                  again from here: one task, or a whole group at a rate.
                </p>
              </Empty>
            </div>
          ) : (
            <>
              <ul className="cards">
                {data.groups.map((group) => (
                  <Group
                    key={group.fingerprint}
                    of={group}
                    onRedrive={may ? () => setRedriving(group) : undefined}
                    busy={busy}
                  />
                ))}
              </ul>
              <p className="quiet">
                {plural(data.looked, 'failed task')} read{data.cut ? ', the newest; there are more' : ''}.
              </p>
            </>
          )
        }
      </WhenLoaded>
      {redriving && (
        <RedriveDialog of={redriving} onClose={() => setRedriving(undefined)} onStarted={failures.refresh} />
      )}
    </Page>
  );
}

function Group({
  of: group,
  onRedrive,
  busy,
}: {
  readonly of: FailureGroup;
  readonly onRedrive: (() => void) | undefined;
  readonly busy: boolean;
}) {
  return (
    <li className="panel card">
      <div className="row top wrap">
        <span className="state s-failed">
          <StateGlyph state="failed" />
          <b>{group.tasks.toLocaleString('en')}</b>
        </span>
        <h2 className="grow break">{group.message === '' ? 'No message' : plainText(group.message)}</h2>
        {onRedrive && (
          <Button small icon="retry" disabled={busy} onClick={onRedrive}>
            Run again …
          </Button>
        )}
      </div>
      <div className="row wrap quiet">
        <span>
          {group.tasks === 1 ? (
            ''
          ) : (
            <>
              from <Time at={group.firstAt} /> to{' '}
            </>
          )}
          <Time at={group.lastAt} />
        </span>
        <span className="tags">
          {group.handlers.slice(0, 5).map((handler) => (
            <Link key={handler} to={`/tasks?state=failed&handler=${encodeURIComponent(handler)}`} className="tag">
              {handler}
            </Link>
          ))}
        </span>
        <span className="tags">
          {group.queues
            .filter((queue) => !group.handlers.includes(queue))
            .slice(0, 5)
            .map((queue) => (
              <Link key={queue} to={`/tasks?state=failed&queue=${encodeURIComponent(queue)}`} className="tag">
                queue {queue}
              </Link>
            ))}
        </span>
      </div>
      {group.pattern !== group.message && (
        <pre className="code quiet" title="The part that the errors have in common">
          {group.pattern}
        </pre>
      )}
      <p className="row wrap">
        {group.ids.slice(0, 6).map((id) => (
          <Link key={id} to={`/tasks/${segment(id)}`} className="link mono" title={id}>
            {shortId(id)}
          </Link>
        ))}
        {group.tasks > 6 && <span className="quiet">and {(group.tasks - 6).toLocaleString('en')} more</span>}
      </p>
    </li>
  );
}

function RedriveDialog({
  of: group,
  onClose,
  onStarted,
}: {
  readonly of: FailureGroup;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}) {
  const [rate, setRate] = useState('5');
  const perSecond = Number(rate);
  const n = group.ids.length;
  return (
    <FormDialog
      title="Run these again"
      submit={`Run ${plural(n, 'task')} again`}
      disabled={!(perSecond > 0)}
      onClose={onClose}
      act={async () => {
        startJob({
          title: `Running again: ${plainText(group.message).slice(0, 80)}`,
          ids: group.ids,
          perSecond,
          act: (id) => client.call('retryTask', { params: { id }, body: {} }),
        });
        onStarted();
      }}
    >
      <pre className="code">{group.pattern}</pre>
      <p>
        <b>{plural(n, 'task')}</b>
        {n < group.tasks ? ` of ${group.tasks.toLocaleString('en')}, the newest. Repeat this for the rest.` : '.'} Each
        task becomes ready again, with all its tries.
      </p>
      <Field
        label="Tasks per second"
        hint={perSecond > 0 ? `Takes about ${Math.ceil(n / perSecond)} s, and can be stopped at any time` : undefined}
      >
        {(props) => (
          <input
            {...props}
            className="input short"
            inputMode="decimal"
            value={rate}
            onChange={(event) => setRate(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
