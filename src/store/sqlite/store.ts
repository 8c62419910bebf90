import type * as port from '../store.ts';
import type { SqliteParts } from './parts.ts';
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

export interface SqliteStore extends port.Store {
  /** The longest time that one transaction blocked this thread, in milliseconds. */
  readonly longestWriteMs: number;
  taskPushIn(params: port.PushInParams): readonly port.PushAnswer[];
}

/**
 * The port on SQLite, composed of one part for each interface of the port. A part in `stores/` decides whether a verb
 * reads or writes, and in which rank of the one writer. The verb itself is a function in `verbs/`.
 */
export function sqliteStore(parts: SqliteParts): SqliteStore {
  const shared = storeParts(parts);
  const { clusterKey, writer, housekeeper, bell } = parts;
  return {
    clusterKey,
    capabilities: capabilitiesOf(parts),

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

    get longestWriteMs() {
      return writer.longestMs;
    },
    watch: (params) => shared.watchers.watch(params),
    async close() {
      shared.watchers.close();
      bell?.close();
      await housekeeper?.close();
      writer.close();
    },
  };
}

function capabilitiesOf({ inMemory, durability }: SqliteParts): port.Capabilities {
  return {
    name: inMemory ? 'memory' : 'sqlite',
    shared: !inMemory,
    durable: !inMemory && durability === 'full',
    callerTransactions: !inMemory,
    numbersEvents: true,
    sharesCommits: true,
    whole: true,
  };
}
