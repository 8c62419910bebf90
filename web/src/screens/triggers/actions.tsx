/** What may be done with a trigger: fire it, turn it on and off, change it, give it another secret, remove it. */

import { useState } from 'react';
import { client, type Trigger } from '../../api.ts';
import { plural } from '../../model/text.ts';
import { go } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { runAction, showDone } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';
import { EditTrigger } from './edit-dialog.tsx';
import { FireDialog } from './fire-dialog.tsx';
import { SecretOnce } from './secret-once.tsx';

type DialogName = 'fire' | 'edit' | 'rotate' | 'remove';

export function Actions({ of: trigger, onChanged }: { readonly of: Trigger; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const [dialog, setDialog] = useState<DialogName>();
  if (!may) return null;
  const { name, enabled, kind, secret } = trigger;
  const close = (): void => setDialog(undefined);
  return (
    <div className="buttons">
      <Button small kind="primary" icon="push" onClick={() => setDialog('fire')}>
        Fire now
      </Button>
      <Button
        small
        icon={enabled ? 'pause' : 'play'}
        onClick={() =>
          runAction(
            () => client.call(enabled ? 'disableTrigger' : 'enableTrigger', { params: { name } }).then(onChanged),
            enabled
              ? `${name} is off: nothing fires it but somebody who asks for it.`
              : `${name} is on. What happened while it was off is not made up for.`,
          )
        }
      >
        {enabled ? 'Turn off' : 'Turn on'}
      </Button>
      <Button small icon="edit" onClick={() => setDialog('edit')}>
        Edit
      </Button>
      {kind === 'webhook' && secret !== 'variable' && (
        <Button small icon="key" onClick={() => setDialog('rotate')}>
          Rotate secret
        </Button>
      )}
      <Button small icon="trash" kind="danger" onClick={() => setDialog('remove')}>
        Remove
      </Button>
      {dialog === 'fire' && <FireDialog of={trigger} onClose={close} onDone={onChanged} />}
      {dialog === 'edit' && <EditTrigger of={trigger} onClose={close} onDone={onChanged} />}
      {dialog === 'rotate' && <RotateDialog of={trigger} onClose={close} onDone={onChanged} />}
      {dialog === 'remove' && <RemoveDialog of={trigger} onClose={close} onDone={onChanged} />}
    </div>
  );
}

interface DialogProps {
  readonly of: Trigger;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RotateDialog({ of: { name, secret }, onClose, onDone }: DialogProps) {
  const [made, setMade] = useState<string>();
  if (made !== undefined) return <SecretOnce name={name} secret={made} onClose={onClose} />;
  return (
    <FormDialog
      title={`Rotate the secret of ${name}`}
      submit="Make another secret"
      danger
      onClose={onClose}
      act={async () => {
        setMade((await client.call('rotateTrigger', { params: { name } })).newSecret);
        onDone();
        return false;
      }}
    >
      <p>
        The new one holds at once. Until its sender has it, deliveries are refused
        {secret === 'sealed' ? ', and the one that the sender has chosen is gone' : ''}.
      </p>
    </FormDialog>
  );
}

function RemoveDialog({ of: { name, kind, fired }, onClose, onDone }: DialogProps) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={`Remove ${name}`}
      submit="Remove the trigger"
      danger
      disabled={typed !== name}
      onClose={onClose}
      act={async () => {
        await client.call('removeTrigger', { params: { name } });
        showDone(`${name} is removed.`);
        onDone();
        go('/triggers');
      }}
    >
      <p>
        Its history of {plural(fired, 'delivery', 'deliveries')} goes{kind === 'webhook' && ', and so does its secret'}.
        The tasks and runs that it has started stay.
      </p>
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
