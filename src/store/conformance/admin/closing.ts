import assert from 'node:assert/strict';
import type { Store } from '../../store.ts';
import { HOUR, refusal } from '../kit/scene.ts';
import { lookAt } from '../kit/snapshot.ts';
import { needing, type Topic } from '../kit/topic.ts';

const DUTY = { name: 'reaper', epoch: 1 };
const LEASE = { task: 1, attempt: 1 };
const TRIGGER = {
  name: 'nightly',
  lane: 1,
  spec: 1,
  cron: '* * * * *',
  timezone: 'UTC',
  missed: 'latest',
  priority: 0,
  maxTries: 3,
  payload: '{}',
  nextAt: 1,
} as const;

const TOKEN = { kind: 'secret', role: 'worker', name: 'w', hash: 'h', prefix: 'p', by: 'me' } as const;

/** Every verb of the port that answers with a promise. */
const VERBS: Readonly<
  Record<
    Exclude<keyof Store, 'capabilities' | 'clusterKey' | 'taskPushIn' | 'watch' | 'close'>,
    (store: Store) => Promise<unknown>
  >
> = {
  laneIntern: (store) => store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] }),
  laneGet: (store) => store.laneGet({ lanes: [1] }),
  laneScan: (store) => store.laneScan({ after: 0, limit: 1 }),
  laneDepth: (store) => store.laneDepth({ lanes: [1], most: 1 }),
  specIntern: (store) => store.specIntern({ specs: ['{}'] }),
  specGet: (store) => store.specGet({ spec: 1 }),
  taskPush: (store) => store.taskPush({ items: [{ lane: 1, spec: 1, priority: 0, maxTries: 1, payload: '1' }] }),
  taskClaim: (store) => store.taskClaim({ claims: [{ holder: 1, ttlMs: 1, max: 1, lanes: [{ lane: 1, max: 1 }] }] }),
  taskSettle: (store) => store.taskSettle({ items: [{ ...LEASE, to: 'completed', reason: 'none' }] }),
  taskReturn: (store) =>
    store.taskReturn({ items: [{ ...LEASE, change: 'retried', delayMs: 0, refund: false, bounced: false }] }),
  leaseRenew: (store) => store.leaseRenew({ items: [{ ...LEASE, ttlMs: 1 }] }),
  leaseList: (store) => store.leaseList({}),
  attemptWorkers: (store) => store.attemptWorkers({ items: [LEASE] }),
  leaseCancels: (store) => store.leaseCancels({ holder: 1 }),
  logAppend: (store) => store.logAppend({ items: [{ ...LEASE, entries: [] }] }),
  logRead: (store) => store.logRead({ task: 1, limit: 1 }),
  logSize: (store) => store.logSize({ task: 1, attempt: 1 }),
  leaseOverdue: (store) => store.leaseOverdue({ limit: 1 }),
  leaseReap: (store) => store.leaseReap({ duty: DUTY, items: [] }),
  taskStage: (store) => store.taskStage({ duty: DUTY, limit: 1 }),
  taskExpire: (store) => store.taskExpire({ duty: DUTY, limit: 1 }),
  taskTurn: (store) => store.taskTurn({ items: [{ ...LEASE, entries: [], then: { go: 'on' } }] }),
  waitGet: (store) => store.waitGet({ task: 1 }),
  waitList: (store) => store.waitList({ limit: 1 }),
  signalKept: (store) => store.signalKept({ channel: 'c' }),
  signalSend: (store) => store.signalSend({ items: [{ channel: 'c', body: '1' }] }),
  journalList: (store) => store.journalList({ task: 1 }),
  journalSize: (store) => store.journalSize({ task: 1 }),
  journalHeads: (store) => store.journalHeads({ tasks: [1], limit: 1 }),
  journalEntries: (store) => store.journalEntries({ task: 1, keys: ['k'] }),
  treeList: (store) => store.treeList({ root: 1, after: 0, limit: 1 }),
  treeCount: (store) => store.treeCount({ root: 1 }),
  definitionPut: (store) => store.definitionPut({ items: [{ hash: 'h', kind: 'machine', body: '{}' }] }),
  definitionGet: (store) => store.definitionGet({ hash: 'h' }),
  runPush: (store) =>
    store.runPush({
      runs: [
        {
          task: { lane: 1, spec: 1, priority: 0, maxTries: 1, payload: '1' },
          run: { name: 'n', kind: 'task', title: 't', fingerprint: 'f' },
        },
      ],
    }),
  runGet: (store) => store.runGet({ tasks: [1] }),
  runFind: (store) => store.runFind({ name: 'n' }),
  runList: (store) => store.runList({ limit: 1 }),
  runNoteCancel: (store) => store.runNoteCancel({ task: 1 }),
  budgetSet: (store) => store.budgetSet({ root: 1, unit: 'tokens', hard: 1 }),
  budgetGet: (store) => store.budgetGet({ root: 1 }),
  resultKeys: (store) => store.resultKeys({ tasks: [1] }),
  resultFind: (store) => store.resultFind({ items: [{ key: 'k', maxAgeMs: 1 }] }),
  resultKeep: (store) => store.resultKeep({ items: [{ ...LEASE, key: 'k', maxAgeMs: 1, value: '1' }] }),
  graphPush: (store) => store.graphPush({ items: [] }),
  depList: (store) => store.depList({ task: 1 }),
  depDependents: (store) => store.depDependents({ tasks: [1] }),
  depNeeds: (store) => store.depNeeds({ tasks: [1] }),
  depCarry: (store) => store.depCarry({ duty: DUTY, limit: 1 }),
  taskGet: (store) => store.taskGet({ tasks: [1] }),
  taskList: (store) => store.taskList({ limit: 1 }),
  taskReady: (store) => store.taskReady({ lanes: [1], limit: 1 }),
  taskByKey: (store) => store.taskByKey({ queue: 'mail', key: 'k' }),
  clock: (store) => store.clock(),
  attemptList: (store) => store.attemptList({ task: 1 }),
  taskCancel: (store) => store.taskCancel({ tasks: [1] }),
  taskRevive: (store) => store.taskRevive({ tasks: [1] }),
  queueStats: (store) => store.queueStats({ queue: 'mail' }),
  queuePause: (store) => store.queuePause({ queue: 'mail', paused: true }),
  queueList: (store) => store.queueList(),
  workerRegister: (store) => store.workerRegister({ name: 'w', incarnation: 'late', slots: 1, tags: [] }),
  workerBeat: (store) => store.workerBeat({ beats: [{ worker: 1 }] }),
  workerReap: (store) => store.workerReap({ duty: DUTY, staleMs: 1 }),
  workerList: (store) => store.workerList(),
  workerSet: (store) => store.workerSet({ name: 'w' }),
  workerFleet: (store) => store.workerFleet(),
  workerSettings: (store) => store.workerSettings(),
  workerForget: (store) => store.workerForget({ name: 'w' }),
  nameHolders: (store) => store.nameHolders({ names: ['w'] }),
  nameLeave: (store) => store.nameLeave({ name: 'w', holder: 'w/1', process: 'p' }),
  tokenAdd: (store) => store.tokenAdd({ token: TOKEN }),
  tokenFind: (store) => store.tokenFind({ hash: TOKEN.hash }),
  tokenExchange: (store) => store.tokenExchange({ hash: 'c', token: TOKEN }),
  tokenAlive: (store) => store.tokenAlive({ ids: [1] }),
  browserSessionAdd: (store) => store.browserSessionAdd({ hash: 'h', began: { admin: 'a' }, ttlMs: 1, most: 1 }),
  browserSessionFind: (store) => store.browserSessionFind({ hash: 'h' }),
  browserSessionAlive: (store) => store.browserSessionAlive({ ids: [1] }),
  browserSessionEnd: (store) => store.browserSessionEnd({ hash: 'h' }),
  tokenList: (store) => store.tokenList(),
  documentWrite: (store) => store.documentWrite({ root: 'r', version: 1 }),
  documentTree: (store) => store.documentTree({ root: 'r' }),
  documentGet: (store) => store.documentGet({ ids: ['r'] }),
  documentOf: (store) => store.documentOf({ tasks: [1] }),
  documentList: (store) => store.documentList({ roots: true, limit: 1 }),
  taskCount: (store) =>
    store.taskCount({ queues: [], handlers: [], states: [], from: 0, until: 1, stepMs: 1, limit: 1 }),
  failureList: (store) => store.failureList({ limit: 1 }),
  handlerQueues: (store) => store.handlerQueues({ limit: 1 }),
  viewPut: (store) => store.viewPut({ view: { name: 'v', screen: 'tasks', query: '', by: 'me' }, most: 9 }),
  viewList: (store) => store.viewList(),
  viewDrop: (store) => store.viewDrop({ name: 'v' }),
  schemaPut: (store) => store.schemaPut({ worker: 'box', schemas: [{ handler: 'h', schema: '{}' }] }),
  schemaList: (store) => store.schemaList(),
  documentCount: (store) => store.documentCount({ roots: true }),
  tokenUsed: (store) => store.tokenUsed({ ids: [1] }),
  tokenRevoke: (store) => store.tokenRevoke({ id: 1 }),
  limitPut: (store) => store.limitPut({ name: 'l', limit: { strategy: 'queue' }, by: 'me' }),
  limitEdit: (store) => store.limitEdit({ name: 'l', edit: { concurrent: 1 }, by: 'me' }),
  limitRemove: (store) => store.limitRemove({ name: 'l', by: 'me' }),
  limitList: (store) => store.limitList(),
  limitHistory: (store) => store.limitHistory({ name: 'l', limit: 1 }),
  limitCounters: (store) => store.limitCounters({ name: 'l', limit: 1 }),
  counterGet: (store) => store.counterGet({ counters: [1] }),
  counterHolders: (store) => store.counterHolders({ counter: 1, limit: 1 }),
  counterPause: (store) => store.counterPause({ name: 'l', key: '', forMs: 1 }),
  counterAudit: (store) => store.counterAudit({ duty: DUTY }),
  dutyTake: (store) => store.dutyTake({ name: 'late', holder: 'x', ttlMs: 1 }),
  dutyRenew: (store) => store.dutyRenew({ duty: DUTY, ttlMs: 1 }),
  dutyRelease: (store) => store.dutyRelease({ duty: DUTY }),
  dutyList: (store) => store.dutyList(),
  nodeBeat: (store) => store.nodeBeat({ id: 'a', incarnation: 'a1', first: true, wish: 'auto', stand: 'worker' }),
  nodeList: (store) => store.nodeList(),
  nodeLeave: (store) => store.nodeLeave({ id: 'a', incarnation: 'a1' }),
  nodeRole: (store) => store.nodeRole({ id: 'a', role: 'observer' }),
  settingRead: (store) => store.settingRead({ name: 'upgrade' }),
  settingSwap: (store) => store.settingSwap({ name: 'upgrade', before: undefined, value: '{}' }),
  secretPin: (store) => store.secretPin({ fingerprint: 'f' }),
  eventRead: (store) => store.eventRead({ after: 0, limit: 1 }),
  eventNumber: (store) => store.eventNumber({ duty: DUTY, limit: 1 }),
  taskPrune: (store) => store.taskPrune({ duty: DUTY, retentionMs: 0, limit: 1 }),
  statsAudit: (store) => store.statsAudit({ duty: DUTY }),
  triggerPut: (store) => store.triggerPut({ trigger: TRIGGER }),
  triggerRemove: (store) => store.triggerRemove({ name: 'nightly' }),
  triggerList: (store) => store.triggerList(),
  triggerFind: (store) => store.triggerFind({ name: 'nightly' }),
  triggerPause: (store) => store.triggerPause({ name: 'nightly' }),
  triggerResume: (store) => store.triggerResume({ name: 'nightly', cron: '* * * * *', timezone: 'UTC', nextAt: 1 }),
  triggerRun: (store) =>
    store.triggerRun({ name: 'nightly', item: { lane: 1, spec: 1, priority: 0, maxTries: 3, payload: '{}' } }),
  triggerFires: (store) => store.triggerFires({ name: 'nightly', limit: 1 }),
  triggerDue: (store) => store.triggerDue({ limit: 1 }),
  auditAdd: (store) =>
    store.auditAdd({ actor: 'a', role: 'admin', action: 'a', target: 't', face: 'http', outcome: 'done' }),
  auditEnd: (store) => store.auditEnd({ id: 1, outcome: 'done', status: 200 }),
  auditList: (store) => store.auditList({ limit: 1 }),
  auditPrune: (store) => store.auditPrune({ duty: DUTY, retentionMs: 1, strangers: 1, limit: 1 }),
  credentialPut: (store) => store.credentialPut({ name: 'c', addWorkers: ['w'] }),
  credentialRemove: (store) => store.credentialRemove({ name: 'c' }),
  credentialList: (store) => store.credentialList(),
  credentialGet: (store) => store.credentialGet({ name: 'c' }),
  credentialValues: (store) => store.credentialValues({}),
  credentialHoldings: (store) => store.credentialHoldings({}),
  credentialReport: (store) => store.credentialReport({ worker: 'w', said: undefined }),
  credentialAck: (store) => store.credentialAck({ worker: 'w', credential: 'c', version: 1, status: 'stored' }),
  credentialPending: (store) => store.credentialPending({ workers: ['w'] }),
  credentialSigner: (store) => store.credentialSigner({}),
  credentialReseal: (store) => store.credentialReseal({ fingerprint: 'f', values: [] }),
  tagAdd: (store) => store.tagAdd({ name: 'gpu', by: 'me' }),
  tagList: (store) => store.tagList(),
  tagRename: (store) => store.tagRename({ from: 'gpu', to: 'cuda', by: 'me' }),
  tagRemove: (store) => store.tagRemove({ name: 'gpu', force: false }),
  artifactBegin: (store) =>
    store.artifactBegin({
      ...LEASE,
      id: `art_${'0'.repeat(32)}`,
      name: 'a',
      type: 'text/plain',
      kind: 'file',
      size: 1,
      sha256: '0'.repeat(64),
      own: false,
    }),
  artifactEnd: (store) => store.artifactEnd({ ...LEASE, id: `art_${'0'.repeat(32)}` }),
  artifactGet: (store) => store.artifactGet({ ids: [`art_${'0'.repeat(32)}`] }),
  artifactPending: (store) => store.artifactPending({ id: `art_${'0'.repeat(32)}` }),
  artifactList: (store) => store.artifactList({ limit: 1 }),
  artifactRemove: (store) => store.artifactRemove({ ids: [`art_${'0'.repeat(32)}`] }),
  artifactSweep: (store) => store.artifactSweep({ duty: DUTY, retentionMs: 1, pendingMs: 1, limit: 1 }),
  artifactSwept: (store) => store.artifactSwept({ duty: DUTY, ids: [`art_${'0'.repeat(32)}`] }),
  artifactUsage: (store) => store.artifactUsage(),
  poolPut: (store) => store.poolPut({ name: 'p', body: '{}', by: 'me' }),
  poolGet: (store) => store.poolGet({ name: 'p' }),
  poolList: (store) => store.poolList({ after: '', limit: 1 }),
  poolRemove: (store) => store.poolRemove({ name: 'p' }),
  poolLook: (store) => store.poolLook({ name: 'p', staleMs: 1 }),
  poolAct: (store) =>
    store.poolAct({ name: 'p', staleMs: 1, tickets: [], upTo: 1, ttlMs: 1, drain: [], decision: undefined }),
  ticketNote: (store) => store.ticketNote({ id: 't', error: 'e' }),
  ticketList: (store) => store.ticketList({ pool: 'p', before: 1, limit: 1 }),
  decisionList: (store) => store.decisionList({ pool: 'p', before: 1, limit: 1 }),
  workflowPut: (store) => store.workflowPut({ name: 'w', revision: 1, enabled: true, triggers: [] }),
  workflowGet: (store) => store.workflowGet({ name: 'w' }),
  workflowList: (store) => store.workflowList({ after: '', limit: 1 }),
  workflowVersions: (store) => store.workflowVersions({ name: 'w', before: 9, limit: 1 }),
  workflowRemove: (store) => store.workflowRemove({ name: 'w', revision: 1 }),
  reactionPut: (store) => store.reactionPut({ name: 'a', kind: 'manual', body: '{}' }),
  reactionFind: (store) => store.reactionFind({ name: 'a' }),
  reactionList: (store) => store.reactionList(),
  reactionRemove: (store) => store.reactionRemove({ name: 'a' }),
  reactionEnable: (store) => store.reactionEnable({ name: 'a', enabled: true, cursor: 0 }),
  reactionFire: (store) => store.reactionFire({ name: 'a', revision: 1, deliveries: [] }),
  reactionNote: (store) => store.reactionNote({ name: 'a', n: 1, outcome: 'done' }),
  reactionLines: (store) => store.reactionLines({ name: 'a', limit: 1 }),
  reactionKeys: (store) => store.reactionKeys({ name: 'a', prefix: '', after: '', limit: 1 }),
  reactionLinks: (store) => store.reactionLinks({ tasks: [1] }),
  workerLosses: (store) => store.workerLosses({ after: 0, limit: 1 }),
  triggerFire: (store) => store.triggerFire({ duty: DUTY, name: 'nightly', from: 1, nextAt: 2, slots: [], items: [] }),
};

