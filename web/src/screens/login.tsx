/** The login page. */

import { type FormEvent, useState } from 'react';
import { errorText, isRefusal } from '../api.ts';
import { logIn } from '../session.ts';
import { Button, Command } from '../ui/buttons.tsx';
import { Field } from '../ui/fields.tsx';
import { Icon } from '../ui/icon.tsx';
import { ErrorNote, Notice } from '../ui/states.tsx';

export function Login({ problem }: { readonly problem?: unknown }) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = (event: FormEvent): void => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    logIn({ token: token.trim() }).catch((thrown: unknown) => {
      setError(isRefusal(thrown, 'UNAUTHENTICATED') ? new Error('This token is unknown or no longer valid.') : thrown);
      setBusy(false);
    });
  };
  return (
    <main className="login">
      <div className="sheet">
        <header className="sheet-head">
          <Icon name="key" />
          <h1 className="grow">Leasehold</h1>
        </header>
        <form className="sheet-body" onSubmit={send}>
          {problem !== undefined && error === undefined && <Notice>{errorText(problem)}</Notice>}
          {error !== undefined && <ErrorNote error={error} />}
          <div className="stack tight">
            <p className="strong">By a link</p>
            <p className="ink-2">Run this on the host of the node. It prints a link that works once:</p>
            <Command text="npx leasehold login" />
          </div>
          <Field
            label="Or by a token"
            hint={
              <>
                The admin token is in <code>.leasehold/token</code>, in the folder of the node.
              </>
            }
          >
            {(props) => (
              <input
                {...props}
                className="input mono"
                type="password"
                autoComplete="current-password"
                value={token}
                onChange={(event) => setToken(event.target.value)}
              />
            )}
          </Field>
          <Button type="submit" kind="primary" busy={busy} disabled={token.trim() === ''}>
            Log in
          </Button>
        </form>
      </div>
    </main>
  );
}
