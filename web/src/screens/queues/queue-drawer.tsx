/** The drawer of one queue: its counts, its last hour, and the figures that autoscalers read. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { roughDuration } from '../../model/time.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { Sparkline } from '../../ui/meters.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { PauseButton } from './pause-button.tsx';
import { PurgeDialog } from './purge-dialog.tsx';

export function QueueDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const queue = useResource(`queue ${name}`, (signal) => client.call('getQueue', { params: { queue: name }, signal }), {
    on: (event) => event.queue === name,
  });
  const scale = useResource(
    `scale ${name}`,
    (signal) => client.call('scaleQueue', { params: { queue: name }, signal }),
    { everyMs: 3_000 },
  );
  const counts = useResource(
    `created ${name}`,
    (signal) => client.call('countTasks', { query: { queue: [name], buckets: 60 }, signal }),
    { everyMs: 15_000 },
  );
  const [purging, setPurging] = useState(false);
  const created = counts.data?.buckets.map((bucket) => Object.values(bucket).reduce((sum, n) => sum + n, 0)) ?? [];
  return (
    <Drawer title={name} onClose={() => go('/queues')}>
      <WhenLoaded of={queue}>
        {(data) => (
          <>
            {may && (
              <div className="buttons">
                <PauseButton
                  queue={data}
                  onChanged={(next) => {
                    queue.set(() => next);
                    onChanged();
                  }}
                />
                <Button small icon="push" onClick={() => go(`/push?queue=${encodeURIComponent(name)}`)}>
                  Push to this queue
                </Button>
                <Button small icon="trash" kind="danger" onClick={() => setPurging(true)}>
                  Cancel all waiting tasks
                </Button>
              </div>
            )}
            <Panel title="Now">
              <div className="panel-body">
                <ul className="stack tight">
                  {(['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'] as const).map(
                    (state) => (
                      <li key={state}>
                        <Link className="row apart" to={`/tasks?queue=${encodeURIComponent(name)}&state=${state}`}>
                          <State state={state} />
                          <span className="num strong">{data[state].toLocaleString('en')}</span>
                        </Link>
                      </li>
                    ),
                  )}
                </ul>
              </div>
            </Panel>
            <Panel title="Created, the last hour" count={created.reduce((sum, n) => sum + n, 0)}>
              <div className="panel-body">
                <Sparkline wide values={created} label={`Tasks created in ${name} in the last hour`} />
              </div>
            </Panel>
            {scale.data && (
              <Panel title="For autoscalers">
                <div className="panel-body stack">
                  <KeyValues
                    of={[
                      ['Slots wanted', <b key="d">{scale.data.desired}</b>],
                      ['Could start now', scale.data.runnable],
                      ['Running', scale.data.running],
                      ['Held by limits', `${scale.data.blocked_by_limit}; more workers would not help`],
                      [
                        'Oldest that could start',
                        scale.data.oldest_age_s === 0 ? '–' : roughDuration(scale.data.oldest_age_s * 1000),
                      ],
                    ]}
                  />
                  <Command
                    text={`curl -H "Authorization: Bearer $TOKEN" ${location.origin}/api/v1/queues/${segment(name)}/scale`}
                  />
                </div>
              </Panel>
            )}
          </>
        )}
      </WhenLoaded>
      {purging && (
        <PurgeDialog
          name={name}
          onClose={() => setPurging(false)}
          onDone={() => {
            queue.refresh();
            onChanged();
          }}
        />
      )}
    </Drawer>
  );
}
