import { fault } from '../core/errors.ts';
import { EMPTY_STATS } from '../core/task/event.ts';
import type { QueueStore, Store } from '../store/store.ts';

/** Everything of the port that a plain queue does not need. */
type Rest = Omit<Store, keyof QueueStore>;

/** The store as the engine needs it, with answers for the verbs that it lacks. */
export function wholeStore(store: QueueStore): Store {
  if (store.capabilities.whole) return store as Store;
  const rest = restOf(store);
  // Verbs keep their own object as `this`: an adapter may be a class with private fields.
  return new Proxy(store, {
    get(target, name) {
      if (!(name in target) && name in rest) return rest[name as keyof Rest];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
    has: (target, name) => name in target || name in rest,
  }) as Store;
}

/**
 * The verbs of a store that lacks these parts. Reads find nothing, because claims, duties and Explain do them in passing. A call that needs
 * such a part is refused with `UNSUPPORTED`.
 */
function restOf(store: QueueStore): Rest {
  const { name } = store.capabilities;
  const none = async (): Promise<readonly never[]> => [];
  const nothing = async (): Promise<undefined> => undefined;
  const no = (part: string) => async (): Promise<never> => {
    throw fault('UNSUPPORTED', { store: name, part });
  };
  const each = async ({ tasks }: { readonly tasks: readonly number[] }): Promise<readonly undefined[]> =>
    tasks.map(() => undefined);
  return {
    taskPushIn: no('transactions of callers'),
    taskReady: none,
    taskByKey: no('search by key'),

    limitPut: no('limits'),
    limitEdit: no('limits'),
    limitRemove: async () => false,
    limitList: none,
    limitHistory: none,
    limitCounters: none,
    counterGet: async ({ counters }) => ({ now: (await store.clock()).lease, counters: counters.map(() => undefined) }),
    counterHolders: none,
    counterPause: async () => false,
    counterAudit: none,

    graphPush: no('dependencies'),
    depList: none,
    depDependents: none,
    depNeeds: none,
    depCarry: async () => ({ carried: 0, lanes: [], more: false }),

    taskTurn: no('turns'),
    journalList: none,
    journalHeads: none,
    journalEntries: none,
    journalSize: async () => ({ entries: 0, bytes: 0 }),
    treeList: none,
    treeCount: async () => EMPTY_STATS,
    definitionPut: no('runs'),
    definitionGet: nothing,
    runPush: no('runs'),
    runGet: each,
    runFind: nothing,
    runList: async () => ({ runs: [], next: undefined }),
    runNoteCancel: no('runs'),
    budgetSet: no('budgets'),
    budgetGet: none,
    waitGet: nothing,
    waitList: none,
    signalKept: () => Promise.resolve(0),
    signalSend: no('signals'),

    resultKeys: each,
    resultFind: async ({ items }) => items.map(() => undefined),
    resultKeep: no('kept results'),

    triggerPut: no('triggers'),
    triggerRemove: async () => false,
    triggerList: none,
    triggerFind: async () => undefined,
    triggerPause: async () => false,
    triggerResume: async () => false,
    triggerRun: async () => undefined,
    triggerFires: none,
    triggerDue: async () => ({ now: (await store.clock()).calendar, triggers: [], nextInMs: undefined }),
    triggerFire: no('triggers'),
    reactionPut: no('triggers'),
    reactionFind: async () => undefined,
    reactionList: none,
    reactionRemove: async () => false,
    reactionEnable: async () => false,
    reactionFire: async () => ({ kind: 'gone' }),
    reactionNote: no('triggers'),
    reactionLines: none,
    reactionKeys: none,
    reactionLinks: async ({ tasks }) => tasks.map(() => undefined),
    workerLosses: async ({ after }) => ({ losses: [], reset: false, last: after }),
    workflowPut: no('workflows'),
    workflowGet: nothing,
    workflowList: none,
    workflowVersions: none,
    workflowRemove: no('workflows'),
    poolPut: no('pools'),
    poolGet: nothing,
    poolList: none,
    poolRemove: no('pools'),
    poolLook: nothing,
    poolAct: no('pools'),
    ticketNote: no('pools'),
    ticketList: none,
    decisionList: none,

    workerSet: no('settings of workers'),
    workerSettings: none,
    workerForget: async () => ({ setting: false, tokens: 0 }),
    nameHolders: async ({ names }) => names.map(() => undefined),
    nameLeave: nothing,

    tokenAdd: no('tokens'),
    tokenExchange: no('tokens'),
    tokenFind: nothing,
    tokenList: none,
    tokenUsed: async () => {},
    tokenRevoke: async () => false,
    tokenAlive: async ({ ids }) => ids.map(() => false),

    browserSessionAdd: no('browser sessions'),
    browserSessionFind: nothing,
    browserSessionAlive: async ({ ids }) => ids.map(() => false),
    browserSessionEnd: async () => false,

    credentialPut: no('credentials'),
    credentialRemove: no('credentials'),
    credentialList: none,
    credentialGet: async () => undefined,
    credentialValues: none,
    credentialHoldings: none,
    credentialReport: none,
    credentialAck: async () => false,
    credentialPending: none,
    credentialSigner: no('credentials'),
    credentialReseal: no('credentials'),

    auditAdd: no('audit'),
    auditEnd: async () => false,
    auditList: none,
    auditPrune: async () => 0,

    tagAdd: no('tags'),
    tagList: none,
    tagRename: no('tags'),
    tagRemove: no('tags'),

    artifactBegin: no('artifacts'),
    artifactEnd: no('artifacts'),
    artifactGet: none,
    artifactPending: nothing,
    artifactList: none,
    artifactRemove: async () => 0,
    artifactSweep: no('artifacts'),
    artifactSwept: nothing,
    artifactUsage: async () => ({ entries: 0, bytes: 0 }),

    nodeBeat: no('nodes'),
    nodeList: async () => ({ now: (await store.clock()).lease, nodes: [] }),
    nodeLeave: nothing,
    nodeRole: async () => false,
    secretPin: no('nodes'),
    settingRead: async () => undefined,
    settingSwap: no('settings of the cluster'),

    documentWrite: no('documents'),
    documentGet: async ({ ids }) => ids.map(() => undefined),
    documentOf: each,
    documentTree: none,
    documentList: none,
    documentCount: no('documents'),

    taskCount: async () => ({ counts: [], looked: 0, last: undefined }),
    failureList: none,
    handlerQueues: none,
    viewPut: no('saved views'),
    viewList: none,
    viewDrop: async () => false,
    schemaPut: nothing,
    schemaList: none,
  };
}
