/** The dialog that removes an artifact. It asks the node first what would go. */

import { useState } from 'react';
import { type Artifact, client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { baseName, confirmWord, sizeText } from '../../model/files/words.ts';
import { shortId } from '../../model/text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';
import { TypedName } from '../../ui/typed-name.tsx';

export function RemoveFile({
  of: { id, name },
  onClose,
  onRemoved,
}: {
  readonly of: Artifact;
  readonly onClose: () => void;
  readonly onRemoved: () => void;
}) {
  const [typed, setTyped] = useState('');
  const params = { id };
  const dry = useResource(`what would go with ${id}`, (signal) =>
    client.call('removeArtifact', { params, query: { dryRun: true }, signal }),
  );
  const word = confirmWord({ id, name });
  return (
    <FormDialog
      title={<bdi>{`Remove ${baseName(name)}`}</bdi>}
      submit="Remove the artifact"
      danger
      disabled={typed !== word || dry.data === undefined}
      onClose={onClose}
      act={async () => {
        const { size } = await client.call('removeArtifact', { params });
        showDone(`The artifact is removed. Its ${sizeText(size)} go a little later.`);
        onRemoved();
      }}
    >
      <WhenLoaded of={dry} rows={2}>
        {(would) => (
          <p>
            This removes <bdi className="strong break">{would.name}</bdi>, {sizeText(would.size)}, which attempt{' '}
            {would.attempt} of the task {shortId(would.task)} has left behind. Tasks that read it later do not find it.
            Its bytes go a little later, unless another artifact has the same ones.
          </p>
        )}
      </WhenLoaded>
      <TypedName name={word} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
