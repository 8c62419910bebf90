/** The screen of the cluster: nodes, duties, store. */

import { type Cluster as ClusterData, client } from '../api.ts';
import { useResource } from '../live/resource.ts';
import { duration } from '../model/time.ts';
import { useMay, useMe } from '../session.ts';
import { Command } from '../ui/buttons.tsx';
import { Icon } from '../ui/icon.tsx';
import { KeyValues, Page, Panel } from '../ui/layout.tsx';
import { Notice, State, WhenLoaded } from '../ui/states.tsx';
import { Countdown, Time } from '../ui/times.tsx';
import { runAction } from '../ui/toast.tsx';

const STORES: Readonly<Record<string, string>> = {
  sqlite: 'One SQLite file. Nodes on this host can share it. Several hosts need Postgres.',
  postgres: 'Postgres. Any number of nodes on any hosts form one cluster.',
  memory: 'In memory. It is lost when the process ends.',
};

export default function Cluster() {
  const me = useMe();
  const cluster = useResource(
    'cluster',
    (signal) => client.call('getCluster', { signal }).then((data) => ({ ...data, lookedAt: Date.now() })),
    { everyMs: 2_000 },
  );
  return (
    <Page
      title="Cluster"
      about="The nodes on this store. Every node takes every call. One node leads and does the housekeeping."
    >
      <WhenLoaded of={cluster}>
        {(data) => (
          <>
            {data.leader === undefined && (
              <Notice>
                No node leads at this moment. Tasks still run. Expired leases, schedules and pruning wait for the next
                leader.
              </Notice>
            )}
            <Nodes of={data} />
            <div className="cols">
              <Duties of={data} />
              <Panel title="Store">
                <div className="panel-body stack">
                  <KeyValues
                    of={[
                      ['Kind', data.store],
                      ['This node', me.node.address],
                      ['Version', me.node.version],
                      ['Up since', <Time key="u" at={me.node.startedAt} />],
                      ['Epoch', data.leader?.epoch ?? '–'],
                    ]}
                  />
                  <p className="quiet">{STORES[data.store] ?? ''}</p>
                  {data.store === 'sqlite' && <Command text="npx leasehold migrate --help" />}
                </div>
              </Panel>
            </div>
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function Nodes({ of: { nodes, leader } }: { readonly of: ClusterData }) {
  const may = useMay('operator');
  return (
    <Panel title="Nodes" count={nodes.length}>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th>Node</th>
              <th>State</th>
              <th>Role</th>
              <th className="wide-only">Since</th>
              <th className="wide-only">Started as</th>
              {may && <th>Role override</th>}
              <th className="num">Silent for</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node) => (
              <tr key={node.id}>
                <td>
                  <span className="worker-line" style={{ minWidth: 170 }}>
                    <span className="strong break">{node.address ?? node.host ?? node.id}</span>
                    <span className="quiet mono break">
                      {node.id}
                      {node.version === undefined ? '' : ` · ${node.version}`}
                      {node.pid === undefined ? '' : ` · pid ${node.pid}`}
                    </span>
                  </span>
                </td>
                <td>
                  <State state={node.state} />
                </td>
                <td className="nowrap">
                  <span className="row">
                    {leader?.node === node.id && <Icon name="leader" size={14} />}
                    {node.role}
                  </span>
                </td>
                <td className="wide-only nowrap">{node.roleSince !== undefined && <Time at={node.roleSince} />}</td>
                <td className="wide-only">{node.wish}</td>
                {may && (
                  <td>
                    <select
                      className="input"
                      style={{ width: 'auto', minHeight: 28 }}
                      aria-label={`Role override of ${node.id}`}
                      value={node.override}
                      disabled={node.registered === true || node.state === 'left' || node.state === 'dead'}
                      onChange={(event) =>
                        runAction(
                          () =>
                            client.call('editNode', {
                              params: { id: node.id },
                              body: { role: event.target.value as 'auto' },
                            }),
                          'Role requested. The node takes it within two seconds.',
                        )
                      }
                    >
                      <option value="auto">as started</option>
                      <option value="worker">worker</option>
                      <option value="observer">observer</option>
                      <option value="leader">leader</option>
                    </select>
                  </td>
                )}
                <td className="num quiet">{duration(node.silentMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Duties({ of: { duties, lookedAt } }: { readonly of: ClusterData & { readonly lookedAt: number } }) {
  return (
    <Panel title="Duties" count={duties.length}>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th>Duty</th>
              <th>Held by</th>
              <th className="num">Epoch</th>
              <th className="num">Lease</th>
            </tr>
          </thead>
          <tbody>
            {duties.map(({ name, holder, epoch, expiresInMs }) => (
              <tr key={name}>
                <td className="strong">{name}</td>
                <td className="mono break">{holder ?? <span className="warn">nobody</span>}</td>
                <td className="num">{epoch}</td>
                <td className="num">
                  {holder === undefined ? '–' : <Countdown to={lookedAt + expiresInMs} over="0s" />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
