/** The form of an approval: the question, its fields, and a button for each answer. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { draftOf, fieldsOf, valueOf } from '../../model/schema-form.ts';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { SchemaForm } from '../../ui/schema-form.tsx';
import { showDone, showError } from '../../ui/toast.tsx';

export function DecideForm({
  id,
  wait,
  title,
  actions,
  form,
  onDone,
}: {
  readonly id: string;
  /** The key of the wait; a task may wait for several decisions at once. */
  readonly wait?: string;
  readonly title: string;
  readonly actions: readonly string[];
  readonly form?: unknown;
  readonly onDone: () => void;
}) {
  const may = useMay('operator');
  const fields = fieldsOf(form) ?? [];
  const [draft, setDraft] = useState(() => draftOf(fields, undefined).draft);
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState('');
  const decide = (action: string): void => {
    const written = valueOf(fields, draft);
    setProblems(written.problems);
    if (Object.keys(written.problems).length > 0) return;
    setBusy(action);
    client
      .call('decideApproval', {
        params: { id },
        body: {
          action,
          ...(fields.length > 0 ? { value: written.value } : {}),
          ...(wait === undefined ? {} : { key: wait }),
        },
      })
      .then(() => {
        showDone(`“${title}”: ${action}.`);
        onDone();
      }, showError)
      .finally(() => setBusy(''));
  };
  return (
    <div className="stack">
      <h2 className="break">{title}</h2>
      {may && fields.length > 0 && <SchemaForm fields={fields} draft={draft} problems={problems} onChange={setDraft} />}
      {may && (
        <div className="buttons">
          {actions.map((action) => (
            <Button
              key={action}
              kind={
                /^(approve|accept|yes|ok)/i.test(action)
                  ? 'primary'
                  : /^(reject|deny|no|refuse|cancel)/i.test(action)
                    ? 'danger'
                    : undefined
              }
              busy={busy === action}
              disabled={busy !== ''}
              onClick={() => decide(action)}
            >
              {action}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}
