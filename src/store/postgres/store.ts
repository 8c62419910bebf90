import type * as port from '../store.ts';
import type { PostgresWakeups } from './connect/wakeups.ts';
import type { PostgresParts } from './parts.ts';
import { auditStore } from './stores/admin/audit-store.ts';
import { browserSessionStore } from './stores/admin/browser-session-store.ts';
import { credentialStore } from './stores/admin/credential-store.ts';
import { settingStore } from './stores/admin/setting-store.ts';
import { tagStore } from './stores/admin/tag-store.ts';
import { tokenStore } from './stores/admin/token-store.ts';
import { artifactStore } from './stores/artifact-store.ts';
import { budgetStore } from './stores/budget-store.ts';
import { claimStore } from './stores/claim-store.ts';
import { dependencyStore } from './stores/dependency-store.ts';
import { documentStore } from './stores/document-store.ts';
import { dutyStore } from './stores/duty-store.ts';
import { eventStore } from './stores/event-store.ts';
import { insightStore } from './stores/insight-store.ts';
import { laneStore } from './stores/lane-store.ts';
import { leaseStore } from './stores/lease-store.ts';
import { limitStore } from './stores/limit-store.ts';
import { logStore } from './stores/log-store.ts';
import { nodeStore } from './stores/node-store.ts';
import { poolStore } from './stores/pool-store.ts';
import { pushStore } from './stores/push-store.ts';
import { queueStore } from './stores/queue-store.ts';
import { reactionStore } from './stores/reaction-store.ts';
import { resultStore } from './stores/result-store.ts';
import { runStore } from './stores/run-store.ts';
import { settleStore } from './stores/settle-store.ts';
import { storeParts } from './stores/store-parts.ts';
import { taskStore } from './stores/task-store.ts';
import { treeStore } from './stores/tree-store.ts';
import { triggerStore } from './stores/trigger-store.ts';
import { turnStore } from './stores/turn-store.ts';
import { upkeepStore } from './stores/upkeep-store.ts';
import { waitStore } from './stores/wait-store.ts';
import { workerStore } from './stores/worker-store.ts';
import { workflowStore } from './stores/workflow-store.ts';

const CAPABILITIES: port.Capabilities = {
  name: 'postgres',
  shared: true,
  durable: true,
  callerTransactions: true,
  numbersEvents: false,
  sharesCommits: false,
  whole: true,
};

export interface PostgresStore extends port.Store {
  taskPushIn(params: port.PushInParams): Promise<readonly port.PushAnswer[]>;
}

/**
 * The port on Postgres, composed of one part for each interface of the port. A part in `stores/` decides on which
 * connection and in which transaction a verb runs. The verb itself is a function in `verbs/`.
 */
export function postgresStore(parts: PostgresParts, wakeups: PostgresWakeups, clusterKey: string): PostgresStore {
  const shared = storeParts(parts, wakeups);
  return {
    clusterKey,
    capabilities: CAPABILITIES,

    ...laneStore(shared),
    ...pushStore(shared),
    ...claimStore(shared),
    ...settleStore(shared),
    ...leaseStore(shared),
    ...logStore(shared),
    ...taskStore(shared),
    ...queueStore(shared),
    ...upkeepStore(shared),
    ...workerStore(shared),
    ...dutyStore(shared),
    ...eventStore(shared),

    ...limitStore(shared),
    ...dependencyStore(shared),
    ...waitStore(shared),
    ...turnStore(shared),
    ...treeStore(shared),
    ...runStore(shared),
    ...budgetStore(shared),
    ...resultStore(shared),
    ...triggerStore(shared),
    ...reactionStore(shared),
    ...workflowStore(shared),
    ...poolStore(shared),
    ...settingStore(shared),
    ...tokenStore(shared),
    ...browserSessionStore(shared),
    ...auditStore(shared),
    ...credentialStore(shared),
    ...tagStore(shared),
    ...artifactStore(shared),
    ...nodeStore(shared),
    ...documentStore(shared),
    ...insightStore(shared),

    watch: (params) => shared.hints.watch(params),
    async close() {
      await wakeups.close();
      await Promise.all([parts.database.close(), parts.reserved.close()]);
    },
  };
}
