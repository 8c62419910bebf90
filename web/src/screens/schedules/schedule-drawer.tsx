/** The drawer of one schedule: its next fire times, its task, and what became of the last ones. */

import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { exactTime } from '../../model/time.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { EditButtons } from './edit-buttons.tsx';
import { ScheduleButtons } from './schedule-buttons.tsx';
import { outcomeText, timesText } from './words.ts';

export function ScheduleDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const schedule = useResource(
    `schedule ${name}`,
    (signal) => client.call('getSchedule', { params: { name }, signal }),
    { everyMs: 5_000 },
  );
  const changed = (): void => {
    schedule.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/schedules')}>
      <WhenLoaded of={schedule}>
        {(data) => (
          <>
            {may && (
              <div className="row wrap">
                <ScheduleButtons schedule={data} onChanged={changed} />
                <EditButtons of={data} onChanged={changed} />
              </div>
            )}
            <Panel title="When">
              <div className="panel-body">
                <KeyValues
                  of={[
                    ['State', data.state],
                    ['Fires', timesText(data)],
                    ['What is missed', data.missed],
                    ['Queue', data.queue],
                    data.handler !== data.queue && ['Handler', data.handler],
                  ]}
                />
              </div>
            </Panel>
            <JsonView label="Input" value={data.input} />
            <Panel title={data.state === 'paused' ? 'Next, if it is resumed now' : 'Next'}>
              <div className="panel-body">
                {data.next.length === 0 ? (
                  <p className="quiet">It has ended.</p>
                ) : (
                  <ul className="stack tight">
                    {data.next.map((at) => (
                      <li key={at}>
                        {exactTime(at)}{' '}
                        <span className="quiet">
                          <Time at={at} />
                        </span>
                      </li>
                    ))}
                  </ul>
                )}
              </div>
            </Panel>
            <Panel title="History" count={data.history.length}>
              <div className="panel-body">
                <ul className="stack tight">
                  {data.history.map((fire, i) => (
                    <li key={`${fire.slot} ${fire.outcome} ${i}`} className="row apart">
                      <span>
                        {exactTime(fire.slot)} {outcomeText(fire)} {fire.before !== undefined && exactTime(fire.before)}
                      </span>
                      {fire.task !== undefined && (
                        <Link to={`/tasks/${segment(fire.task)}`}>
                          {fire.state === undefined ? 'task' : <State state={fire.state} />}
                        </Link>
                      )}
                    </li>
                  ))}
                </ul>
              </div>
            </Panel>
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}
