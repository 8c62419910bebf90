import { useState } from 'react';
import { client, type Token } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { useSignal } from '../../live/signal.ts';
import { duration } from '../../model/time.ts';
import { logOut, useMay, useMe } from '../../session.ts';
import { setTheme, type Theme, theme } from '../../theme.ts';
import {
  Awaited,
  Button,
  Command,
  Countdown,
  Field,
  KeyValues,
  Page,
  Panel,
  Segmented,
  State,
  Time,
} from '../../ui/basic.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { tellError } from '../../ui/toast.tsx';

export default function Settings() {
  const me = useMe();
  const admin = useMay('admin');
  const look = useSignal(theme);
  const { leaseMs, retentionMs, workerStaleMs } = me.settings;
  return (
    <Page title="Settings">
      <div className="cols">
        <Panel
          title="You"
          actions={
            <Button small icon="out" onClick={() => void logOut()}>
              Log out
            </Button>
          }
        >
          <div className="panel-body stack">
            <KeyValues
              of={[
                ['Name', me.name],
                [
                  'Role',
                  <span key="r">
                    {me.role}
                    {me.role === 'read' && ': you may look'}
                  </span>,
                ],
                ['Node', me.node.address],
              ]}
            />
            <div className="row wrap">
              <span className="quiet">Theme</span>
              <Segmented<Theme>
                label="Theme"
                value={look}
                onChange={setTheme}
                options={[
                  { value: 'system', label: 'System' },
                  { value: 'light', label: 'Light' },
                  { value: 'dark', label: 'Dark' },
                ]}
              />
            </div>
            <LoginLink />
          </div>
        </Panel>
        <Panel title="How this node works">
          <div className="panel-body stack">
            <KeyValues
              of={[
                [
                  'Lease',
                  <span key="l">
                    {duration(leaseMs)}{' '}
                    <span className="quiet">without a word, then a task goes to another worker</span>
                  </span>,
                ],
                [
                  'Retention',
                  <span key="r">
                    {retentionMs === 0 ? 'for ever' : duration(retentionMs)}{' '}
                    <span className="quiet">after its end a task is forgotten</span>
                  </span>,
                ],
                [
                  'Worker lost',
                  <span key="w">
                    {duration(workerStaleMs)} <span className="quiet">without a beat</span>
                  </span>,
                ],
                ['Store', me.node.store],
                ['Version', me.node.version],
                ['Up since', <Time key="u" at={me.node.startedAt} />],
              ]}
            />
            <p className="quiet">
              These are options of the command that starts a node: <code>leasehold up --help</code> has all of them.
            </p>
          </div>
        </Panel>
      </div>
      {admin && <Tokens />}
    </Page>
  );
}

function LoginLink() {
  const [link, setLink] = useState<{ readonly url: string; readonly expiresAt: number }>();
  if (link === undefined)
    return (
      <div>
        <Button small icon="link" onClick={() => void client.call('createLogin').then(setLink, tellError)}>
          Make a login link
        </Button>{' '}
        <span className="quiet">for another browser or a phone</span>
      </div>
    );
  return (
    <div className="once">
      <p className="strong">
        Lets a browser in once, as you, for <Countdown to={link.expiresAt} over="no longer" />
      </p>
      <Command text={link.url} />
    </div>
  );
}

