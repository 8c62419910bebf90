/** Panels of the worker drawer: the leases that the worker holds, and each of its processes. */

import type { Task, Worker, WorkerGrant } from '../../api.ts';
import { shortId } from '../../model/text.ts';
import { standing } from '../../model/workers/release.ts';
import { Link, segment } from '../../router.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Countdown, Time } from '../../ui/times.tsx';

export function Leases({ ids, tasks }: { readonly ids: readonly string[]; readonly tasks: readonly Task[] }) {
  return (
    <Panel title="Leases" count={ids.length}>
      {ids.length === 0 ? (
        <div className="panel-body quiet">No running task.</div>
      ) : (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th>Task</th>
                <th>Handler</th>
                <th className="num">Ends in</th>
              </tr>
            </thead>
            <tbody>
              {tasks.map((task) => (
                <tr key={task.id}>
                  <td>
                    <Link to={`/tasks/${segment(task.id)}`} className="link mono">
                      {shortId(task.id)}
                    </Link>
                  </td>
                  <td>{task.handler}</td>
                  <td className="num">
                    {task.leaseExpiresAt === undefined ? (
                      '–'
                    ) : (
                      <Countdown to={task.leaseExpiresAt} over="being renewed" />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

export function Process({ of: one }: { readonly of: Worker }) {
  return (
    <Panel title={`Process ${one.pid ?? ''}`} actions={<State state={one.state} />}>
      <div className="panel-body">
        <KeyValues
          of={[
            ['Address', one.address ?? '–'],
            ['Host', one.host ?? '–'],
            ['Version', one.version ?? '–'],
            one.release !== undefined && ['Release', <ReleaseOf key="r" of={one.release} />],
            ['Slots', `${one.running} of ${one.slots} in use`],
            ['Queues', one.queues === undefined ? 'all' : one.queues.join(', ')],
            ['Started', one.startedAt === undefined ? '–' : <Time key="s" at={one.startedAt} />],
            ['Last seen', <Time key="l" at={one.lastSeenAt} />],
            ['Tasks ended', one.totalTasks.toLocaleString('en')],
            ...(one.status === undefined ? [] : [['Says of itself', one.status] as const]),
            ...(one.metrics === undefined
              ? []
              : [['Metrics', <code key="m">{JSON.stringify(one.metrics)}</code>] as const]),
          ]}
        />
      </div>
    </Panel>
  );
}

function ReleaseOf({ of: release }: { readonly of: NonNullable<Worker['release']> }) {
  const { state, label } = standing(release);
  const { updater } = release;
  return (
    <span className="stack tightest">
      <span>
        {release.version}, protocols {release.protocol.join(' to ')}
      </span>
      <State state={state} label={label} />
      {updater?.problem !== undefined && <span className="bad break">{updater.problem}</span>}
    </span>
  );
}

const NOTHING_PERMITTED = 'Spawn what it may run, in the same queue';

/** What was granted to the name, and what its tasks may do to others. */
export function Granted({ grant, isHere }: { readonly grant: WorkerGrant; readonly isHere: boolean }) {
  const { handlers, anyHandler, queues, slots, permissions = {} } = grant;
  const { reuse, ...kinds } = permissions;
  const permitted = Object.entries(kinds).filter(([, entries]) => (entries?.length ?? 0) > 0);
  // A worker on the store itself needs no grant.
  const notNamed = anyHandler || isHere ? 'Any handler that it offers' : 'What it offers when it first joins';
  return (
    <Panel title="What it may do">
      <div className="panel-body">
        <KeyValues
          of={[
            ['May run', handlers === undefined ? notNamed : <Names key="h" of={handlers} />],
            ['In the queues', queues === undefined ? 'All' : <Names key="q" of={queues} />],
            ['At a time', String(slots ?? 1000)],
            permitted.length === 0 && reuse !== true && ['Its tasks may', NOTHING_PERMITTED],
            ...permitted.map(
              ([kind, entries]) => [`Permitted ${kind}`, <Names key={kind} of={entries ?? []} />] as const,
            ),
            reuse === true && ['Permitted', 'Kept results and unique keys of others'],
          ]}
        />
      </div>
    </Panel>
  );
}

function Names({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return <span className="quiet">None</span>;
  return (
    <span className="tags">
      {of.map((name) => (
        <span key={name} className="tag">
          {name}
        </span>
      ))}
    </span>
  );
}
