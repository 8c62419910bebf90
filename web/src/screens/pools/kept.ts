/** A pool as it is put again: only what changes differs, and only if nobody has changed it since it was read. */

import type { Pool } from '../../api.ts';

export function keptBody({ name, queues, enabled, policy, worker, launcher, revision }: Pool) {
  return { name, queues, enabled, policy, worker, launcher, ifRevision: revision };
}
