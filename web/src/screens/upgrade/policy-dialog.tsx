/** The dialog that says which release workers should run. */

import { useState } from 'react';
import { client, type Upgrade } from '../../api.ts';
import { isShare, type PolicyDraft, policyDraft, policyEdit, policyText } from '../../model/workers/release.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { showDone } from '../../ui/toast.tsx';

const FIELDS: readonly { readonly key: keyof PolicyDraft; readonly label: string; readonly hint: string }[] = [
  {
    key: 'target',
    label: 'Release',
    hint: 'Older workers go there. A node must serve it. Empty: nobody is sent anywhere',
  },
  { key: 'canary', label: 'Share in percent', hint: 'So many of them go, always the same ones by their names' },
  { key: 'pinned', label: 'Pinned workers', hint: 'They stay as they are. Names, separated by commas' },
  { key: 'refused', label: 'Refused releases', hint: 'They get no work, and have to go. Separated by commas' },
];

export function PolicyDialog({
  of: before,
  onClose,
  onDone,
}: {
  readonly of: Upgrade;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  // Whoever changes it meanwhile is not overwritten: only what differs from here is sent.
  const [from] = useState(before);
  const [draft, setDraft] = useState(() => policyDraft(from));
  const wrong = isShare(draft.canary.trim()) ? undefined : 'A whole number from 0 to 100';
  const edit = policyEdit(from, draft);
  return (
    <FormDialog
      title="Which release workers should run"
      submit="Change the policy"
      disabled={wrong !== undefined || Object.keys(edit).length === 0}
      onClose={onClose}
      act={async () => {
        showDone(policyText(await client.call('editUpgrade', { body: edit })));
        onDone();
      }}
    >
      {FIELDS.map(({ key, label, hint }) => (
        <Field key={key} label={label} hint={hint} problem={key === 'canary' ? wrong : undefined}>
          {(props) => (
            <input
              {...props}
              className={key === 'canary' ? 'input short' : 'input'}
              value={draft[key]}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setDraft((now) => ({ ...now, [key]: event.target.value }))}
            />
          )}
        </Field>
      ))}
    </FormDialog>
  );
}
