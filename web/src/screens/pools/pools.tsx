/** The screen of pools: how many workers each has and wants, and what keeps it from having them. */

import { useState } from 'react';
import type { Pool } from '../../api.ts';
import { courseText, poolState, staffText, startText } from '../../model/pool/words.ts';
import { asSentence } from '../../model/text.ts';
import { roughDuration } from '../../model/time.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { Time, useNow } from '../../ui/times.tsx';
import { EditPool } from './edit-dialog.tsx';
import { StaffBar } from './staff.tsx';
import { usePools } from './use-pool.ts';

export default function Pools() {
  const may = useMay('admin');
  const pools = usePools();
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title="Pools"
      about="How many workers there should be for some queues, and how they are started."
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a pool
          </Button>
        )
      }
    >
      <WhenLoaded of={pools}>
        {(data) =>
          data.pools.length === 0 ? (
            <div className="panel">
              <Empty icon="pools" title="No pools">
                <p>
                  A pool starts workers while tasks wait, never more than its most, and sends them home when they have
                  had none for a while.
                </p>
                <Command text="npx leasehold pools set papers --max 3" />
                <Command text={`npx leasehold push papers '{}' --handler echo`} />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Pool</th>
                    <th>Workers</th>
                    <th className="num">Desired</th>
                    <th className="num wide-only">Least and most</th>
                    <th className="num wide-only">Waiting</th>
                    <th className="wide-only">Queues, launcher</th>
                    <th className="wide-only wraps">Last problem, next check</th>
                  </tr>
                </thead>
                <tbody>
                  {data.pools.map((pool) => (
                    <Row key={pool.name} pool={pool} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {creating && <EditPool onClose={() => setCreating(false)} onDone={(name) => go(`/pools/${segment(name)}`)} />}
    </Page>
  );
}

function Row({ pool }: { readonly pool: Pool }) {
  const { name, now, policy, queues, launcher } = pool;
  const { state, label } = poolState(pool);
  const [first = '', ...others] = queues;
  return (
    <tr>
      <td className="named">
        <span className="stack tightest">
          <Link to={`/pools/${segment(name)}`} className="strong break">
            {name}
          </Link>
          <State state={state} label={label} />
        </span>
      </td>
      <td>
        <span className="stack tightest">
          <StaffBar of={pool} />
          <span className="quiet">{staffText(now)}</span>
        </span>
      </td>
      <td className="num">
        <b className="strong">{now.want}</b>
      </td>
      <td className="num wide-only nowrap">
        {policy.min} – {policy.max}
      </td>
      <td className="num wide-only nowrap" title={`${now.runnable} could start now, ${now.blocked} are held by limits`}>
        {now.runnable === 0 ? <span className="quiet">0</span> : now.runnable.toLocaleString('en')}
        {now.oldestAgeMs >= 1000 && <span className="quiet"> · {roughDuration(now.oldestAgeMs)}</span>}
      </td>
      <td className="wide-only pool-queues" title={queues.join(', ')}>
        <span className="cut-lines">{first}</span>
        {others.length > 0 && <span className="quiet">and {others.length} more</span>}
        <span className="quiet cut-lines">by {launcher.kind}</span>
      </td>
      <td className="wide-only">
        <span className="stack tightest">
          {(pool.problem === undefined || now.launch > 0 || now.drain > 0) && (
            <span className="quiet cut-lines" title={courseText(now)}>
              {courseText(now)}
            </span>
          )}
          <Problem of={pool} />
        </span>
      </td>
    </tr>
  );
}

function Problem({ of: { problem } }: { readonly of: Pool }) {
  const text = useNow((now) => (problem === undefined ? '' : startText(problem, now)));
  if (problem === undefined) return null;
  return (
    <>
      <span className="bad cut-lines" title={text}>
        {asSentence(text)}
      </span>
      <span className="quiet">
        <Time at={problem.at} />
      </span>
    </>
  );
}
