/** The dialog that gives a worker a new secret. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { Command } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';

export function RotateDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const [grace, setGrace] = useState('1h');
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return (
      <FormDialog title={`The new secret of ${name}`} submit="I have it" onClose={onClose} act={async () => undefined}>
        <div className="once">
          <p className="strong">Shown this once</p>
          <Command text={secret} />
        </div>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Rotate the secret of ${name}`}
      submit="Create a new secret"
      onClose={onClose}
      act={async () => {
        setSecret(
          (
            await client.call('rotateWorker', {
              params: { name },
              body: { grace: grace.trim() === '' ? 0 : grace.trim() },
            })
          ).secret,
        );
        return false;
      }}
    >
      <Field label="Grace" hint="How long the old secret still works. Empty: not at all">
        {(props) => (
          <input {...props} className="input short" value={grace} onChange={(event) => setGrace(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
