/** The drawer that explains the state of a task: the verdict of every worker and every limit, from the code that hands out work. */

import { client, type Explanation } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Link, segment } from '../../router.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { StateGlyph } from '../../ui/icon.tsx';
import { Meter } from '../../ui/meters.tsx';
import { Notice, State, WhenLoaded } from '../../ui/states.tsx';
import { Countdown } from '../../ui/times.tsx';

export function ExplainDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const explained = useResource(`explain ${id}`, (signal) => client.call('explainTask', { params: { id }, signal }), {
    everyMs: 3_000,
    on: (event) => event.task === id,
  });
  return (
    <Drawer title="Explanation" onClose={onClose}>
      <WhenLoaded of={explained}>
        {(data) => (
          <>
            <Notice tone={data.state}>
              <p className="strong">{data.summary}</p>
            </Notice>
            {data.reasons.length > 0 && (
              <ul className="stack tight ink-2">
                {data.reasons.map((reason) => (
                  <li key={reason}>{reason}</li>
                ))}
              </ul>
            )}
            {data.limits.length > 0 && <Limits of={data} />}
            {data.dependencies.length > 0 && <Dependencies of={data} />}
            {(data.workers.length > 0 || data.state === 'ready') && <Workers of={data} />}
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}

function Limits({ of: { limits } }: { readonly of: Explanation }) {
  return (
    <section className="stack tight">
      <h3>Limits</h3>
      <ul className="verdicts">
        {limits.map(({ name, key, used, cap, holders, freesAt, open }) => (
          <li key={`${name} ${key ?? ''}`} className={open ? 's-completed' : 's-failed'}>
            <StateGlyph state={open ? 'completed' : 'paused'} />
            <div className="stack tight">
              <div className="row apart">
                <Link to={`/limits/${segment(name)}`} className="link break">
                  {name}
                  {key === undefined ? '' : ` / ${key}`}
                </Link>
                <span className="nowrap">
                  {open ? 'has room' : 'is full'} · {used}
                  {cap === undefined ? '' : ` of ${cap}`}
                </span>
              </div>
              {cap !== undefined && (
                <Meter value={used} max={cap} label={`${name}: ${used} of ${cap}`} tone={open ? '' : 's-failed'} />
              )}
              {holders.length > 0 && (
                <p className="quiet">
                  Held by{' '}
                  {holders.slice(0, 8).map((holder, i) => (
                    <span key={holder}>
                      {i > 0 && ', '}
                      {holder.startsWith('task_') ? (
                        <Link to={`/tasks/${segment(holder)}`} className="link mono">
                          {holder.slice(-8)}
                        </Link>
                      ) : (
                        holder
                      )}
                    </span>
                  ))}
                  {holders.length > 8 && ` and ${holders.length - 8} more`}
                </p>
              )}
              {freesAt !== undefined && (
                <p className="quiet">
                  Has room again in <Countdown to={freesAt} over="a moment" />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Dependencies({ of: { dependencies } }: { readonly of: Explanation }) {
  return (
    <section className="stack tight">
      <h3>Dependencies</h3>
      <ul className="verdicts">
        {dependencies.map(({ taskId, state, optional }) => (
          <li key={taskId} className={`s-${state}`}>
            <StateGlyph state={state} />
            <span className="row wrap">
              <Link to={`/tasks/${segment(taskId)}`} className="link mono break">
                {taskId}
              </Link>
              <span>
                {state}
                {optional ? ', any final state is enough' : ''}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Workers({ of: { workers } }: { readonly of: Explanation }) {
  const sorted = [...workers].sort((a, b) => Number(b.eligible) - Number(a.eligible));
  return (
    <section className="stack tight">
      <h3>Workers</h3>
      {workers.length === 0 && (
        <p className="quiet">
          There are none. <code>leasehold worker</code> starts one.
        </p>
      )}
      <ul className="verdicts">
        {sorted.slice(0, 200).map(({ name, eligible, reasons }, i) => (
          <li key={`${name} ${i}`} className={eligible ? 's-completed' : 's-cancelled'}>
            <StateGlyph state={eligible ? 'completed' : 'cancelled'} />
            <div>
              <div className="row apart">
                <Link to={`/workers/${segment(name)}`} className="link break">
                  {name}
                </Link>
                <State state={eligible ? 'completed' : 'cancelled'} label={eligible ? 'may run it' : 'may not'} />
              </div>
              {reasons.map((reason) => (
                <p key={reason} className="quiet break">
                  {reason}
                </p>
              ))}
            </div>
          </li>
        ))}
      </ul>
      {workers.length > 200 && <p className="quiet">{workers.length - 200} more are not listed.</p>}
    </section>
  );
}
