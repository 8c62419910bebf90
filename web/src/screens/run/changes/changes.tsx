/** The panel of what a loop has changed: commits, files, lines; and the decision whether it is merged or scrapped. */

import { memo, useEffect, useState } from 'react';
import { useResource } from '../../../live/resource.ts';
import type { Changes as Changed } from '../../../model/changes/diff.ts';
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
  return <Branch id={id} name={name} review={review.data} onDecided={review.refresh} />;
});

function Branch({
  id,
  name,
  review,
  onDecided,
}: {
  readonly id: string;
  readonly name: string;
  readonly review: ReviewState;
  readonly onDecided: () => void;
}) {
  const may = useMay('operator');
  const [deciding, setDeciding] = useState<'merge' | 'scrap'>();
  const [seen, setSeen] = useState<string>();
  const { branch = '', target } = review;
  const decided = decidedText(review);
  return (
    <Panel
      title="Changes"
      actions={
        <span className="row">
          {may && review.canScrap && (
            <Button small kind="danger" icon="trash" onClick={() => setDeciding('scrap')}>
              Scrap
            </Button>
          )}
          {may && review.canMerge && (
            <Button small kind="primary" icon="check" onClick={() => setDeciding('merge')}>
              Merge
            </Button>
          )}
        </span>
      }
    >
      <p className="panel-body change-line">
        <span className="quiet">On the branch</span> <bdi className="mono break">{branch}</bdi>
        {target !== undefined && (
          <>
            {' '}
            <span className="quiet">for</span> <bdi className="mono break">{target}</bdi>
          </>
        )}
        {decided !== undefined && <span className="strong"> · {decided}</span>}
      </p>
      {review.status !== 'scrapped' && <Diff id={id} onSeen={setSeen} />}
      {deciding !== undefined && (
        <DecideDialog
          id={id}
          name={name}
          action={deciding}
          review={review}
          seen={seen}
          onClose={() => setDeciding(undefined)}
          onDone={onDecided}
        />
      )}
    </Panel>
  );
}

/** A worker that has the repository is asked for it, so nobody is before somebody wants to see it. */
function Diff({ id, onSeen }: { readonly id: string; readonly onSeen: (head: string | undefined) => void }) {
  const [wanted, setWanted] = useState(false);
  const changes = useResource(`changes of ${id}`, (signal) => readChanges(id, signal), { enabled: wanted });
  useEffect(() => onSeen(changes.data?.head), [changes.data, onSeen]);
  if (!wanted)
    return (
      <div className="panel-body">
        <Button small icon="right" onClick={() => setWanted(true)}>
          Show the changes
        </Button>
      </div>
    );
  return <WhenLoaded of={changes}>{(diff) => <Shown of={diff} onAgain={changes.refresh} />}</WhenLoaded>;
}

function Shown({ of: diff, onAgain }: { readonly of: Changed; readonly onAgain: () => void }) {
  return (
    <>
      <div className="panel-body change-line row wrap">
        <span className="grow">
          {plural(diff.commits.length, 'commit')}, {plural(diff.files.length, 'file')} <Counts of={diff} />
          {diff.base !== '' && (
            <span className="quiet">
              {' '}
              since <bdi className="mono break">{shortRef(diff.base)}</bdi>
            </span>
          )}
        </span>
        <Button small kind="plain" icon="retry" aria-label="Read the changes again" onClick={onAgain} />
      </div>
      {diff.truncated && (
        <p className="panel-body change-line warn">
          More was changed than is shown here: files or lines were left out. The branch itself has all of it.
        </p>
      )}
      <Commits of={diff.commits} />
      <ChangedFiles of={diff.files} />
    </>
  );
}

/** A commit by its beginning, a branch by its name. */
function shortRef(ref: string): string {
  return /^[0-9a-f]{40,64}$/.test(ref) ? ref.slice(0, 12) : ref;
}
