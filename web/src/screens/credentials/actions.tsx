/** What may be done with a credential: another value, more workers, the end of it. */

import { useState } from 'react';
import { type Credential, client } from '../../api.ts';
import { holderState } from '../../model/credential/words.ts';
import { plural } from '../../model/text.ts';
import { go } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';
import { GrantCredential } from './grant-dialog.tsx';
import { SetCredential } from './set-dialog.tsx';

type DialogName = 'set' | 'grant' | 'remove';

export function Actions({ of: credential, onChanged }: { readonly of: Credential; readonly onChanged: () => void }) {
  const [dialog, setDialog] = useState<DialogName>();
  const close = (): void => setDialog(undefined);
  return (
    <div className="buttons">
      <Button small kind="primary" icon="key" onClick={() => setDialog('set')}>
        New value
      </Button>
      <Button small icon="plus" onClick={() => setDialog('grant')}>
        Give to workers
      </Button>
      <Button small icon="trash" kind="danger" onClick={() => setDialog('remove')}>
        Remove
      </Button>
      {dialog === 'set' && <SetCredential of={credential} onClose={close} onDone={onChanged} />}
      {dialog === 'grant' && <GrantCredential of={credential} onClose={close} onDone={onChanged} />}
      {dialog === 'remove' && <RemoveDialog of={credential} onClose={close} onDone={onChanged} />}
    </div>
  );
}

function RemoveDialog({
  of: { name, holders },
  onClose,
  onDone,
}: {
  readonly of: Credential;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [typed, setTyped] = useState('');
  const held = holders.filter((holder) => holderState(holder) !== 'offline').length;
  return (
    <FormDialog
      title={`Remove ${name}`}
      submit="Remove the credential"
      danger
      disabled={typed !== name}
      onClose={onClose}
      act={async () => {
        await client.call('removeCredential', { params: { name } });
        showDone(`${name} is removed.`);
        onDone();
        go('/credentials');
      }}
    >
      <p>
        Its value is gone from here at once, and from {plural(held, 'worker')} as soon as each hears of it. Tasks that
        need it wait until there is one of this name again.
      </p>
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
