import { parseTest, passes, readTag } from '../../core/placement/tag.ts';
import type { Lane, Store } from '../../store/store.ts';

/** Test of tags → queues with ready tasks that require it. */
export type WantedTests = ReadonlyMap<string, ReadonlySet<string>>;

const PAGE = 1000;

/** What ready tasks require, of the first `mostLanes` lanes. */
export async function wantedTests(
  store: Pick<Store, 'laneScan' | 'laneGet'>,
  mostLanes = Number.POSITIVE_INFINITY,
): Promise<WantedTests> {
  const wanted = new Map<string, Set<string>>();
  for (let after = 0, looked = 0; looked < mostLanes; ) {
    const limit = Math.min(PAGE, mostLanes - looked);
    const ids = (await store.laneScan({ after, limit })).map(({ id }) => id);
    for (const lane of await store.laneGet({ lanes: ids }))
      for (const test of lane?.rules?.placement.requires ?? [])
        wanted.set(test, (wanted.get(test) ?? new Set()).add((lane as Lane).queue));
    after = ids.at(-1) ?? after;
    looked += ids.length;
    if (ids.length < limit) break;
  }
  return wanted;
}

/** Whether a worker with these tags passes the test. */
export function carries(test: string, tags: readonly string[]): boolean {
  return passes(parseTest('tag', test), tags.map(readTag));
}

/** What ready tasks require and no enabled worker has. Where nobody is there at all, that is all that there is to say. */
export async function unmetTests(
  store: Pick<Store, 'laneScan' | 'laneGet' | 'workerFleet'>,
  staleMs: number,
  mostLanes: number,
): Promise<WantedTests> {
  const [wanted, { now, members }] = await Promise.all([wantedTests(store, mostLanes), store.workerFleet()]);
  const able = members.filter(({ enabled, seenAt }) => enabled && now - seenAt <= staleMs);
  if (able.length === 0) return new Map();
  return new Map([...wanted].filter(([test]) => !able.some(({ tags }) => carries(test, tags))));
}
