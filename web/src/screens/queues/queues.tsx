/** The screen of queues: the list, and the drawer of one queue. */

import { client, type Queue } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { roughDuration } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Sparkline } from '../../ui/meters.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { PauseButton } from './pause-button.tsx';
import { QueueDrawer } from './queue-drawer.tsx';
import { useQueues, useRate } from './use-queues.ts';

export default function Queues({ name }: { readonly name: string | undefined }) {
  const queues = useQueues();
  return (
    <Page title="Queues" about="Where tasks wait. A queue exists from its first task on.">
      <WhenLoaded of={queues}>
        {(data) =>
          data.queues.length === 0 ? (
            <div className="panel">
              <Empty icon="queues" title="No queues yet">
                <p>A queue appears with its first task.</p>
                <Command text={`npx leasehold push echo '{"hello":"world"}'`} />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Queue</th>
                    <th className="num">Ready</th>
                    <th className="num">Running</th>
                    <th className="num wide-only">Scheduled</th>
                    <th className="num wide-only">Waiting</th>
                    <th className="num wide-only">Oldest</th>
                    <th className="wide-only">Ended per second</th>
                    <th className="num wide-only">Completed</th>
                    <th className="num">Failed</th>
                    <th className="num wide-only">Slots wanted</th>
                    <th>
                      <span className="sr">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.queues.map((queue) => (
                    <Row
                      key={queue.name}
                      queue={queue}
                      onChanged={(next) =>
                        queues.set((all) => ({
                          ...all,
                          queues: all.queues.map((one) => (one.name === next.name ? next : one)),
                        }))
                      }
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {name !== undefined && <QueueDrawer name={name} onChanged={queues.refresh} />}
    </Page>
  );
}

const figure = (n: number, to: string) =>
  n === 0 ? (
    <span className="quiet">0</span>
  ) : (
    <Link to={to} className="strong">
      {n.toLocaleString('en')}
    </Link>
  );

function Row({ queue, onChanged }: { readonly queue: Queue; readonly onChanged: (queue: Queue) => void }) {
  const { name } = queue;
  const scale = useResource(
    `scale ${name}`,
    (signal) => client.call('scaleQueue', { params: { queue: name }, signal }),
    { everyMs: 5_000, on: (event) => event.queue === name, atMostMs: 2_000 },
  );
  const { rate, history } = useRate(queue);
  const may = useMay('operator');
  const of = (state: string): string => `/tasks?queue=${encodeURIComponent(name)}&state=${state}`;
  return (
    <tr>
      <td>
        <span className="row wrap">
          <Link to={`/queues/${segment(name)}`} className="strong break">
            {name}
          </Link>
          {queue.paused && <State state="paused" />}
        </span>
      </td>
      <td className="num">{figure(queue.ready, of('ready'))}</td>
      <td className="num">{figure(queue.running, of('running'))}</td>
      <td className="num wide-only">{figure(queue.scheduled, of('scheduled'))}</td>
      <td className="num wide-only">{figure(queue.waiting, of('waiting'))}</td>
      <td className="num wide-only">
        {scale.data === undefined || scale.data.oldest_age_s === 0 ? (
          <span className="quiet">–</span>
        ) : (
          roughDuration(scale.data.oldest_age_s * 1000)
        )}
      </td>
      <td className="wide-only">
        <span className="row">
          <Sparkline values={history} state="completed" label={`${rate.toFixed(1)} tasks of ${name} end per second`} />
          <span className="quiet nowrap">{rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s</span>
        </span>
      </td>
      <td className="num wide-only">{figure(queue.completed, of('completed'))}</td>
      <td className="num">{figure(queue.failed, of('failed'))}</td>
      <td
        className="num wide-only"
        title="Slots that the queue could use now: for running tasks, and for ready tasks that no limit or pause holds back"
      >
        {scale.data?.desired ?? '–'}
      </td>
      <td className="num">{may && <PauseButton queue={queue} onChanged={onChanged} />}</td>
    </tr>
  );
}
