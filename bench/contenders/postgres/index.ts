/** To plug one in: write `contenders/postgres/NAME.ts` and add it here. */

import { bullmq } from '../bullmq.ts';
import type { Contender } from '../contender.ts';
import { leasehold } from '../leasehold.ts';
import { library } from '../library.ts';
import { variantsOf } from '../variants.ts';
import { postgresBackend } from './bullmq-backend.ts';
import { dbos } from './dbos.ts';
import { floor } from './floor.ts';
import { graphile } from './graphile.ts';
import { pgBoss } from './pg-boss.ts';

/** One task per commit; pushes are plain INSERTs. */
export const FLOOR = 'floor single';
/** The column that ratios refer to. */
export const REFERENCE = 'floor batch';

/**
 * The same for all that claim in batches: with four processes the library had half as many as its peers, and so twice their share of code that is
 * still being compiled. After 10,000 tasks a process takes 35 µs for one, after 25,000 it takes 27.
 */
const DRAIN_TASKS = 120_000;
const WARM_TASKS = 30_000;

/** They take a minute and more for drains of this size, and it would be the same story. */
const SLOW = ['growth', 'snapshot'] as const;

export const url = (place: string): string => place;

export const variants = variantsOf(url);

const peers: readonly Contender[] = [
  graphile({ name: 'graphile batched', batched: true, drainTasks: DRAIN_TASKS, warmTasks: WARM_TASKS }),
  graphile({ name: 'graphile', batched: false, slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW }),
  pgBoss({ name: 'pg-boss', drainTasks: DRAIN_TASKS, warmTasks: WARM_TASKS }),
  bullmq({ name: 'bullmq', slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW, backend: postgresBackend }),
  dbos({ name: 'dbos', slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW }),
];

export const PEERS: readonly string[] = peers.map(({ name }) => name);

export const contenders: readonly Contender[] = [
  leasehold({ url }),
  library({ url, without: ['snapshot'], drainTasks: DRAIN_TASKS, warmTasks: WARM_TASKS }),
  ...peers,
  floor({ name: FLOOR, batch: 1, drainTasks: 5_000, warmTasks: 800, without: ['latency', ...SLOW] }),
  floor({ name: REFERENCE, batch: 200, drainTasks: DRAIN_TASKS, warmTasks: WARM_TASKS }),
];
