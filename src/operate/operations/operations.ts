import type { RouteName } from '../../protocol/routes.ts';
import { artifactOperations } from '../files/artifacts.ts';
import { loopOperations } from '../loops/loop-operations.ts';
import { auditOperations } from './audit.ts';
import { clusterOperations } from './cluster.ts';
import { credentialOperations } from './credentials.ts';
import { eventOperations } from './events.ts';
import { limitOperations } from './limits.ts';
import type { Operation, Operations } from './operation.ts';
import { poolOperations } from './pools.ts';
import { pushOperations } from './pushing.ts';
import { queueOperations } from './queues.ts';
import { runGraphOperations } from './run-graphs.ts';
import { runOperations } from './runs.ts';
import { scheduleOperations } from './schedules.ts';
import { tagOperations } from './tags.ts';
import { taskOperations } from './tasks.ts';
import { triggerOperations } from './triggers.ts';
import { upgradeOperations } from './upgrades.ts';
import { waitOperations } from './waits.ts';
import { workerOperations } from './workers.ts';
import { workflowOperations } from './workflows.ts';

const ALL = {
  ...pushOperations,
  ...taskOperations,
  ...runOperations,
  ...runGraphOperations,
  ...loopOperations,
  ...artifactOperations,
  ...scheduleOperations,
  ...workflowOperations,
  ...triggerOperations,
  ...queueOperations,
  ...workerOperations,
  ...credentialOperations,
  ...tagOperations,
  ...poolOperations,
  ...limitOperations,
  ...waitOperations,
  ...eventOperations,
  ...clusterOperations,
  ...auditOperations,
  ...upgradeOperations,
} satisfies Operations;

/** The routes that an operator has: those that an engine can answer. */
export type OperatedName = keyof typeof ALL;

export const OPERATIONS: { readonly [N in OperatedName]: Operation<N> } = ALL;

export function isOperated(name: RouteName): name is OperatedName {
  return Object.hasOwn(OPERATIONS, name);
}
