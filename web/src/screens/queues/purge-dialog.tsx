/** The dialog that cancels every task of a queue that does not run. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { plural } from '../../model/text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';

export function PurgeDialog({
  name,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const dry = useResource(`purge ${name}`, () =>
    client.call('purgeQueue', { params: { queue: name }, body: { dryRun: true } }),
  );
  const [typed, setTyped] = useState('');
  const found = dry.data?.found ?? 0;
  return (
    <FormDialog
      title={`Cancel all waiting tasks in ${name}`}
      submit={`Cancel ${plural(found, 'task')}`}
      danger
      disabled={found === 0 || typed !== name}
      onClose={onClose}
      act={async () => {
        let cursor: string | undefined;
        let cancelled = 0;
        do {
          const body = cursor === undefined ? { expected: found } : { cursor };
          const answer = await client.call('purgeQueue', { params: { queue: name }, body });
          cancelled += answer.cancelled;
          cursor = answer.cursor;
        } while (cursor !== undefined);
        showDone(`${plural(cancelled, 'task')} of ${name} cancelled.`);
        onDone();
      }}
    >
      <p>
        <b>{plural(found, 'task')}</b> in <code>{name}</code> {found === 1 ? 'is' : 'are'} ready, scheduled or waiting.
        All of them are cancelled. Running tasks continue.
      </p>
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
