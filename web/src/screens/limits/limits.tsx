/** The screen of limits: the list, and the drawer of one limit. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Meter } from '../../ui/meters.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { isFull } from './bounds.ts';
import { EditDialog } from './edit-dialog.tsx';
import { LimitDrawer } from './limit-drawer.tsx';

export default function Limits({ name }: { readonly name: string | undefined }) {
  const may = useMay('operator');
  const limits = useResource('limits', (signal) => client.call('listLimits', { signal }), {
    everyMs: 2_000,
    on: ({ kind }) => kind === 'claimed' || kind === 'completed',
    atMostMs: 1_000,
  });
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title="Limits"
      about="How many tasks may run at once, or start in a period, in the whole cluster. Tasks over a limit wait and slow nothing else."
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a limit
          </Button>
        )
      }
    >
      <WhenLoaded of={limits}>
        {(data) =>
          data.limits.length === 0 ? (
            <div className="panel">
              <Empty icon="limits" title="No limits">
                <p>
                  A limit holds back tasks that name it: three at a time for an API, ten a minute, one for each
                  customer.
                </p>
                <Command text="npx leasehold limits set claude --concurrent 3" />
                <Command text={`npx leasehold push echo '{}' --limit claude`} />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th className="num">Limit</th>
                    <th className="num">Active</th>
                    <th>In use</th>
                    <th className="num">Waiting</th>
                    <th className="wide-only">Rate</th>
                    <th className="wide-only">Changed</th>
                  </tr>
                </thead>
                <tbody>
                  {data.limits.map((limit) => (
                    <tr key={limit.name}>
                      <td>
                        <Link to={`/limits/${segment(limit.name)}`} className="strong break">
                          {limit.name}
                        </Link>
                      </td>
                      <td className="num">
                        {limit.concurrent ?? '–'}
                        {limit.perKey !== undefined && <span className="quiet nowrap"> · {limit.perKey} per key</span>}
                      </td>
                      <td className="num">{limit.active}</td>
                      <td>
                        {limit.concurrent === undefined ? (
                          <span className="quiet">–</span>
                        ) : (
                          <span className="row">
                            <span className="in-use">
                              <Meter
                                value={limit.active}
                                max={limit.concurrent}
                                label={`${limit.active} of ${limit.concurrent}`}
                                tone={isFull(limit) ? 's-attention' : 's-running'}
                              />
                            </span>
                            {isFull(limit) && <State state="paused" label="at limit" />}
                          </span>
                        )}
                      </td>
                      <td className="num">
                        {limit.waiting === 0 ? <span className="quiet">0</span> : limit.waiting.toLocaleString('en')}
                      </td>
                      <td className="wide-only nowrap">
                        {limit.rate === undefined ? (
                          <span className="quiet">–</span>
                        ) : (
                          `${limit.rate.max} in ${limit.rate.window}${limit.rate.perKey ? ' per key' : ''}`
                        )}
                      </td>
                      <td className="wide-only quiet nowrap">
                        <Time at={limit.changedAt} /> by {limit.changedBy}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {creating && <EditDialog onClose={() => setCreating(false)} onDone={limits.refresh} />}
      {name !== undefined && <LimitDrawer key={name} name={name} onChanged={limits.refresh} />}
    </Page>
  );
}
