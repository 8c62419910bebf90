/** The dialog that takes a credential away from a worker, or from all with a tag. */

import { client } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';

export function TakeAway({
  name,
  from,
  who,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly from: { readonly workers?: string[]; readonly tags?: string[] };
  readonly who: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  return (
    <FormDialog
      title={`Take ${name} away`}
      submit="Take it away"
      danger
      onClose={onClose}
      act={async () => {
        await client.call('revokeCredential', { params: { name }, body: from });
        showDone(`${name} is taken away from ${who}.`);
        onDone();
      }}
    >
      <p>
        From {who}. Tasks that need it go there no more from now on, and the copy is removed as soon as the worker hears
        of it. A worker that is not connected keeps its copy until it comes back: whoever may have read the value knows
        it still.
      </p>
    </FormDialog>
  );
}
