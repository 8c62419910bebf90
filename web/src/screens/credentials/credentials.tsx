/** The screen of credentials: which there are, who may hold each, and which worker holds which version. */

import { useState } from 'react';
import type { Credential } from '../../api.ts';
import { choiceText, standing } from '../../model/credential/words.ts';
import { go, Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { CredentialDrawer } from './credential-drawer.tsx';
import { SetCredential } from './set-dialog.tsx';
import { useCredentials } from './use-credentials.ts';

export default function Credentials({ name }: { readonly name: string | undefined }) {
  return useMay('admin') ? (
    <AdminCredentials name={name} />
  ) : (
    <Page title="Credentials">
      <Empty icon="key" title="Only an admin sees credentials">
        <p>Log in with a token of the role admin.</p>
      </Empty>
    </Page>
  );
}

function AdminCredentials({ name }: { readonly name: string | undefined }) {
  const credentials = useCredentials(true);
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title="Credentials"
      about="Secrets for chosen workers. A task that needs one runs where it is held. A value goes in, and no page shows it again."
      actions={
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create a credential
        </Button>
      }
    >
      <WhenLoaded of={credentials}>
        {(data) =>
          data.credentials.length === 0 ? (
            <div className="panel">
              <Empty icon="key" title="No credentials">
                <p>
                  A credential is stored once, sealed, and goes to the workers that you choose. Handlers read it by its
                  name; it is in no task, log or event.
                </p>
                <Command text="npx leasehold credentials set github --worker gpu-box < token.txt" />
              </Empty>
            </div>
          ) : (
            <div className="panel table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Credential</th>
                    <th className="num">Version</th>
                    <th className="wide-only">Who may hold it</th>
                    <th className="wide-only">Demanded</th>
                    <th>State</th>
                    <th className="wide-only">Changed</th>
                  </tr>
                </thead>
                <tbody>
                  {data.credentials.map((credential) => (
                    <Row key={credential.name} of={credential} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </WhenLoaded>
      {creating && (
        <SetCredential
          onClose={() => setCreating(false)}
          onDone={(made) => {
            credentials.refresh();
            go(`/credentials/${segment(made)}`);
          }}
        />
      )}
      {name !== undefined && <CredentialDrawer key={name} name={name} onChanged={credentials.refresh} />}
    </Page>
  );
}

function Row({ of: credential }: { readonly of: Credential }) {
  const { name, version, kind, type, level, changedAt } = credential;
  const { state, label } = standing(credential);
  return (
    <tr>
      <td>
        <span className="stack tightest">
          <Link to={`/credentials/${segment(name)}`} className="strong break">
            {name}
          </Link>
          <span className="quiet">{kind === 'text' ? 'text' : (type ?? 'fields')}</span>
        </span>
      </td>
      <td className="num">{version}</td>
      <td className="wide-only">
        <span className="cut-lines" title={choiceText(credential)}>
          {choiceText(credential)}
        </span>
      </td>
      <td className="wide-only">{level ?? <span className="quiet">none</span>}</td>
      <td>
        <State state={state} label={label} />
      </td>
      <td className="wide-only quiet">
        <Time at={changedAt} />
      </td>
    </tr>
  );
}
