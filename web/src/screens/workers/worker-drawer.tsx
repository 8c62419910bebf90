/** The drawer of one worker: its settings, its leases and its processes. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { go, Link } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { Drawer, FormDialog } from '../../ui/dialog.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { runAction } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';
import { Priority, Tags } from './cells.tsx';
import { editWorker } from './edit.ts';
import { RotateDialog } from './rotate-dialog.tsx';
import type { Row } from './use-workers.ts';
import { Granted, Leases, Process } from './worker-panels.tsx';

/** The dialogs of this drawer. */
type DialogName = 'rotate' | 'remove';

export function WorkerDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const may = useMay('operator');
  const detail = useResource(`worker ${name}`, (signal) => client.call('getWorker', { params: { name }, signal }), {
    everyMs: 2_000,
  });
  const current = detail.data?.processes.flatMap(({ currentTasks }) => currentTasks).slice(0, 50) ?? [];
  const leases = useResource(
    `leases ${name} ${current.join()}`,
    (signal) =>
      current.length === 0
        ? Promise.resolve({ tasks: [] })
        : client.call('listTasks', { query: { id: current }, signal }),
    { everyMs: 3_000, on: (event) => event.task !== undefined && current.includes(event.task) },
  );
  const [dialog, setDialog] = useState<DialogName>();
  const changed = (): void => {
    detail.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/workers')}>
      <WhenLoaded of={detail}>
        {(data) => {
          const row: Row = {
            worker: undefined,
            key: name,
            name,
            enabled: data.enabled,
            priority: data.priority ?? data.processes[0]?.priority,
            tags: data.workers > 0 ? data.carries : data.tags,
          };
          return (
            <>
              {may && <Buttons name={name} enabled={data.enabled} onChanged={changed} onDialog={setDialog} />}
              {!data.enabled && (
                <State
                  state="draining"
                  label={
                    data.running > 0
                      ? `Draining: ${plural(data.running, 'task')} left`
                      : 'Drained: it runs nothing and takes nothing'
                  }
                />
              )}
              <Panel title="Work it takes">
                <div className="panel-body">
                  <KeyValues
                    of={[
                      ['Priority', <Priority key="p" row={row} may={may} onChanged={changed} />],
                      ['Tags', <Tags key="t" row={row} may={may} onChanged={changed} />],
                      [
                        'Handlers',
                        <span key="h" className="tags">
                          {[
                            ...new Set(
                              data.processes
                                .filter(({ state }) => state === 'online')
                                .flatMap(({ handlers }) => handlers),
                            ),
                          ].map((handler) => (
                            <Link key={handler} to={`/tasks?handler=${encodeURIComponent(handler)}`} className="tag">
                              {handler}
                            </Link>
                          ))}
                        </span>,
                      ],
                    ]}
                  />
                </div>
              </Panel>
              <Granted grant={data.grant ?? {}} isHere={data.workers > 0} />
              <Leases ids={current} tasks={leases.data?.tasks ?? []} />
              {data.processes.slice(0, 5).map((one) => (
                <Process key={one.id} of={one} />
              ))}
            </>
          );
        }}
      </WhenLoaded>
      {dialog === 'rotate' && <RotateDialog name={name} onClose={() => setDialog(undefined)} />}
      {dialog === 'remove' && <RemoveDialog name={name} onClose={() => setDialog(undefined)} onDone={onChanged} />}
    </Drawer>
  );
}

function Buttons({
  name,
  enabled,
  onChanged,
  onDialog,
}: {
  readonly name: string;
  readonly enabled: boolean;
  readonly onChanged: () => void;
  readonly onDialog: (dialog: DialogName) => void;
}) {
  return (
    <div className="buttons">
      {enabled ? (
        <Button
          small
          icon="pause"
          onClick={() =>
            runAction(
              () => editWorker(name, { enabled: false }).then(onChanged),
              `${name} drains. It finishes what it runs and takes nothing more.`,
            )
          }
        >
          Drain
        </Button>
      ) : (
        <Button
          small
          icon="play"
          kind="primary"
          onClick={() =>
            runAction(() => editWorker(name, { enabled: true }).then(onChanged), `${name} takes tasks again.`)
          }
        >
          Enable
        </Button>
      )}
      <Button small icon="key" onClick={() => onDialog('rotate')}>
        Rotate the secret
      </Button>
      <Button small icon="trash" kind="danger" onClick={() => onDialog('remove')}>
        Remove
      </Button>
    </div>
  );
}

function RemoveDialog({
  name,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={`Remove ${name}`}
      submit="Remove the worker"
      danger
      disabled={typed !== name}
      onClose={onClose}
      act={() =>
        client.call('removeWorker', { params: { name } }).then(() => {
          onDone();
          go('/workers');
        })
      }
    >
      <p>
        Its secrets stop working and its settings are deleted. The worker is cut off within a second. Other workers get
        its tasks when its leases expire.
      </p>
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