function Tokens() {
  const tokens = useResource('tokens', (signal) => client.call('listTokens', { signal }), { everyMs: 15_000 });
  const [creating, setCreating] = useState(false);
  const [asking, setAsking] = useState<{ readonly what: 'rotate' | 'revoke'; readonly token: Token }>();
  return (
    <Panel
      title="Tokens"
      count={tokens.data?.tokens.length}
      actions={
        <Button small icon="plus" onClick={() => setCreating(true)}>
          Create a token
        </Button>
      }
    >
      <Awaited of={tokens}>
        {(data) =>
          data.tokens.length === 0 ? (
            <div className="panel-body quiet">
              Only the admin token of the node is there. Make one for each program, with no more than the role that it
              needs.
            </div>
          ) : (
            <div className="table-wrap">
              <table className="table">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Role</th>
                    <th className="wide-only">Kind</th>
                    <th className="wide-only">Begins</th>
                    <th className="wide-only">Created</th>
                    <th>Used</th>
                    <th>State</th>
                    <th>
                      <span className="sr">What to do</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.tokens.map((token) => {
                    const over =
                      token.revokedAt !== undefined || (token.expiresAt !== undefined && token.expiresAt <= Date.now());
                    return (
                      <tr key={token.id}>
                        <td className="strong break">{token.name}</td>
                        <td>{token.role}</td>
                        <td className="wide-only">{token.kind}</td>
                        <td className="wide-only mono quiet">{token.prefix}…</td>
                        <td className="wide-only quiet nowrap">
                          <Time at={token.createdAt} /> by {token.by}
                        </td>
                        <td className="nowrap">
                          {token.usedAt === undefined ? (
                            <span className="quiet">never</span>
                          ) : (
                            <Time at={token.usedAt} />
                          )}
                        </td>
                        <td className="nowrap">
                          {token.revokedAt !== undefined ? (
                            <State state="cancelled" label="revoked" />
                          ) : over ? (
                            <State state="offline" label="over" />
                          ) : token.expiresAt === undefined ? (
                            <State state="online" label="good" />
                          ) : (
                            <span>
                              good for <Countdown to={token.expiresAt} />
                            </span>
                          )}
                        </td>
                        <td>
                          <span className="row">
                            {!over && token.kind === 'bearer' && (
                              <Button small onClick={() => setAsking({ what: 'rotate', token })}>
                                Rotate
                              </Button>
                            )}
                            {!over && (
                              <Button small kind="danger" onClick={() => setAsking({ what: 'revoke', token })}>
                                Revoke
                              </Button>
                            )}
                          </span>
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          )
        }
      </Awaited>
      {creating && (
        <TokenDialog
          onClose={() => {
            setCreating(false);
            tokens.refresh();
          }}
        />
      )}
      {asking?.what === 'rotate' && (
        <RotateDialog
          token={asking.token}
          onClose={() => {
            setAsking(undefined);
            tokens.refresh();
          }}
        />
      )}
      {asking?.what === 'revoke' && (
        <FormDialog
          title={`Revoke ${asking.token.name}`}
          submit="Revoke the token"
          danger
          onClose={() => setAsking(undefined)}
          act={() => client.call('revokeToken', { params: { id: asking.token.id } }).then(tokens.refresh)}
        >
          <p>It is refused within a second, and connections that live by it are closed.</p>
        </FormDialog>
      )}
    </Panel>
  );
}

function Shown({
  title,
  text,
  onClose,
}: {
  readonly title: string;
  readonly text: string;
  readonly onClose: () => void;
}) {
  return (
    <FormDialog title={title} submit="I have it" onClose={onClose} act={async () => undefined}>
      <div className="once">
        <p className="strong">Shown this once</p>
        <Command text={text} />
      </div>
    </FormDialog>
  );
}

function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<'admin' | 'operator' | 'read'>('operator');
  const [ttl, setTtl] = useState('');
  const [made, setMade] = useState<string>();
  if (made !== undefined) return <Shown title={`The token ${name}`} text={made} onClose={onClose} />;
  return (
    <FormDialog
      title="Create a token"
      submit="Create it"
      disabled={name.trim() === ''}
      onClose={onClose}
      act={async () => {
        setMade(
          (
            await client.call('createToken', {
              body: { name: name.trim(), role, ...(ttl.trim() === '' ? {} : { ttl: ttl.trim() }) },
            })
          ).token,
        );
        return false;
      }}
    >
      <Field label="Name" hint="What it is for">
        {(props) => (
          <input
            {...props}
            className="input"
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="ci"
            autoComplete="off"
          />
        )}
      </Field>
      <Field
        label="Role"
        hint={
          role === 'read' ? 'Looks, and changes nothing' : role === 'operator' ? 'Everything but tokens' : 'Everything'
        }
      >
        {(props) => (
          <select
            {...props}
            className="input"
            value={role}
            onChange={(event) => setRole(event.target.value as typeof role)}
          >
            <option value="read">read</option>
            <option value="operator">operator</option>
            <option value="admin">admin</option>
          </select>
        )}
      </Field>
      <Field label="Good for" hint="90d, 12h; empty: until it is revoked">
        {(props) => (
          <input {...props} className="input short" value={ttl} onChange={(event) => setTtl(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}

function RotateDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const [grace, setGrace] = useState('1h');
  const [made, setMade] = useState<string>();
  if (made !== undefined) return <Shown title={`The new token ${token.name}`} text={made} onClose={onClose} />;
  return (
    <FormDialog
      title={`Rotate ${token.name}`}
      submit="Make another"
      onClose={onClose}
      act={async () => {
        setMade(
          (
            await client.call('rotateToken', {
              params: { id: token.id },
              body: { grace: grace.trim() === '' ? 0 : grace.trim() },
            })
          ).token,
        );
        return false;
      }}
    >
      <Field label="Grace" hint="How long the old one is good besides; empty: not at all">
        {(props) => (
          <input {...props} className="input short" value={grace} onChange={(event) => setGrace(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
