/** The dialog that gives a credential to more workers, and says how they must keep it. */

import { useState } from 'react';
import { type Credential, client } from '../../api.ts';
import { commaList } from '../../model/text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';
import { LevelField, WhoFields } from './fields.tsx';

export function GrantCredential({
  of: { name, level: demanded },
  onClose,
  onDone,
}: {
  readonly of: Credential;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const before: string = demanded ?? '';
  const [workers, setWorkers] = useState('');
  const [tags, setTags] = useState('');
  const [level, setLevel] = useState(before);
  const who = { workers: commaList(workers), tags: commaList(tags) };
  const more = who.workers.length + who.tags.length > 0;
  return (
    <FormDialog
      title={`Give ${name} to workers`}
      submit={more ? 'Give it to them' : 'Change how it is kept'}
      disabled={!more && level === before}
      onClose={onClose}
      act={async () => {
        const demand = level === before ? {} : { level: (level === '' ? null : level) as 'file' | null };
        await client.call('grantCredential', { params: { name }, body: { ...who, ...demand } });
        showDone(more ? `${name} goes to them as soon as they are connected.` : `${name} demands another level.`);
        onDone();
      }}
    >
      <WhoFields workers={workers} tags={tags} onWorkers={setWorkers} onTags={setTags} />
      <LevelField value={level} onChange={setLevel} />
    </FormDialog>
  );
}
