/** The drawer of one limit: its use now, its keys, its holders and its history. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { go } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { Awaited, State } from '../../ui/states.tsx';
import { Countdown } from '../../ui/times.tsx';
import { attempt } from '../../ui/toast.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { History, Holders, Keys, Now } from './limit-panels.tsx';
import { PauseDialog } from './pause-dialog.tsx';
import { useHolders } from './usage.tsx';

/** What opens a dialog. */
type Asked = 'edit' | 'pause' | 'remove';

export function LimitDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const detail = useResource(`limit ${name}`, (signal) => client.call('getLimit', { params: { name }, signal }), {
    everyMs: 2_000,
  });
  const holders = useHolders(name);
  const [asking, setAsking] = useState<Asked>();
  const changed = (): void => {
    detail.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/limits')}>
      <Awaited of={detail}>
        {(data) => (
          <>
            {may && (
              <Buttons name={name} paused={data.pausedUntil !== undefined} onChanged={changed} onAsk={setAsking} />
            )}
            {data.pausedUntil !== undefined && <State state="paused" label="Paused" why={undefined} />}
            {data.pausedUntil !== undefined && (
              <p className="quiet">
                Nothing that takes from it starts for <Countdown to={data.pausedUntil} over="a moment" />.
              </p>
            )}
            <Now of={data} />
            {data.keys.length > 0 && <Keys of={data} />}
            <Holders of={holders} />
            <History of={data} />
          </>
        )}
      </Awaited>
      {asking === 'edit' && detail.data && (
        <EditDialog of={detail.data} onClose={() => setAsking(undefined)} onDone={changed} />
      )}
      {asking === 'pause' && <PauseDialog name={name} onClose={() => setAsking(undefined)} onDone={changed} />}
      {asking === 'remove' && (
        <RemoveDialog
          name={name}
          waiting={detail.data?.waiting}
          onClose={() => setAsking(undefined)}
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
  onAsk,
}: {
  readonly name: string;
  readonly paused: boolean;
  readonly onChanged: () => void;
  readonly onAsk: (asked: Asked) => void;
}) {
  return (
    <div className="buttons">
      <Button small icon="edit" onClick={() => onAsk('edit')}>
        Edit
      </Button>
      {!paused ? (
        <Button small icon="pause" onClick={() => onAsk('pause')}>
          Pause
        </Button>
      ) : (
        <Button
          small
          icon="play"
          kind="primary"
          onClick={() =>
            attempt(
              () => client.call('resumeLimit', { params: { name }, body: {} }).then(onChanged),
              `${name} is open again.`,
            )
          }
        >
          Resume
        </Button>
      )}
      <Button small icon="trash" kind="danger" onClick={() => onAsk('remove')}>
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
        Nothing is held back by it any more: {waiting === undefined ? 'what waits for it' : plural(waiting, 'task')} may
        start at once.
      </p>
    </FormDialog>
  );
}
