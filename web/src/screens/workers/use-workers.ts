/** The list of workers, kept fresh: read at an interval, and patched by name when a worker registers. */

import { useEffect, useState } from 'react';
import { client, type Worker } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';
import type { WorkerRow } from '../../model/workers/worker-rows.ts';

export type Row = WorkerRow<Worker>;

const SHORT_FLEET = 200;

export function useWorkers() {
  const [many, setMany] = useState(false);
  const workers = useResource('workers', (signal) => client.call('listWorkers', { signal }), {
    everyMs: many ? 15_000 : 3_000,
  });
  const { set, refresh, data } = workers;
  useEffect(() => setMany((data?.workers.length ?? 0) > SHORT_FLEET), [data]);
  // A worker that registers is read by name; the rest of the list stays.
  useEffect(
    () =>
      listen((events) => {
        const names = new Set(
          events.flatMap(({ kind, worker }) => (worker !== undefined && kind === 'registered' ? [worker] : [])),
        );
        if (names.size > 5) refresh();
        else
          for (const name of names) {
            client.call('getWorker', { params: { name } }).then(
              ({ processes }) =>
                set((before) => ({
                  ...before,
                  workers: [...before.workers.filter((one) => one.name !== name), ...processes.slice(0, 5)],
                  absent: before.absent.filter((one) => one.name !== name),
                })),
              () => {},
            );
          }
      }),
    [set, refresh],
  );
  return workers;
}
