/** The dialog that creates or edits a limit. */

import { useState } from 'react';
import { client, type LimitDetail } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';

const STRATEGIES = {
  queue: 'tasks wait',
  refuse: 'the push is refused',
  cancel_oldest: 'the oldest task is cancelled',
  replace_pending: 'only the newest task waits',
} as const;

export function EditDialog({
  of,
  onClose,
  onDone,
}: {
  readonly of?: LimitDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [name, setName] = useState(of?.name ?? '');
  // The revision that the fields show: the limit itself is read again while the dialog is open.
  const [ifRevision] = useState(of?.revision);
  const [concurrent, setConcurrent] = useState(of?.concurrent?.toString() ?? (of === undefined ? '1' : ''));
  const [perKey, setPerKey] = useState(of?.perKey?.toString() ?? '');
  const [max, setMax] = useState(of?.rate?.max.toString() ?? '');
  const [window, setWindow] = useState(of?.rate?.window ?? '1m');
  const [strategy, setStrategy] = useState<keyof typeof STRATEGIES>(
    (of?.strategy as keyof typeof STRATEGIES | undefined) ?? 'queue',
  );
  const number = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  const wrong =
    [concurrent, perKey, max].some((text) => text.trim() !== '' && !(Number(text) >= 0)) ||
    (concurrent.trim() === '' && perKey.trim() === '' && max.trim() === '');
  return (
    <FormDialog
      title={of === undefined ? 'Create a limit' : `Edit ${of.name}`}
      submit={of === undefined ? 'Create the limit' : 'Change the limit'}
      disabled={name.trim() === '' || wrong}
      onClose={onClose}
      act={async () => {
        const rate =
          max.trim() === ''
            ? null
            : { max: Number(max), window: window.trim(), ...(of?.rate?.perKey ? { perKey: true } : {}) };
        const bounds = { concurrent: number(concurrent), perKey: number(perKey), rate, strategy };
        if (of === undefined) await client.call('createLimit', { body: { name: name.trim(), ...bounds } });
        else await client.call('editLimit', { params: { name: of.name }, body: { ...bounds, ifRevision } });
        onDone();
      }}
    >
      {of === undefined && (
        <Field label="Name" hint="Tasks name it when they are pushed">
          {(props) => (
            <input
              {...props}
              className="input"
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="claude"
              autoComplete="off"
            />
          )}
        </Field>
      )}
      <div className="fields two">
        <Field label="At once" hint="Empty: no bound">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="numeric"
              value={concurrent}
              onChange={(event) => setConcurrent(event.target.value)}
            />
          )}
        </Field>
        <Field label="Per key" hint="For tasks that name a key">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="numeric"
              value={perKey}
              onChange={(event) => setPerKey(event.target.value)}
            />
          )}
        </Field>
        <Field label="Starts" hint="Most starts in the period">
          {(props) => (
            <input
              {...props}
              className="input"
              inputMode="decimal"
              value={max}
              onChange={(event) => setMax(event.target.value)}
              placeholder="no rate"
            />
          )}
        </Field>
        <Field label="Period" hint="A time such as 1m">
          {(props) => (
            <input {...props} className="input" value={window} onChange={(event) => setWindow(event.target.value)} />
          )}
        </Field>
      </div>
      <Field label="When it is full">
        {(props) => (
          <select
            {...props}
            className="input"
            value={strategy}
            onChange={(event) => setStrategy(event.target.value as keyof typeof STRATEGIES)}
          >
            {Object.entries(STRATEGIES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      {of !== undefined && (
        <p className="quiet">A lower limit stops no task. Nothing more starts until there is room.</p>
      )}
    </FormDialog>
  );
}
