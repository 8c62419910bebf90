/** The screen of schedules: the list, and the drawer of one schedule. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { EditSchedule } from './edit-dialog.tsx';
import { ScheduleButtons } from './schedule-buttons.tsx';
import { ScheduleDrawer } from './schedule-drawer.tsx';
import { outcomeText, timesText } from './words.ts';

export default function Schedules({ name }: { readonly name: string | undefined }) {
  const may = useMay('operator');
  const schedules = useResource('schedules', (signal) => client.call('listSchedules', { signal }), { everyMs: 5_000 });
  const [creating, setCreating] = useState(false);
  const create = may && (
    <Button icon="plus" kind="primary" onClick={() => setCreating(true)}>
      Create a schedule
    </Button>
  );
  return (
    <Page
      title="Schedules"
      about="Tasks that are pushed by a clock. Each fire time fires once, on one of the nodes."
      actions={create}
    >
      <WhenLoaded of={schedules}>
        {(data) =>
          data.schedules.length === 0 ? (
            <div className="panel">
              <Empty icon="schedules" title="No schedules">
                <p>A schedule pushes a task each night, each quarter of an hour or once, in any time zone.</p>
                <Command text="npx leasehold schedules set nightly echo --daily 03:00" />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Next</th>
                    <th className="wide-only">When</th>
                    <th className="wide-only">Queue</th>
                    <th>Last</th>
                    {may && <th aria-label="Actions" />}
                  </tr>
                </thead>
                <tbody>
                  {data.schedules.map((schedule) => (
                    <tr key={schedule.name}>
                      <td>
                        <Link to={`/schedules/${segment(schedule.name)}`} className="strong break">
                          {schedule.name}
                        </Link>
                      </td>
                      <td>
                        {schedule.nextAt === undefined ? (
                          <span className="quiet">{schedule.state}</span>
                        ) : (
                          <Time at={schedule.nextAt} />
                        )}
                      </td>
                      <td className="wide-only">{timesText(schedule)}</td>
                      <td className="wide-only">{schedule.queue}</td>
                      <td>
                        {schedule.last === undefined ? (
                          <span className="quiet">–</span>
                        ) : (
                          <>
                            {outcomeText(schedule.last)} <Time at={schedule.last.at} />
                          </>
                        )}
                      </td>
                      {may && (
                        <td>
                          <ScheduleButtons schedule={schedule} onChanged={schedules.refresh} />
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {creating && (
        <EditSchedule
          onClose={() => setCreating(false)}
          onDone={(made) => {
            schedules.refresh();
            go(`/schedules/${segment(made)}`);
          }}
        />
      )}
      {name !== undefined && <ScheduleDrawer name={name} key={name} onChanged={schedules.refresh} />}
    </Page>
  );
}
