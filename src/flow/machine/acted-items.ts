import type { Value } from '../expression/values.ts';
import type { Snapshot } from './snapshot.ts';

type Acted = Pick<Snapshot, 'results' | 'acted'>;

/** For how many items a state has acted. A snapshot of before had no count. */
export const actedCount = ({ results, acted = results.length }: Acted): number => acted;

/** What it has given for them. */
export const actedResults = (at: Acted): readonly Value[] => at.results.slice(0, actedCount(at));

/**
 * With one result more. Snapshots of one state share the list, and each knows how much of it is its own: ten thousand items would be copied fifty
 * million times otherwise. One that is gone on from twice has a list of its own the second time.
 */
export function withResult(at: Acted, value: Value): Acted {
  const count = actedCount(at);
  const results = (at.results.length === count && shared.has(at.results) ? at.results : actedResults(at)) as Value[];
  shared.add(results);
  results.push(value);
  return { results, acted: count + 1 };
}

/** Those that were made here: what comes from elsewhere is never written to. */
const shared = new WeakSet<readonly Value[]>();
