/** Panels of the worker drawer: the leases that the worker holds, and each of its processes. */

import type { Task, Worker } from '../../api.ts';
import { shortId } from '../../model/text.ts';
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
