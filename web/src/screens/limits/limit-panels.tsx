/** Panels of the limit drawer: use now, keys, holders, history. */

import type { LimitDetail, Task } from '../../api.ts';
import { plural } from '../../model/text.ts';
import { duration } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { Meter } from '../../ui/meters.tsx';
import { Countdown, Time } from '../../ui/times.tsx';
import { boundsText, isFull } from './bounds.ts';
import { RateMeter } from './usage.tsx';

export function Now({ of: data }: { readonly of: LimitDetail }) {
  return (
    <Panel title="Now">
      <div className="panel-body stack">
        {data.concurrent !== undefined && (
          <Meter
            value={data.active}
            max={data.concurrent}
            label={`${data.active} of ${data.concurrent}`}
            tone={isFull(data) ? 's-attention' : 's-running'}
          />
        )}
        <KeyValues
          of={[
            [
              'At once',
              data.concurrent === undefined
                ? 'no bound'
                : `${data.active} of ${data.concurrent}${isFull(data) ? ', at the limit' : ''}`,
            ],
            data.perKey !== undefined && ['Per key', data.perKey],
            data.rate !== undefined && ['Rate', <RateMeter key="r" of={data} />],
            data.cost !== undefined && ['Cost', `${data.cost.max} in ${data.cost.window}`],
            ['Waiting', plural(data.waiting, 'ready task')],
            ['When it is full', data.strategy.replace('_', ' ')],
            data.freesAt !== undefined && ['Has room in', <Countdown key="f" to={data.freesAt} over="a moment" />],
          ]}
        />
      </div>
    </Panel>
  );
}

export function Keys({ of: data }: { readonly of: LimitDetail }) {
  return (
    <Panel title="Keys" count={data.keys.length}>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th>Key</th>
              <th className="num">In use</th>
              <th>State</th>
            </tr>
          </thead>
          <tbody>
            {data.keys.map((key) => (
              <tr key={key.key}>
                <td className="break">{key.key}</td>
                <td className="num">
                  {key.used}
                  {key.cap === undefined ? '' : ` of ${key.cap}`}
                </td>
                <td>
                  {key.pausedUntil !== undefined ? (
                    <>
                      paused for <Countdown to={key.pausedUntil} />
                    </>
                  ) : key.freesAt !== undefined ? (
                    <>
                      has room in <Countdown to={key.freesAt} />
                    </>
                  ) : (
                    <span className="quiet">open</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {data.moreKeys && <div className="panel-body quiet">There are more keys.</div>}
    </Panel>
  );
}

export function Holders({ of: tasks }: { readonly of: readonly Task[] }) {
  return (
    <Panel title="Holders" count={tasks.length}>
      {tasks.length === 0 ? (
        <div className="panel-body quiet">No running task.</div>
      ) : (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th>Task</th>
                <th>Handler</th>
                <th>Worker</th>
                <th className="num">Started</th>
              </tr>
            </thead>
            <tbody>
              {tasks.map((task) => (
                <tr key={task.id}>
                  <td>
                    <Link to={`/tasks/${segment(task.id)}`} className="link mono">
                      …{task.id.slice(-8)}
                    </Link>
                  </td>
                  <td className="break">{task.handler}</td>
                  <td className="break">{task.worker ?? '–'}</td>
                  <td className="num">{task.startedAt === undefined ? '–' : <Time at={task.startedAt} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function changeText({ limit, paused }: LimitDetail['history'][number]): string {
  if (paused !== undefined) return `${paused.key === '' ? '' : `${paused.key} `}paused for ${duration(paused.forMs)}`;
  return limit === undefined ? 'removed' : boundsText(limit);
}

export function History({ of: data }: { readonly of: LimitDetail }) {
  return (
    <Panel title="History">
      <ul className="history panel-body">
        {data.history.map((entry) => (
          <li key={`${entry.at} ${changeText(entry)}`}>
            <span className="quiet nowrap">
              <Time at={entry.at} />
            </span>
            <span className="break">
              <b className="strong">{changeText(entry)}</b> <span className="quiet">by {entry.by}</span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
