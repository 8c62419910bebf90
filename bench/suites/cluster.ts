import { contenders, ONE } from '../cluster/contenders.ts';
import { rolling } from '../cluster/rolling.ts';
import { scale } from '../cluster/scale.ts';
import { openServer } from '../ground/server.ts';
import { clusterTargets } from '../targets/cluster.ts';
import type { Suite } from './suite.ts';

export const clusterSuite: Suite = {
  store: 'postgres',
  title: 'Nodes on one Postgres',
  contenders,
  reference: ONE,
  measures: [scale, rolling],
  targets: clusterTargets,
  open: openServer,
};
