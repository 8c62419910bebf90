import { contenders, REFERENCE } from '../contenders/postgres/index.ts';
import { openServer } from '../ground/server.ts';
import { backlog } from '../measures/backlog.ts';
import { drain } from '../measures/drain.ts';
import { latency } from '../measures/latency.ts';
import { MANY_PROCESSES, push } from '../measures/push.ts';
import { snapshot } from '../measures/snapshot.ts';
import { postgresTargets } from '../targets/postgres.ts';
import { ENGINE } from '../targets/target.ts';
import type { Suite } from './suite.ts';

/** The others take a minute and more for a drain of this size, and it would be the same story. */
const GROWN = [ENGINE, 'graphile batched', 'pg-boss', REFERENCE];

export const postgres: Suite = {
  store: 'postgres',
  title: 'Postgres',
  contenders,
  reference: REFERENCE,
  measures: [
    push(MANY_PROCESSES),
    drain({ server: true }),
    latency({ seconds: 4, alone: false }),
    backlog(GROWN),
    snapshot,
  ],
  targets: postgresTargets,
  open: openServer,
};
