/** The use of a limit: the running tasks that hold it, and how much of its rate is used. */

import { client, type LimitDetail, type Task } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { millisecondsOf } from '../../model/time.ts';
import { Meter } from '../../ui/meters.tsx';
import { useNow } from '../../ui/times.tsx';

const usesLimit =
  (name: string) =>
  ({ limits }: Task): boolean =>
    limits?.some((limit) => limit.name === name) ?? false;

/** Running tasks that use the limit, among the newest running ones. */
export function useHolders(name: string) {
  const { data } = useResource(
    'running',
    (signal) => client.call('listTasks', { query: { state: ['running'], limit: 200 }, signal }),
    { everyMs: 4_000 },
  );
  return data?.tasks.filter(usesLimit(name)).slice(0, 50) ?? [];
}

/** How much of the rate is used, counted among the newest tasks. */
export function RateMeter({ of: { name, rate } }: { readonly of: LimitDetail }) {
  const windowMs = millisecondsOf(rate?.window ?? '');
  const { data } = useResource('newest', (signal) => client.call('listTasks', { query: { limit: 500 }, signal }), {
    everyMs: 4_000,
  });
  const now = useNow((at) => Math.floor(at / 1000) * 1000);
  if (rate === undefined) return null;
  const started =
    data?.tasks.filter((task) => usesLimit(name)(task) && (task.startedAt ?? 0) > now - windowMs).length ?? 0;
  const text = `${started} of ${rate.max} in the last ${rate.window}`;
  return (
    <span className="stack tight">
      <span title="Counted among the newest tasks">
        {text}
        {rate.burst === rate.max ? '' : `, at most ${rate.burst} at once`}
        {rate.perKey ? ', per key' : ''}
      </span>
      {!rate.perKey && (
        <Meter value={started} max={rate.max} label={text} tone={started >= rate.max ? 's-attention' : 's-running'} />
      )}
    </span>
  );
}
