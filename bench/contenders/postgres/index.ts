/** To plug one in: write `contenders/postgres/NAME.ts` and add it here. */

import { COLD_TASKS } from '../../path/part.ts';
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

/** They take a minute and more for drains of this size, and it would be the same story. */
const SLOW = ['growth', 'snapshot'] as const;

export const url = (place: string): string => place;

export const variants = variantsOf(url);

const peers: readonly Contender[] = [
  graphile({ name: 'graphile batched', batched: true, drainTasks: 120_000, warmTasks: 1_600 }),
  graphile({ name: 'graphile', batched: false, slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW }),
  pgBoss({ name: 'pg-boss', drainTasks: 120_000, warmTasks: 1_600 }),
  bullmq({ name: 'bullmq', slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW, backend: postgresBackend }),
  dbos({ name: 'dbos', slow: true, drainTasks: 3_000, warmTasks: 800, without: SLOW }),
];

export const PEERS: readonly string[] = peers.map(({ name }) => name);

export const contenders: readonly Contender[] = [
  leasehold({ url }),
  library({ url, without: ['snapshot'], warmTasks: COLD_TASKS }),
  ...peers,
  floor({ name: FLOOR, batch: 1, drainTasks: 5_000, warmTasks: 800, without: ['latency', ...SLOW] }),
  floor({ name: REFERENCE, batch: 200, drainTasks: 120_000 }),
];
