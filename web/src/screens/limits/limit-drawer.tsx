/** The drawer of one limit: its use now, its keys, its holders and its history. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { go } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { Countdown } from '../../ui/times.tsx';
import { runAction } from '../../ui/toast.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { History, Holders, Keys, Now } from './limit-panels.tsx';
import { PauseDialog } from './pause-dialog.tsx';
import { useHolders } from './usage.tsx';

/** The dialogs of this drawer. */
type DialogName = 'edit' | 'pause' | 'remove';

export function LimitDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const detail = useResource(`limit ${name}`, (signal) => client.call('getLimit', { params: { name }, signal }), {
    everyMs: 2_000,
  });
  const holders = useHolders(name);
  const [dialog, setDialog] = useState<DialogName>();
  const changed = (): void => {
    detail.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/limits')}>
      <WhenLoaded of={detail}>
        {(data) => (
          <>
            {may && (
              <Buttons name={name} paused={data.pausedUntil !== undefined} onChanged={changed} onDialog={setDialog} />
            )}
            {data.pausedUntil !== undefined && <State state="paused" label="Paused" why={undefined} />}
            {data.pausedUntil !== undefined && (
              <p className="quiet">
                Tasks that use it do not start for <Countdown to={data.pausedUntil} over="a moment" />.
              </p>
            )}
            <Now of={data} />
            {data.keys.length > 0 && <Keys of={data} />}
            <Holders of={holders} />
            <History of={data} />
          </>
        )}
      </WhenLoaded>
      {dialog === 'edit' && detail.data && (
        <EditDialog of={detail.data} onClose={() => setDialog(undefined)} onDone={changed} />
      )}
      {dialog === 'pause' && <PauseDialog name={name} onClose={() => setDialog(undefined)} onDone={changed} />}
      {dialog === 'remove' && (
        <RemoveDialog
          name={name}
          waiting={detail.data?.waiting}
          onClose={() => setDialog(undefined)}
          onDone={onChanged}
        />
      )}
    </Drawer>
  );
}

function Buttons({
  name,
  paused,
  onChanged,
  onDialog,
}: {
  readonly name: string;
  readonly paused: boolean;
  readonly onChanged: () => void;
  readonly onDialog: (dialog: DialogName) => void;
}) {
  return (
    <div className="buttons">
      <Button small icon="edit" onClick={() => onDialog('edit')}>
        Edit
      </Button>
      {!paused ? (
        <Button small icon="pause" onClick={() => onDialog('pause')}>
          Pause
        </Button>
      ) : (
        <Button
          small
          icon="play"
          kind="primary"
          onClick={() =>
            runAction(
              () => client.call('resumeLimit', { params: { name }, body: {} }).then(onChanged),
              `${name} is resumed.`,
            )
          }
        >
          Resume
        </Button>
      )}
      <Button small icon="trash" kind="danger" onClick={() => onDialog('remove')}>
        Remove
      </Button>
    </div>
  );
}

function RemoveDialog({
  name,
  waiting,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly waiting: number | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  return (
    <FormDialog
      title={`Remove ${name}`}
      submit="Remove the limit"
      danger
      onClose={onClose}
      act={() =>
        client.call('removeLimit', { params: { name } }).then(() => {
          onDone();
          go('/limits');
        })
      }
    >
      <p>
        It holds nothing back any more: {waiting === undefined ? 'what waits for it' : plural(waiting, 'task')} may
        start at once.
      </p>
    </FormDialog>
  );
}
