/** How many lines were added and deleted. */

import type { Stats } from '../../../model/changes/diff.ts';

export function Counts({ of: { additions, deletions } }: { readonly of: Stats }) {
  return (
    <span className="change-counts">
      <span className="good">
        +{additions.toLocaleString('en')}
        <span className="sr"> lines added</span>
      </span>{' '}
      <span className="bad">
        −{deletions.toLocaleString('en')}
        <span className="sr"> lines deleted</span>
      </span>
    </span>
  );
}
