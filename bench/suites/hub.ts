import { contenders, DIRECT } from '../contenders/hub/index.ts';
import { openHubGround } from '../ground/hub.ts';
import { idle } from '../hub/idle.ts';
import { latency } from '../hub/latency.ts';
import type { HubOptions } from '../hub/options.ts';
import { stalled } from '../hub/stalled.ts';
import { storm } from '../hub/storm.ts';
import { throughput } from '../hub/throughput.ts';
import { hubTargets } from '../targets/hub.ts';
import type { Suite } from './suite.ts';

export function hubSuite(store: 'sqlite' | 'postgres', options: HubOptions): Suite {
  return {
    store: 'hub',
    title: `Remote workers on ${store === 'postgres' ? 'Postgres' : 'SQLite'}, ${options.workers} of them`,
    contenders,
    reference: DIRECT,
    measures: [idle(options), stalled(options), storm(options), throughput(options), latency],
    targets: hubTargets,
    open: () => openHubGround(store),
  };
}
