/** The panel of tokens, for admins. */

import { useState } from 'react';
import { client, type Token } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/layout.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { Countdown, Time } from '../../ui/times.tsx';
import { RotateDialog, TokenDialog } from './token-dialogs.tsx';

export function Tokens() {
  const tokens = useResource('tokens', (signal) => client.call('listTokens', { signal }), { everyMs: 15_000 });
  const [creating, setCreating] = useState(false);
  const [dialog, setDialog] = useState<{ readonly what: 'rotate' | 'revoke'; readonly token: Token }>();
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
      <WhenLoaded of={tokens}>
        {(data) =>
          data.tokens.length === 0 ? (
            <div className="panel-body quiet">
              The admin token of the node is the only one. Create one for each program, with the smallest role that it
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
                    <th className="wide-only">Prefix</th>
                    <th className="wide-only">Created</th>
                    <th>Last used</th>
                    <th>State</th>
                    <th>
                      <span className="sr">Actions</span>
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
                          {(token.lastUsedAt ?? token.usedAt) === undefined ? (
                            <span className="quiet">never</span>
                          ) : (
                            <Time at={(token.lastUsedAt ?? token.usedAt) as number} />
                          )}
                        </td>
                        <td className="nowrap">
                          {token.revokedAt !== undefined ? (
                            <State state="cancelled" label="revoked" />
                          ) : over ? (
                            <State state="offline" label="expired" />
                          ) : token.expiresAt === undefined ? (
                            <State state="online" label="valid" />
                          ) : (
                            <span>
                              valid for <Countdown to={token.expiresAt} />
                            </span>
                          )}
                        </td>
                        <td>
                          <span className="row">
                            {!over && token.kind === 'bearer' && (
                              <Button small onClick={() => setDialog({ what: 'rotate', token })}>
                                Rotate
                              </Button>
                            )}
                            {!over && (
                              <Button small kind="danger" onClick={() => setDialog({ what: 'revoke', token })}>
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
      </WhenLoaded>
      {creating && (
        <TokenDialog
          onClose={() => {
            setCreating(false);
            tokens.refresh();
          }}
        />
      )}
      {dialog?.what === 'rotate' && (
        <RotateDialog
          token={dialog.token}
          onClose={() => {
            setDialog(undefined);
            tokens.refresh();
          }}
        />
      )}
      {dialog?.what === 'revoke' && (
        <FormDialog
          title={`Revoke ${dialog.token.name}`}
          submit="Revoke the token"
          danger
          onClose={() => setDialog(undefined)}
          act={() => client.call('revokeToken', { params: { id: dialog.token.id } }).then(tokens.refresh)}
        >
          <p>The token is refused within a second. Connections that use it are closed.</p>
        </FormDialog>
      )}
    </Panel>
  );
}
