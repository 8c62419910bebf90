/** The workers of a pool as a bar: what they do, out of the most that there may be. */

import type { Pool } from '../../api.ts';
import { STAFF, staffText } from '../../model/pool/words.ts';

export function StaffBar({ of: { now, policy } }: { readonly of: Pool }) {
  const all = Math.max(1, policy.max, now.there);
  return (
    <span className="staff-bar" role="img" aria-label={`${staffText(now)}, of ${policy.max} at most`}>
      {STAFF.map((kind) =>
        now[kind] === 0 ? null : (
          <i key={kind} className={`p-${kind}`} style={{ width: `${(now[kind] / all) * 100}%` }} />
        ),
      )}
    </span>
  );
}
