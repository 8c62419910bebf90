/** The dialogs that create and rotate a token, and show the new one once. */

import { useState } from 'react';
import { client, type Token } from '../../api.ts';
import { Command } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';

function NewTokenDialog({
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

export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<'admin' | 'operator' | 'read'>('operator');
  const [ttl, setTtl] = useState('');
  const [newToken, setNewToken] = useState<string>();
  if (newToken !== undefined) return <NewTokenDialog title={`The token ${name}`} text={newToken} onClose={onClose} />;
  return (
    <FormDialog
      title="Create a token"
      submit="Create the token"
      disabled={name.trim() === ''}
      onClose={onClose}
      act={async () => {
        setNewToken(
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
          role === 'read'
            ? 'Reads everything, changes nothing'
            : role === 'operator'
              ? 'Everything but tokens'
              : 'Everything'
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
      <Field label="Valid for" hint="90d, 12h. Empty: until it is revoked">
        {(props) => (
          <input {...props} className="input short" value={ttl} onChange={(event) => setTtl(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}

export function RotateDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const [grace, setGrace] = useState('1h');
  const [newToken, setNewToken] = useState<string>();
  if (newToken !== undefined)
    return <NewTokenDialog title={`The new token ${token.name}`} text={newToken} onClose={onClose} />;
  return (
    <FormDialog
      title={`Rotate ${token.name}`}
      submit="Create a new token"
      onClose={onClose}
      act={async () => {
        setNewToken(
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
      <Field label="Grace" hint="How long the old token still works. Empty: not at all">
        {(props) => (
          <input {...props} className="input short" value={grace} onChange={(event) => setGrace(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
