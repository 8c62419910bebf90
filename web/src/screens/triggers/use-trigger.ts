/** Triggers, and the deliveries of one, as fresh as what happens makes them. */

import { client } from '../../api.ts';
import { useNewest } from '../../live/newest.ts';
import { useResource } from '../../live/resource.ts';
import { isFinal } from '../../model/task-states.ts';

/** Whatever happens may fire a trigger, and what it has started moves on by events. */
const LIVE = { everyMs: 5_000, on: () => true, atMostMs: 1_000 } as const;
/** As many as a node keeps, and gives at once. */
const MOST = 100;

export function useTriggers() {
  return useResource('triggers', (signal) => client.call('listTriggers', { signal }), LIVE);
}

export function useTrigger(name: string) {
  const params = { name };
  const trigger = useResource(`trigger ${name}`, (signal) => client.call('getTrigger', { params, signal }), LIVE);
  const deliveries = useNewest(
    `deliveries ${name}`,
    async (limit, signal) => (await client.call('triggerHistory', { params, query: { limit }, signal })).history,
    { ...LIVE, most: MOST, settled: ({ state }) => state === undefined || isFinal(state) },
  );
  return {
    trigger,
    deliveries,
    refresh: () => {
      trigger.refresh();
      deliveries.refresh();
    },
  };
}
