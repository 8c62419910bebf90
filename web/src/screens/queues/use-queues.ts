/** The list of queues, patched row by row, and how many tasks of a queue end per second. */

import { useEffect, useRef, useState } from 'react';
import { client, type Queue } from '../../api.ts';
import { listen } from '../../live/feed.ts';
import { useResource } from '../../live/resource.ts';

/** A queue that an event names is read again by itself; the other rows stay. */
export function useQueues() {
  const queues = useResource('queues', (signal) => client.call('listQueues', { signal }), { everyMs: 30_000 });
  const { set, refresh } = queues;
  const known = useRef<ReadonlySet<string>>(new Set());
  known.current = new Set(queues.data?.queues.map(({ name }) => name));
  useEffect(() => {
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      timer = undefined;
      const names = [...stale].slice(0, 8);
      for (const name of names) stale.delete(name);
      const fresh = await Promise.all(
        names.map((queue) => client.call('getQueue', { params: { queue } }).catch(() => undefined)),
      );
      set((data) => ({
        ...data,
        queues: data.queues.map((one) => fresh.find((queue) => queue?.name === one.name) ?? one),
      }));
      if (stale.size > 0) timer ??= setTimeout(() => void look(), 500);
    };
    const unlisten = listen((events) => {
      for (const { queue } of events) {
        if (queue === undefined) continue;
        if (known.current.has(queue)) stale.add(queue);
        else refresh();
      }
      if (stale.size > 0) timer ??= setTimeout(() => void look(), 500);
    });
    return () => {
      unlisten();
      clearTimeout(timer);
    };
  }, [set, refresh]);
  return queues;
}

/** Tasks that end per second, from the totals of the queue since this page was opened. */
export function useRate(queue: Queue): { readonly rate: number; readonly history: readonly number[] } {
  const samples = useRef<{ readonly at: number; readonly total: number }[]>([]);
  const [state, setState] = useState<{ rate: number; history: readonly number[] }>({ rate: 0, history: [] });
  const total = queue.completed + queue.failed;
  const latest = useRef(total);
  latest.current = total;
  useEffect(() => {
    const timer = setInterval(() => {
      const all = samples.current;
      all.push({ at: Date.now(), total: latest.current });
      if (all.length > 60) all.shift();
      const history = all
        .slice(1)
        .map((one, i) =>
          Math.max(0, ((one.total - (all[i]?.total ?? 0)) * 1000) / Math.max(1, one.at - (all[i]?.at ?? 0))),
        );
      const recent = history.slice(-5);
      setState({ rate: recent.reduce((sum, one) => sum + one, 0) / Math.max(1, recent.length), history });
    }, 2000);
    return () => clearInterval(timer);
  }, []);
  return state;
}
