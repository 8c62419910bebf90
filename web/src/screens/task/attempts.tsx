/** The panel of attempts: a timeline of bars, and a table that says how each attempt ended. */

import type { Attempt, TaskDetail } from '../../api.ts';
import { messageOf } from '../../model/json.ts';
import { isFinal } from '../../model/task-states.ts';
import { Link, segment } from '../../router.tsx';
import { Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Duration, Time, useNow } from '../../ui/times.tsx';

const OUTCOME_STATES: Readonly<Record<string, string>> = {
  completed: 'completed',
  running: 'running',
  failed: 'failed',
  retried: 'failed',
  cancelled: 'cancelled',
  expired: 'lost',
  timed_out: 'failed',
  released: 'cancelled',
  parked: 'waiting',
};

/** Each attempt is a bar on one time scale, from the push to the end or to now. */
export function Attempts({ of: task }: { readonly of: TaskDetail }) {
  const live = !isFinal(task.state);
  const now = useNow((at) => (live ? Math.floor(at / 1000) * 1000 : 0));
  const { attempts, createdAt } = task;
  const ends = [
    createdAt + 1,
    task.finishedAt ?? 0,
    ...attempts.flatMap(({ startedAt = 0, endedAt = 0 }) => [startedAt, endedAt]),
    live ? Math.max(now, createdAt + 1) : 0,
  ];
  const end = Math.max(...ends);
  const part = (at: number): number => ((Math.min(end, Math.max(createdAt, at)) - createdAt) / (end - createdAt)) * 100;
  return (
    <Panel title="Attempts" count={attempts.length}>
      {attempts.length === 0 ? (
        <div className="panel-body quiet">
          {live ? 'No worker has taken the task yet.' : 'No worker has taken the task.'} It was created{' '}
          <Time at={createdAt} />.
        </div>
      ) : (
        <div className="lanes">
          {attempts.map((one, i) => {
            const from = one.startedAt ?? createdAt;
            const until = one.endedAt ?? end;
            const tone = OUTCOME_STATES[one.outcome] ?? 'ready';
            const before = i === 0 ? createdAt : (attempts[i - 1]?.endedAt ?? from);
            return (
              <div key={one.attempt} style={{ display: 'contents' }}>
                <span className="row">
                  <span className="quiet">{one.attempt}</span>
                  <State state={tone} label={one.outcome.replaceAll('_', ' ')} />
                </span>
                <span className={`lane s-${tone}`}>
                  <i
                    className="idle"
                    style={{ left: `${part(before)}%`, width: `${Math.max(0, part(from) - part(before))}%` }}
                  />
                  <i
                    className={one.endedAt === undefined ? 'live' : ''}
                    style={{
                      left: `${Math.min(99, part(from))}%`,
                      width: `${Math.max(0.6, part(until) - part(from))}%`,
                    }}
                  />
                </span>
                <span className="num nowrap">
                  {one.startedAt === undefined ? '–' : <Duration from={one.startedAt} until={one.endedAt} />}
                </span>
              </div>
            );
          })}
        </div>
      )}
      {attempts.length > 0 && <AttemptTable of={attempts} />}
    </Panel>
  );
}

function AttemptTable({ of: attempts }: { readonly of: readonly Attempt[] }) {
  return (
    <div className="table-wrap">
      <table className="table attempts">
        <thead>
          <tr>
            <th>Attempt</th>
            <th>Worker</th>
            <th>Started</th>
            <th>What happened</th>
          </tr>
        </thead>
        <tbody>
          {[...attempts].reverse().map((one) => (
            <tr key={one.attempt}>
              <td>{one.attempt}</td>
              <td>
                {one.worker === undefined ? (
                  '–'
                ) : (
                  <Link to={`/workers/${segment(one.worker)}`} className="link">
                    {one.worker}
                  </Link>
                )}
              </td>
              <td className="nowrap">{one.startedAt === undefined ? '–' : <Time at={one.startedAt} />}</td>
              <td className="break">{outcomeText(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How an attempt ended, in words. */
function outcomeText({ outcome: reported, error }: Attempt): string {
  // A newer node may have other outcomes.
  const outcome: string = reported;
  const why = messageOf(error);
  switch (outcome) {
    case 'expired':
      return `The lease expired: the worker fell silent, and the task went to another worker${why === '' ? '' : ` (${why})`}`;
    case 'retried':
      return `Failed, and is retried: ${why}`;
    case 'released':
      return `Given back unstarted${why === '' ? '' : `: ${why}`}`;
    case 'parked':
      return 'Waits, and has given its slot back';
    case 'running':
      return 'Running';
    default:
      return why === '' ? outcome.replaceAll('_', ' ') : `${outcome}: ${why}`;
  }
}
