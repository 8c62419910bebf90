/** The dialog that tries a policy: the node decides by it, and nothing is started. Who may keep it keeps it here. */

import { useState } from 'react';
import { client, type Pool } from '../../api.ts';
import { policyDraft, policyIn } from '../../model/pool/form.ts';
import { useMay } from '../../session.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';
import { keptBody } from './kept.ts';
import { PolicyFields } from './policy-fields.tsx';
import { usePreview, WouldDo } from './preview.tsx';

export function DryRunDialog({
  of: pool,
  onClose,
  onDone,
}: {
  readonly of: Pool;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const mayWrite = useMay('admin');
  const [kept] = useState(() => keptBody(pool));
  const [draft, setDraft] = useState(() => policyDraft(pool.policy));
  const { checked, problems } = usePreview(pool.name, draft);
  const title = `Dry run of ${pool.name}`;
  const content = (
    <>
      <p className="ink-2">Nothing is started and nobody is sent home. Change the policy, and see what it would do.</p>
      <WouldDo of={checked} />
      <PolicyFields draft={draft} problems={problems} onChange={setDraft} />
    </>
  );
  if (!mayWrite) {
    return (
      <Dialog title={title} onClose={onClose} kind="dialog wide">
        {content}
      </Dialog>
    );
  }
  const { policy } = policyIn(draft);
  const same = JSON.stringify(draft) === JSON.stringify(policyDraft(kept.policy));
  return (
    <FormDialog
      title={title}
      submit="Keep this policy"
      wide
      disabled={same || checked === undefined}
      onClose={onClose}
      act={async () => {
        await client.call('putPool', { body: { ...kept, policy } as never });
        showDone(`${pool.name} has this policy now.`);
        onDone();
      }}
    >
      {content}
    </FormDialog>
  );
}
