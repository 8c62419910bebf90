/** The dialog that pauses a limit for a time. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';

export function PauseDialog({
  name,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [time, setTime] = useState('10m');
  return (
    <FormDialog
      title={`Pause ${name}`}
      submit="Pause the limit"
      onClose={onClose}
      disabled={time.trim() === ''}
      act={() => client.call('pauseLimit', { params: { name }, body: { for: time.trim() } }).then(onDone)}
    >
      <p>
        Tasks that use it do not start for this time. Running tasks continue. Use it when an API answers “too many
        requests”.
      </p>
      <Field label="For" hint="30s, 10m, 1h">
        {(props) => (
          <input {...props} className="input short" value={time} onChange={(event) => setTime(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
