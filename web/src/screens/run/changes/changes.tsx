/** The panel of what a loop has changed: commits, files, lines; and the decision whether it is merged or scrapped. */

import { memo, useState } from 'react';
import { useResource } from '../../../live/resource.ts';
import type { Changes as Diff } from '../../../model/changes/diff.ts';
import { decidedText, type ReviewState } from '../../../model/changes/review.ts';
import { plural } from '../../../model/text.ts';
import { useMay } from '../../../session.ts';
import { Button } from '../../../ui/buttons.tsx';
import { Panel } from '../../../ui/layout.tsx';
import { WhenLoaded } from '../../../ui/states.tsx';
import { readChanges, readReview } from './calls.ts';
import { Commits } from './commits.tsx';
import { Counts } from './counts.tsx';
import { DecideDialog } from './decide-dialog.tsx';
import { ChangedFiles } from './files.tsx';

/** Drawn anew only when its data are: the page of a run is drawn often. `name`: what is typed to confirm. */
export const Changes = memo(function Changes({
  id,
  name,
  live,
}: {
  readonly id: string;
  readonly name: string;
  readonly live: boolean;
}) {
  const review = useResource(`review of ${id}`, (signal) => readReview(id, signal), { everyMs: live ? 5_000 : 60_000 });
  if (review.data?.branch === undefined) return null;
  return <Branch id={id} name={name} live={live} review={review.data} onDecided={review.refresh} />;
});

function Branch({
  id,
  name,
  live,
  review,
  onDecided,
}: {
  readonly id: string;
  readonly name: string;
  readonly live: boolean;
  readonly review: ReviewState;
  readonly onDecided: () => void;
}) {
  const may = useMay('operator');
  const [deciding, setDeciding] = useState<'merge' | 'scrap'>();
  // What a run that goes on has changed so far is read less often: the node asks a worker for it.
  const changes = useResource(
    `changes of ${id} ${live ? 'so far' : review.status}`,
    (signal) => readChanges(id, signal),
    live ? { everyMs: 30_000 } : {},
  );
  const decided = decidedText(review);
  return (
    <Panel
      title="Changes"
      actions={
        may &&
        review.isOpen && (
          <span className="row">
            <Button small kind="danger" icon="trash" onClick={() => setDeciding('scrap')}>
              Scrap
            </Button>
            <Button small kind="primary" icon="check" onClick={() => setDeciding('merge')}>
              Merge
            </Button>
          </span>
        )
      }
    >
      {decided !== undefined && <p className="panel-body change-line strong">{decided}</p>}
      <WhenLoaded of={changes}>{(diff) => <Shown of={diff} branch={review.branch ?? ''} />}</WhenLoaded>
      {deciding !== undefined && (
        <DecideDialog
          id={id}
          name={name}
          action={deciding}
          review={review}
          onClose={() => setDeciding(undefined)}
          onDone={onDecided}
        />
      )}
    </Panel>
  );
}

function Shown({ of: diff, branch }: { readonly of: Diff; readonly branch: string }) {
  return (
    <>
      <p className="panel-body change-line">
        <bdi className="mono break">{diff.head === '' ? branch : diff.head}</bdi>
        {diff.base !== '' && (
          <span className="quiet">
            {' '}
            against <bdi className="mono break">{diff.base}</bdi>
          </span>
        )}{' '}
        · {plural(diff.commits.length, 'commit')}, {plural(diff.files.length, 'file')} <Counts of={diff} />
      </p>
      {diff.truncated && (
        <p className="panel-body change-line warn">
          More was changed than is shown here: files or lines were left out. Look at the branch itself for all of it.
        </p>
      )}
      <Commits of={diff.commits} />
      <ChangedFiles of={diff.files} />
    </>
  );
}