export const CLOSING: Topic = {
  name: 'opening and closing',
  cases: {
    'a store says what it is called and has a cluster key of 32 hex digits': async ({ store }) => {
      assert.ok(store.capabilities.name.length > 0);
      assert.match(store.clusterKey, /^[0-9a-f]{32}$/);
      await Promise.resolve();
    },

    'a closed store refuses every verb, and none of them hangs': needing(['whole'], async (scene) => {
      await scene.running();
      await scene.duty();
      await scene.store.close();
      scene.closed = true;
      for (const [name, verb] of Object.entries(VERBS)) {
        assert.equal(await refusal(verb(scene.store)), 'STORE_CLOSED', name);
      }
    }),

    'closing twice is closing once': async (scene) => {
      await scene.store.close();
      scene.closed = true;
      await scene.store.close();
      await Promise.all([scene.store.close(), scene.store.close()]);
    },

    'a write that is under way when the store closes is done or refused, and never half done': needing(
      ['reopen'],
      async (scene) => {
        const item = await scene.draft({ unique: { key: 'k', hash: 1, windowMs: HOUR } });
        const other = await scene.reopen();
        const write = scene.store.taskPush({ items: [item] }).then(
          ([answer]) => answer,
          (error: unknown) => error,
        );
        await scene.store.close();
        scene.closed = true;
        const outcome = (await write) as { ok?: boolean; code?: string };
        const { tasks, events } = await lookAt(other);
        if (outcome.ok) assert.deepEqual([tasks.length, events.length], [1, 1]);
        else {
          assert.equal(outcome.code, 'STORE_CLOSED');
          assert.deepEqual([tasks.length, events.length], [0, 0]);
        }
      },
    ),

    'a watch can be ended at any time, also after the store was closed': async (scene) => {
      const stop = scene.store.watch({ wanted: () => true, onChange: () => {} });
      const other = scene.store.watch({ wanted: () => true, onChange: () => {} });
      stop();
      stop();
      await scene.store.close();
      scene.closed = true;
      other();
    },

    'a new store has its own cluster key and nothing in it': async (scene) => {
      const nothing = { tasks: [], queues: [], events: [], feed: [], workers: [], triggers: [] };
      assert.deepEqual(await scene.look(), nothing);
    },
  },
};
