/** The screen of releases: which one workers should run, which they do, and what their updaters say. */

import { useState } from 'react';
import { client, type Upgrade } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { policyText, standing } from '../../model/workers/release.ts';
import { Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { PolicyDialog } from './policy-dialog.tsx';

type Row = Upgrade['workers'][number];

export default function Releases() {
  const admin = useMay('admin');
  const upgrade = useResource('upgrade', (signal) => client.call('getUpgrade', { signal }), {
    everyMs: 3_000,
    on: ({ kind }) => kind === 'registered',
  });
  const [editing, setEditing] = useState(false);
  return (
    <Page
      title="Releases"
      crumb={
        <Link to="/workers" className="crumb">
          Workers
        </Link>
      }
      about="Which release workers should run. Each ends its tasks first, is away for about a second, and goes back if the new one does not connect."
      actions={
        admin && (
          <Button kind="primary" icon="edit" disabled={upgrade.data === undefined} onClick={() => setEditing(true)}>
            Change the policy
          </Button>
        )
      }
    >
      <WhenLoaded of={upgrade}>
        {(data) => (
          <>
            <Panel title="Policy">
              <div className="panel-body">{policyText(data)}</div>
            </Panel>
            <Workers rows={data.workers} />
            {editing && <PolicyDialog of={data} onClose={() => setEditing(false)} onDone={upgrade.refresh} />}
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function Workers({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <Panel title="Workers" count={rows.length}>
      {rows.length === 0 ? (
        <Empty icon="workers" title="No workers">
          <p>
            A worker that was installed by a node upgrades itself. This makes one, and prints the line that installs it:
          </p>
          <Command text={`npx leasehold workers create gpu-box --install ${location.origin}`} />
        </Empty>
      ) : (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th>Worker</th>
                <th>Release</th>
                <th className="wide-only">Protocol</th>
                <th>State</th>
                <th className="wide-only">Updater</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Worker key={row.name} of={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Worker({ of: row }: { readonly of: Row }) {
  const { name, version, protocol, updater } = row;
  const { state, label } = standing(row);
  return (
    <tr>
      <td>
        <Link to={`/workers/${segment(name)}`} className="strong break">
          {name}
        </Link>
      </td>
      <td>{version ?? <span className="quiet">–</span>}</td>
      <td className="wide-only">{protocol === undefined ? <span className="quiet">–</span> : protocol.join(' to ')}</td>
      <td>
        <span className="stack tightest">
          <State state={state} label={label} />
          {updater?.problem !== undefined && <span className="bad break">{updater.problem}</span>}
        </span>
      </td>
      <td className="wide-only">
        {updater === undefined ? <span className="quiet">none</span> : updater.state}
        {updater?.until !== undefined && (
          <span className="quiet">
            {' '}
            until <Time at={updater.until} />
          </span>
        )}
      </td>
    </tr>
  );
}
