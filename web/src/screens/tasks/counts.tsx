/** The histogram above the list of tasks: how many were created when, by state. */

import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { queryOfFilter, requestOf, type TaskFilter } from '../../model/filter.ts';
import { Histogram } from '../../ui/histogram.tsx';

/** The end of the range is rounded up to this, so that a node answers several viewers with one count. */
const ROUND_MS = 5_000;

export function Counts({
  filter,
  onChange,
}: {
  readonly filter: TaskFilter;
  readonly onChange: (filter: TaskFilter) => void;
}) {
  const { last: _, ...rest } = filter;
  const counts = useResource(
    `histogram ${queryOfFilter(filter)}`,
    async (signal) => {
      const now = Math.ceil(Date.now() / ROUND_MS) * ROUND_MS;
      const count = (last?: string) => {
        const request = requestOf(last === undefined ? filter : { ...filter, last }, now);
        return client.call('countTasks', { query: { ...request, until: filter.until ?? now, buckets: 90 }, signal });
      };
      if (filter.from !== undefined || filter.last !== undefined) return count();
      // Without a time filter the last day is drawn, or the last hour if nothing is older.
      const day = await count('24h');
      const first = day.buckets.findIndex((bucket) => Object.values(bucket).some((n) => n > 0));
      return first >= 86 ? count('1h') : day;
    },
    { everyMs: 15_000, on: ({ kind }) => kind !== 'beat', atMostMs: ROUND_MS },
  );
  if (counts.data === undefined) return <div className="panel histogram" style={{ height: 116 }} />;
  return (
    <section className="panel" aria-label="Creation times">
      <Histogram data={counts.data} onBrush={(range) => onChange({ ...rest, ...range })} />
      {counts.data.cut && (
        <p className="quiet" style={{ padding: '0 1rem 0.5rem' }}>
          Only the newest {counts.data.counted.toLocaleString('en')} tasks are counted.
        </p>
      )}
    </section>
  );
}
