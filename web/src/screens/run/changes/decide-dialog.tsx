/** The dialog that merges what a run has changed, or scraps it. */

import { useState } from 'react';
import type { ReviewState } from '../../../model/changes/review.ts';
import { FormDialog } from '../../../ui/dialog.tsx';
import { showDone } from '../../../ui/toast.tsx';
import { TypedName } from '../../../ui/typed-name.tsx';
import { mergeChanges, scrapChanges } from './calls.ts';

export function DecideDialog({
  id,
  name,
  action,
  review: { branch = '', target },
  seen,
  onClose,
  onDone,
}: {
  readonly id: string;
  readonly name: string;
  readonly action: 'merge' | 'scrap';
  readonly review: ReviewState;
  /** The commit whose changes were shown; undefined: none were. */
  readonly seen: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [typed, setTyped] = useState('');
  const merges = action === 'merge';
  const into = target === undefined ? 'its target branch' : target;
  return (
    <FormDialog
      title={merges ? `Merge ${branch}` : `Scrap ${branch}`}
      submit={merges ? 'Merge the changes' : 'Scrap the changes'}
      danger={!merges}
      disabled={typed !== name}
      onClose={onClose}
      act={async () => {
        if (merges) {
          const commit = await mergeChanges(id, seen);
          showDone(`The changes are in ${into}, as ${commit.slice(0, 12)}.`);
        } else {
          await scrapChanges(id);
          showDone('The changes are scrapped.');
        }
        onDone();
      }}
    >
      {merges ? (
        <p>
          The commits of <bdi className="mono break">{branch}</bdi> go into <bdi className="mono break">{into}</bdi>,
          the way the run was told to merge. If they do not fit together, nothing is changed and you are told.
        </p>
      ) : (
        <p>
          The branch <bdi className="mono break">{branch}</bdi> and its folder are given up. What was not merged is
          lost.
        </p>
      )}
      <TypedName name={name} typed={typed} onTyped={setTyped} />
    </FormDialog>
  );
}
