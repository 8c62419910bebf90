/** What may be done with a pool: check it, try another policy, turn it off and on, change it, remove it. */

import { useState } from 'react';
import { client, type Pool } from '../../api.ts';
import { checkedText } from '../../model/pool/words.ts';
import { plural } from '../../model/text.ts';
import { go } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone, showError } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';
import { DryRunDialog } from './dry-run-dialog.tsx';
import { EditPool } from './edit-dialog.tsx';
import { keptBody } from './kept.ts';

type DialogName = 'dry' | 'edit' | 'turn' | 'remove';

export function Actions({ of: pool, onChanged }: { readonly of: Pool; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const mayWrite = useMay('admin');
  const [dialog, setDialog] = useState<DialogName>();
  const [busy, setBusy] = useState(false);
  if (!may) return null;
  const close = (): void => setDialog(undefined);
  const check = (): void => {
    setBusy(true);
    client
      .call('checkPool', { params: { name: pool.name }, body: {} })
      .then((checked) => {
        const { wrong, text } = checkedText(checked);
        if (wrong) showError(text);
        else showDone(text);
      }, showError)
      .finally(() => {
        setBusy(false);
        onChanged();
      });
  };
  return (
    <>
      <Button icon="play" kind="primary" busy={busy} onClick={check}>
        Check now
      </Button>
      <Button icon="search" onClick={() => setDialog('dry')}>
        Dry run
      </Button>
      {mayWrite && (
        <>
          <Button icon={pool.enabled ? 'pause' : 'play'} onClick={() => setDialog('turn')}>
            {pool.enabled ? 'Turn off' : 'Turn on'}
          </Button>
          <Button icon="edit" onClick={() => setDialog('edit')}>
            Edit
          </Button>
          <Button icon="trash" kind="danger" onClick={() => setDialog('remove')}>
            Remove
          </Button>
        </>
      )}
      {dialog === 'dry' && <DryRunDialog of={pool} onClose={close} onDone={onChanged} />}
      {dialog === 'edit' && <EditPool of={pool} onClose={close} onDone={onChanged} />}
      {dialog === 'turn' && <TurnDialog of={pool} onClose={close} onDone={onChanged} />}
      {dialog === 'remove' && <RemoveDialog of={pool} onClose={close} />}
    </>
  );
}

interface DialogProps {
  readonly of: Pool;
  readonly onClose: () => void;
}

function TurnDialog({ of: pool, onClose, onDone }: DialogProps & { readonly onDone: () => void }) {
  const { name, enabled, now } = pool;
  // What the dialog says was read then; if somebody changes the pool meanwhile, the node refuses.
  const [body] = useState(() => ({ ...keptBody(pool), enabled: !enabled }));
  return (
    <FormDialog
      title={`Turn ${name} ${enabled ? 'off' : 'on'}`}
      submit={enabled ? 'Turn the pool off' : 'Turn the pool on'}
      danger={enabled}
      onClose={onClose}
      act={async () => {
        await client.call('putPool', { body: body as never });
        showDone(`${name} is ${enabled ? 'off' : 'on'}.`);
        onDone();
      }}
    >
      {enabled ? (
        <p>
          It starts nobody more. {plural(now.idle, 'idle worker')} {now.idle === 1 ? 'is' : 'are'} sent home, and{' '}
          {plural(now.busy, 'busy worker')} {now.busy === 1 ? 'goes' : 'go'} when{' '}
          {now.busy === 1 ? 'it has' : 'they have'} no task any more. Tasks wait until it is on again.
        </p>
      ) : (
        <p>It starts workers again as its policy says: {plural(now.runnable, 'task')} could start now.</p>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ of: { name, now }, onClose }: DialogProps) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={`Remove ${name}`}
      submit="Remove the pool"
      danger
      disabled={typed !== name}
      onClose={onClose}
      act={async () => {
        await client.call('removePool', { params: { name } });
        showDone(`${name} is removed.`);
        go('/pools');
      }}
    >
      <p>
        Its decisions and tickets go. {plural(now.busy + now.idle, 'worker')} that{' '}
        {now.busy + now.idle === 1 ? 'is' : 'are'} there {now.busy + now.idle === 1 ? 'stays' : 'stay'}, and{' '}
        {plural(now.starting, 'worker')} still to come {now.starting === 1 ? 'is' : 'are'} refused. To send workers home
        first, turn the pool off.
      </p>
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
