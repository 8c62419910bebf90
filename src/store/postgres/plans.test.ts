import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { scaled } from '../../../test/support/scale.ts';
import { realWorld } from '../../app/world.ts';
import type { TaskQuery } from '../store.ts';
import { parseAddress } from './connect/address.ts';
import type { Database, Session } from './connect/database.ts';
import { openPostgres } from './open.ts';
import type { PostgresParts } from './parts.ts';
import { type StatementName, statements } from './statements.ts';
import { countTasks } from './verbs/admin/insight.ts';
import { prune } from './verbs/admin/prune.ts';
import { listTasks } from './verbs/admin/read.ts';

const BY_ID = 'task_pkey(id)';
const DONE_BY_ID = 'done_id(id)';
const DUTY = 'duty_pkey(name)';
const WAIT = 'wait_pkey(task)';
const CARRY = 'dep_carry_pkey(up)';
/** What tasks give back to their limits. */
const GIVE = ['lane_slot_pkey(lane)', 'slot_pkey(id)'] as const;
const RECORD = [
  BY_ID,
  DONE_BY_ID,
  'body_pkey(task, part)',
  'lane_pkey(id)',
  'queue_pkey(id)',
  'uniq_task(task)',
] as const;

/**
 * How each statement must reach existing rows: the index and the columns by which it is searched, whatever the planner
 * believes about the tables. `first` is the beginning or the end of an index up to a LIMIT; `*` is all of it. Sets that
 * a statement itself makes are left out, and so are inserts.
 */
const ACCESS: Partial<Record<StatementName, readonly string[]>> = {
  now: [],
  notify: [],
  queuePause: [],
  laneFind: ['lane_hash_key(hash)', 'queue_pkey(id)'],
  laneGet: ['lane_pkey(id)', 'queue_pkey(id)'],
  // One step down the tree for each lane that has ready tasks.
  laneScan: ['task_ready(lane)'],
  laneDepth: ['task_ready(lane)', 'task_ready(lane, prio)'],
  specGet: ['spec_pkey(id)'],

  push: [],
  pushOne: [],
  pushAndTell: [],
  pushAlike: [],
  pushFull: [],
  flightsOver: ['flight_pkey(store, n)'],
  taskIds: [],
  opTake: [],
  opFind: ['op_pkey(id)'],
  opAnswer: ['op_pkey(id)'],
  opPut: [],
  uniqTake: [],
  uniqFind: [BY_ID, DONE_BY_ID, 'uniq_pkey(queue, key)'],
  uniqReplace: ['uniq_pkey(queue, key)'],
  uniqGet: ['queue_name_key(name)', 'uniq_pkey(queue, key)'],
  stand: [BY_ID, DONE_BY_ID],

  // In the order of the index from the cursor on, up to the LIMIT.
  claim: [BY_ID, 'task_ready(lane, (prio, id))', 'entry_token_pkey(id)', 'worker_pkey(id)'],
  claimAmple: [...GIVE, BY_ID, 'task_ready(lane, (prio, id))', 'entry_token_pkey(id)', 'worker_pkey(id)'],
  claimCapped: [...GIVE, BY_ID, 'task_ready(lane, (prio, id))', 'entry_token_pkey(id)', 'worker_pkey(id)'],
  claimAged: [BY_ID, 'task_ready(lane)', 'entry_token_pkey(id)', 'worker_pkey(id)'],
  claimTask: [BY_ID, 'queue_pkey(id)', 'entry_token_pkey(id)', 'worker_pkey(id)'],
  laneHeads: ['task_ready(lane)'],
  taskLane: [BY_ID],
  workerLock: ['worker_pkey(id)'],
  heldLike: ['lane_pkey(id)', 'task_running(holder)'],
  slotLock: ['limit_def_pkey(id)', 'slot_pkey(id)'],
  slotTake: ['slot_pkey(id)'],
  slotGet: ['limit_def_pkey(id)', 'slot_pkey(id)'],
  slotPause: ['slot_pkey(id)'],
  slotSet: ['slot_pkey(id)'],
  slotWaiting: ['lane_slot_slot(slot)', 'task_ready(lane)'],
  slotReady: ['lane_slot_slot(slot)', 'task_ready(lane)'],
  slotOldest: ['lane_slot_slot(slot)', 'task_ready(lane)'],
  laneServed: ['lane_pkey(id)', 'worker_pkey(id)'],
  slotFind: ['slot_def_key_key(def, key)'],
  slotAdd: [],
  laneSlotAdd: [],
  limitPut: [],
  limitTake: [],
  limitChangeAdd: [],
  settingGet: ['worker_setting_pkey(name)'],
  settingTake: [],
  settingDrop: ['worker_setting_pkey(name)'],
  settingPut: ['worker_setting_pkey(name)'],
  workerChange: ['worker_pkey(id)'],
  nameGet: ['cluster_node_pkey(id)', 'worker_incarnation_key(incarnation)', 'worker_name_pkey(name)'],
  namePut: [],
  nameHolders: ['worker_name_pkey(name)'],
  nameLeave: ['worker_name_pkey(name)'],
  workersRevise: ['worker_pkey(id)'],
  workerFleet: ['task_running(holder)', 'worker_live(*)', 'worker_total_pkey(name)'],
  claimAgain: [BY_ID],
  bodies: ['body_pkey(task, part)'],

  complete: [BY_ID],
  completeLimited: [...GIVE, BY_ID],
  settle: [...GIVE, BY_ID],
  endedAs: ['attempt_pkey(task, attempt)', DONE_BY_ID],
  return: [...GIVE, BY_ID],
  returnMetered: [...GIVE, BY_ID],
  cancelWanted: [BY_ID],
  renew: [BY_ID],
  cancels: ['task_running(holder)'],
  attemptWorkers: ['attempt_pkey(task, attempt)', BY_ID, DONE_BY_ID, 'worker_pkey(id)'],
  held: ['task_running(*)'],
  heldBy: ['task_running(holder)'],
  logAdd: [BY_ID],
  logRead: ['log_pkey(task, (attempt, seq))'],
  logSize: ['log_pkey(task, attempt)'],

  // The whole index, because there is no other order: it never has more rows than the workers have slots.
  overdue: ['task_running(first)'],
  firstExpiry: ['task_running(*)'],
  nextExpiry: ['task_running(*)'],
  reap: [DUTY, ...GIVE, BY_ID],
  stage: [DUTY, 'task_due(run_at)', BY_ID, WAIT],
  stageLook: ['duty_pkey(name)', 'task_due(first)'],
  stageNext: ['task_due(first)'],
  // All that is due after a while, when somebody has set the clock back.
  stepDue: ['task_due(*)', BY_ID, WAIT, 'attempt_pkey(task, attempt)', 'dep_down(down)'],
  stepHeld: ['task_due(run_at)', BY_ID],
  stepExpiry: ['task_expires(*)', BY_ID, 'dep_down(down)'],
  stepLease: ['task_running(*)', BY_ID],
  latchLock: ['latch_pkey(id)'],
  circleLock: [],
  parkCircle: ['dep_down(down)', BY_ID, WAIT],
  parkLook: [BY_ID, WAIT],
  parkDep: [],
  park: [BY_ID, 'lane_slot_pkey(lane)', 'slot_pkey(id)'],
  parkTimers: [BY_ID, 'lane_slot_pkey(lane)', 'slot_pkey(id)'],
  waitTaken: [],
  waitGet: [BY_ID, WAIT],
  // In the order of the index, up to a LIMIT.
  waitList: [BY_ID, 'wait_form(*)'],
  waitOldest: ['wait_open(channel)'],
  waitOthers: [WAIT],
  waitBecome: [WAIT],
  waitClose: [WAIT],
  wake: [BY_ID, WAIT],
  signalKept: ['signal_channel(channel)'],
  signalTake: ['signal_channel(channel)', 'signal_pkey(id)'],
  signalAdd: [],
  turnPlain: [BY_ID],
  turnFan: [BY_ID],
  turnEnd: [...GIVE, BY_ID],
  turnLook: [BY_ID],
  turnWait: [WAIT],
  journalAdd: [],
  journalFind: ['journal_pkey(task, key)'],
  journalList: ['journal_pkey(task)'],
  journalHeads: ['journal_pkey(task, key)'],
  journalEntries: ['journal_pkey(task, key)'],
  journalSize: ['journal_pkey(task)'],
  journalForget: ['journal_pkey(task, key)'],
  treeMark: [BY_ID],
  meterLook: [BY_ID],
  meterTasks: [BY_ID],
  metered: [BY_ID],
  meterWarn: [BY_ID],
  budgetRows: ['budget_pkey(root)'],
  budgetLock: ['budget_pkey(root)'],
  budgetTake: ['budget_pkey((root, unit))'],
  budgetRoot: [BY_ID],
  budgetRootDone: [DONE_BY_ID],
  budgetAdd: [],
  budgetPut: ['budget_pkey(root, unit)'],
  budgetWaits: [BY_ID, 'wait_open(channel)'],
  allowanceRows: ['allowance_pkey(task)'],
  allowancePut: [],
  allowanceSums: ['allowance_root(root)'],
  treeList: ['done_root((root, id), root)', 'lane_pkey(id)', 'queue_pkey(id)', 'task_root((root, id), root)'],
  treeCount: [DONE_BY_ID, 'done_root(root)', BY_ID, 'task_root(root)'],
  rootsOf: [DONE_BY_ID],
  rootsLive: [BY_ID],
  rootsDone: [DONE_BY_ID],
  reviveLook: [BY_ID, DONE_BY_ID],
  endHold: [DONE_BY_ID],
  resultKeys: ['body_pkey(task, part)'],
  resultFind: ['kept_result_pkey(key)'],
  resultKeep: [BY_ID],
  resultOwners: ['kept_result_pkey(key)'],
  tokenAdd: [],
  browserSessionAdd: ['entry_token_pkey(id)'],
  browserSessionTaken: ['browser_session_hash_key(hash)'],
  browserSessionFind: ['browser_session_hash_key(hash)', 'entry_token_pkey(id)'],
  browserSessionAlive: ['browser_session_pkey(id)'],
  browserSessionEnd: ['browser_session_hash_key(hash)'],
  pruneBrowserSessions: ['browser_session_expires(expires_at)', 'browser_session_pkey(id)'],
  definitionPut: [],
  definitionGet: ['definition_pkey(hash)'],
  definitionAdd: [],
  definitionHold: ['definition_pkey(hash)'],
  definitionUse: ['definition_pkey(hash)'],
  definitionsOld: ['definition_used(used_at)', 'run_definition(definition)', 'workflow_definition(definition)'],
  definitionsDrop: ['definition_pkey(hash)', 'run_definition(definition)', 'workflow_definition(definition)'],
  runAdd: [],
  runsAdd: [],
  runGet: [BY_ID, DONE_BY_ID, 'lane_pkey(id)', 'queue_pkey(id)', 'run_pkey(task)'],
  runFind: ['run_name_key(name)'],
  runFree: [BY_ID, DONE_BY_ID, 'run_name_key(name)'],
  runList: ['run_pkey(task)'],
  runNote: [BY_ID, 'lane_pkey(id)'],
  pruneRuns: ['run_pkey(task)'],
  tokenFind: ['entry_token_hash_key(hash)'],
  tokenUse: ['entry_token_hash_key(hash)'],
  tokenNamed: ['entry_token_name(name)'],
  tokenAlive: ['entry_token_pkey(id)'],
  tokenUsed: ['entry_token_pkey(id)'],
  tokenRevoke: ['entry_token_pkey(id)'],
  tokenRevokeNamed: ['entry_token_name(name)'],
  tokenRevokeOthers: ['entry_token_name(name)'],
  tokenShortenOthers: ['entry_token_name(name)'],
  documentLock: ['task_document_id_key(id)'],
  documentAdd: [],
  documentChange: ['task_document_id_key(id)'],
  documentRun: ['task_document_id_key(id)'],
  documentRemove: ['task_document_id_key(id)'],
  // Up to a LIMIT.
  documentList: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)', 'task_document_pkey(num)'],
  documentListUser: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)', 'task_document_user(user_id, num)'],
  // All documents, for the web UI.
  documentCount: ['Seq Scan of task_document', BY_ID, DONE_BY_ID, 'task_document_id_key(id)'],
  pruneDocumentRoots: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)', 'task_document_root(root)'],
  documentTree: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)', 'task_document_root(root)'],
  pruneDocuments: ['task_document_root(root)', 'task_document_task(task)'],
  documentGrow: ['task_document_id_key(id)'],
  documentGet: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)'],
  documentOf: [BY_ID, DONE_BY_ID, 'task_document_id_key(id)', 'task_document_task(task)'],
  taskReady: ['task_ready(lane)'],
  expire: [DUTY, 'task_expires(expires_at)', BY_ID],
  expireLook: ['duty_pkey(name)', 'task_expires(first)'],
  expireNext: ['task_expires(first)'],
  cancelIdle: [BY_ID, WAIT],
  cancelAsk: [BY_ID],
  revive: ['body_pkey(task, part)', CARRY, 'dep_down(down)', DONE_BY_ID, BY_ID, 'run_pkey(task)', WAIT],

  settleWatched: [...GIVE, BY_ID],
  watched: [BY_ID],
  reapWatched: [DUTY, ...GIVE, BY_ID],
  expireWatched: [DUTY, 'task_expires(expires_at)', BY_ID],
  cancelWatched: [BY_ID, WAIT],
  depLock: [BY_ID],
  depWatch: [BY_ID],
  flightAdd: [],
  graphAdd: [],
  depAdd: [],
  depOpen: ['dep_pkey(up)'],
  downLock: [BY_ID],
  depClose: ['dep_pkey((up, down))'],
  downCount: [BY_ID],
  downEnd: [BY_ID],
  depPlans: ['dep_down(down)'],
  doneLock: [DONE_BY_ID],
  depReopen: ['dep_down(down)'],
  depList: [BY_ID, DONE_BY_ID, 'body_pkey(task, part)', 'dep_down(down)'],
  depDependents: ['dep_pkey(up)'],
  carryAdd: ['dep_pkey(up)'],
  carryTake: ['dep_carry_pkey(first)', CARRY],
  carryLook: ['dep_carry_pkey(first)', 'duty_pkey(name)'],
  carryMore: ['dep_carry_pkey(first)'],
  pruneDeps: ['dep_down(down)'],

  // From the ends of both tables, then one descent of the trees for each half.
  taskAt: ['task_pkey(first)', 'done_id(first)', BY_ID, DONE_BY_ID],
  failureList: ['body_pkey(task, part)', 'done_failed(id)', 'lane_pkey(id)', 'queue_pkey(id)'],
  handlerQueues: ['lane_pkey(first)', 'queue_pkey(id)'],
  schemaPut: [],
  viewDrop: ['saved_view_pkey(name)'],
  taskGet: RECORD,
  attemptList: ['attempt_pkey(task)'],

  workerAdd: [],
  workerBeat: ['worker_pkey(id)'],
  // All workers that are expected to beat are read.
  workerReap: [DUTY, 'worker_live(*)', 'worker_pkey(id)'],
  workerList: ['worker_pkey(*)', 'worker_total_pkey(name)'],
  workerIn: ['worker_pkey(*)', 'worker_total_pkey(name)'],
  workerTell: [],
  workerNames: ['worker_pkey(id)'],
  dutyTake: [DUTY],
  dutyRenew: [DUTY],
  dutyRelease: [DUTY],
  dutyHeld: [DUTY],
  dutyAlone: [DUTY],
  dutyMine: [DUTY],
  dutyCursor: [DUTY],

  sequence: [DUTY, 'outbox_pkey(first)', 'outbox_pkey(id)'],
  eventRead: ['event_pkey(seq)'],
  statAdd: [],

  pruneOps: ['op_pkey(id)', 'op_until(until)'],
  pruneEventsLook: ['event_pkey(first)'],
  pruneEvents: ['event_pkey(first)', 'event_pkey(seq)'],
  pruneBodies: ['body_pkey(task)'],
  pruneAttempts: ['attempt_pkey(task)'],
  pruneLogs: ['log_pkey(task)'],
  pruneUniq: ['uniq_task(task)'],
  pruneWaits: [WAIT],
  pruneJournals: ['journal_pkey(task)'],
  pruneAllowances: ['allowance_pkey(task)'],
  pruneBudgets: ['budget_pkey(root)'],
  pruneResults: ['kept_result_expires(expires_at)', 'kept_result_pkey(key)'],
  pruneTokens: ['entry_token_ended(COALESCE)', 'entry_token_pkey(id)'],
  pruneSignals: ['signal_pkey(first)', 'signal_pkey(id)', 'task_pkey(first)'],
  pruneRoots: [DONE_BY_ID],
  pruneTrees: [BY_ID, 'dep_pkey(up)', 'done_root(root)', 'task_root(root)'],
  pruneMark: [DONE_BY_ID],
  pruneMembers: [DONE_BY_ID, 'done_root((root, id), root)'],
  pruneRoot: [DONE_BY_ID],
  pruneNeeded: [BY_ID, 'dep_pkey(up)'],
  pruneDone: [BY_ID, 'dep_pkey(up)', DONE_BY_ID],

  triggerPut: [],
  triggerRemove: ['trigger_def_pkey(name)'],
  triggerFires: ['trigger_fire_pkey(name)'],
  triggerFiresDrop: ['trigger_fire_pkey(name, n)'],
  triggerFireAdd: [],
  triggerDue: ['lane_pkey(id)', 'queue_pkey(id)', 'trigger_next(next_at)'],
  triggerFirst: ['trigger_next(first)'],
  triggerNext: ['trigger_next(next_at)'],

  holdingsAt: ['credential_holding_pkey(worker)'],
  holdingsTake: ['credential_holding_pkey(worker)'],
  holdingsOf: ['credential_holding_credential(credential)'],
  holdingsDrop: ['credential_holding_pkey(worker)'],

  auditAdd: [],
  auditEnd: ['audit_entry_pkey(id)'],
  auditPage: ['audit_entry_at(at)', 'audit_entry_pkey(id)'],
  auditOfActor: ['audit_entry_actor(actor, id)', 'audit_entry_at(at)'],
  auditOfAction: ['audit_entry_action(action, id)', 'audit_entry_at(at)'],
  auditOfTarget: ['audit_entry_at(at)', 'audit_entry_target(target, id)'],
  pruneAudit: ['audit_entry_at(at)', 'audit_entry_pkey(id)'],
  pruneStrangers: ['audit_entry_pkey(id)', 'audit_entry_stranger(first)'],

  tagAdd: [],
  artifactLock: [],
  artifactFence: [BY_ID],
  artifactLook: ['artifact_id_key(id)'],
  artifactShared: ['artifact_shared(sha256)'],
  artifactAdd: [],
  artifactGiveUp: ['artifact_begun(task, attempt)'],
  artifactReplace: ['artifact_name(task, name)'],
  artifactWhole: ['artifact_pkey(n)'],
  artifactGet: ['artifact_id_key(id)'],
  artifactPending: ['artifact_id_key(id)'],
  artifactNamed: ['artifact_name(task, name)'],
  artifactsAll: ['artifact_pkey(n)'],
  artifactsOfTree: ['artifact_root(root, n)'],
  // A task has a bounded number of them.
  artifactsOfTasks: ['a sort below a limit', 'artifact_name(task)'],
  artifactRemove: ['artifact_id_key(id)'],
  artifactStale: ['artifact_begun(first)', 'artifact_pkey(n)', BY_ID],
  artifactRoots: ['artifact_room_pkey(root)'],
  artifactTreesOver: [BY_ID, 'task_root(root)', DONE_BY_ID, 'done_root(root)'],
  artifactExpire: ['artifact_pkey(n)', 'artifact_root(root)'],
  artifactGone: ['artifact_blob(blob)', 'artifact_gone(state)'],
  artifactSwept: ['artifact_id_key(id)'],
  artifactRoom: ['artifact_room_pkey(root, task)'],
  artifactTake: [],
  artifactFree: ['artifact_room_pkey(root, task)'],
  artifactEmpty: ['artifact_room_pkey(root, task)'],
  tagFind: ['tag_pkey(name)'],
  tagDrop: ['tag_pkey(name)'],

  reactionLineAdd: [],
  reactionLines: ['reaction_line_pkey(name, n)'],
  reactionLinesDrop: ['reaction_line_pkey(name, n)'],
  reactionNote: ['reaction_line_pkey(name, n)'],
  reactionKeyPut: [],
  reactionKeyFind: ['reaction_key_pkey(name, key)'],
  reactionKeyDrop: ['reaction_key_pkey(name, key)'],
  reactionKeys: ['reaction_key_pkey(name, key)'],
  reactionKeysExpire: ['reaction_key_pkey(name, key)', 'reaction_key_until(name, until)'],
  reactionLinks: ['reaction_key_task(task)'],
  workerLosses: ['worker_loss_pkey(n)'],
  workerLossEnds: ['worker_loss_pkey(first)'],
  workerLossDrop: ['worker_loss_pkey(first)', 'worker_loss_pkey(n)'],
};

/** Statements that may read a table as the planner likes, with the reason why that does not matter. */
const FREE: Partial<Record<StatementName, string>> = {
  queueNames: 'all queues are wanted; there are few',
  laneAdd: 'only for a lane that was never seen, once in its life',
  specAdd: 'only for a spec that was never seen, once in its life',
  pushed: 'only after an answer was lost: the outbox is short, and of the events only the newest are read',
  claimed: 'only after an answer was lost: the outbox is short, and of the events only the newest are read',
  queueList: 'all counters are wanted, and the outbox, which the sequencer keeps short',
  queueStats: 'counters of few queues, and the outbox, which the sequencer keeps short',
  limitFind: 'limits are few',
  limitLock: 'limits are few',
  limitRemove: 'limits are few, and seldom changed',
  limitChanges: 'for people',
  limitCaps: 'the slots of one limit, when somebody changes it',
  limitList: 'for people; limits are few',
  slotsOf: 'for people',
  slotPauseNamed: 'one key of one limit, when somebody asks for it',
  slotRunning: 'of tasks only the index of running ones, when a limit replaces them',
  slotHolders: 'of tasks only the index of running ones, for people',
  slotDrift: 'recounts what runs on purpose, seldom, as a duty',
  workersNamed: 'those that live, when somebody changes a setting',
  settingList: 'for people',
  tokenList: 'for people',
  tagList: 'for people',
  browserSessionTrim: 'a login is rare, and sessions are few',
  secretPin: 'once in the life of a node; of tasks only the index of running ones',
  secretPinned: 'settings are few',
  settingAdd: 'settings are few',
  settingSwap: 'settings are few',
  viewPut: 'no more views are kept than it counts',
  viewList: 'for people; all of them are wanted',
  schemaList: 'for people; handlers are few',
  schemaTrim: 'handlers are few',
  schemaTrimOne: 'handlers are few',
  schemaDrop: 'handlers are few',
  nodeGet: 'nodes are few',
  nodeBeat: 'nodes are few',
  nodeList: 'nodes are few',
  nodeDrop: 'nodes are few',
  nodeLeft: 'nodes are few',
  nodeRole: 'nodes are few',
  nodePrune: 'nodes are few',
  dutyList: 'duties are few',
  stepDuty: 'duties are few',
  stepNode: 'nodes are few',
  stepWorker: 'those that live, when somebody has set the clock back',
  stepSlot: 'all counters, when somebody has set the clock back',
  audit: 'recounts every unfinished task on purpose, seldom, as a duty',
  pruneFlights: 'some thousand rows for each store that runs; it has no index that every push would have to keep',
  pruneTotals: 'few rows, and only after workers were pruned',
  pruneWorkers: 'few rows; of tasks only the index of running ones',
  triggerList: 'all triggers are wanted; there are few',
  reactionPut: 'one of a few',
  reactionFind: 'one of a few, with its newest line',
  reactionList: 'all of them are wanted; there are few',
  reactionDrop: 'one of a few',
  reactionKeysDrop: 'those of one reaction, when somebody removes it',
  reactionEnable: 'one of a few',
  reactionKnown: 'one of a few',
  reactionHold: 'one of a few',
  reactionMove: 'one of a few',
  reactionCount: 'one of a few',
  triggerMove: 'by name or by time: one row either way',
  triggerFind: 'one of a few, with its newest line',
  triggerPause: 'one of a few',
  triggerResume: 'one of a few',
  triggerCount: 'one of a few',
  triggerOwn: 'one of a few',
  triggersDisown: 'those of one workflow, among a few',
  poolGet: 'one of a few',
  poolList: 'a page of a few',
  poolMake: 'one of a few',
  poolHold: 'one of a few',
  poolSet: 'one of a few',
  poolDrop: 'one of a few',
  poolChanged: 'one of a few',
  poolTicketsDrop: 'a few hundred at most, when somebody removes the pool',
  poolDecisionsDrop: 'a few hundred at most, when somebody removes the pool',
  poolMembers: 'those that live; of tasks only the index of running ones',
  poolCount: 'those that live, and the open tickets of one pool',
  poolLook: 'those that live, and the open tickets of one pool; of tasks only the index of running ones',
  ticketFailures: 'a few hundred tickets at most',
  ticketAdd: 'a plain insert',
  ticketsExpire: 'the open tickets of one pool',
  ticketHeld: 'one of a few hundred, by its key',
  ticketUse: 'one of a few hundred, by its key',
  ticketStarted: 'one of a few hundred, by its key',
  ticketFail: 'one of a few hundred, by its key',
  ticketsSeen: 'those of the workers of one pool',
  ticketList: 'a page of a few hundred',
  ticketsPrune: 'a few hundred at most',
  workerBrought: 'one worker, by its incarnation',
  workersSend: 'those that are named; of tasks only the index of running ones',
  decisionAdd: 'the newest of one pool',
  decisionsPrune: 'those of one pool',
  decisionList: 'a page of one pool',
  workflowGet: 'one of a few, with its newest version',
  workflowList: 'a page of a few',
  workflowVersions: 'a page of one workflow',
  credentialGet: 'one of a few',
  credentialList: 'a few',
  credentialPut: 'one of a few',
  credentialDrop: 'one of a few',
  credentialValues: 'a few, when the secret of the cluster changes',
  credentialValuesOf: 'one of a few',
  credentialLeave: 'one of a few, when a worker is removed',
  credentialReseal: 'a few, when the secret of the cluster changes',
  holdingList: 'all of them, when somebody looks',
  holdingsGo: 'some rows by their keys, of one worker',
  holdingsPending: 'those that are open, by an index of them alone',
  holdingsPut: 'plain inserts, or rows by their keys',
  signerGet: 'one row',
  signerPut: 'one row',
  signerReplace: 'one row',
  signerDrop: 'one row',
  workersOfNames: 'the workers of some names, when what they hold has changed',
  workersTags: 'some rows by their key',
  workflowMake: 'one of a few',
  workflowHold: 'one of a few',
  workflowSet: 'one of a few',
  workflowVersionAdd: 'a plain insert',
  workflowVersionsDrop: 'those of one workflow',
  workflowDrop: 'one of a few',
  definitionKeep: 'a plain insert, or one row by its key',
  definitionsFree: 'those of one workflow, when somebody removes it',
};

const NAMES = Object.keys(statements('x')) as StatementName[];

test('every statement has its plan pinned here, or a reason why it needs none', () => {
  for (const name of NAMES) {
    const places = [ACCESS, FREE].filter((list) => name in list);
    assert.equal(places.length, 1, `${name} must be in one of the two lists`);
  }
  const known = new Set<string>(NAMES);
  const gone = [...Object.keys(ACCESS), ...Object.keys(FREE)].filter((name) => !known.has(name));
  assert.deepEqual(gone, [], 'these are statements no longer');
});

test('no statement of those that need no plan is one that grows with the finished tasks', () => {
  for (const name of Object.keys(FREE) as StatementName[]) {
    assert.doesNotMatch(statements('our')[name], /\bour\.(done|log|attempt|body|uniq|op|kept_result)\b/, name);
  }
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Nodes that stop when a LIMIT above them is reached. */
const PASSING: ReadonlySet<string> = new Set(['LockRows', 'Result', 'Subquery Scan', 'Merge Append', 'Append']);

function accessOf(node: PlanNode, limited = false): readonly string[] {
  const type = node['Node Type'];
  const relation = node['Relation Name'];
  const scan = relation === undefined || type === 'ModifyTable' ? [] : [scanOf(node, relation, limited)];
  // A LIMIT above a sort reads all rows.
  const own = limited && type === 'Sort' ? ['a sort below a limit', ...scan] : scan;
  const below = type === 'Limit' || (limited && PASSING.has(type));
  return [...own, ...(node.Plans ?? []).flatMap((child) => accessOf(child, below))];
}

function scanOf(node: PlanNode, relation: string, limited: boolean): string {
  const index = node['Index Name'];
  if (index === undefined) return `${node['Node Type']} of ${relation}`;
  // Some versions add a condition to a search for the maximum, and others do not.
  const condition = (node['Index Cond'] ?? '').replaceAll(/\(\w+ IS NOT NULL\)( AND )?/g, '');
  const columns = [...condition.matchAll(/(?:^|AND )\(*(?:ROW(\([^)]*\))|(\w+))/g)].map(([, row, name]) => row ?? name);
  const keys = columns.length > 0 ? [...new Set(columns)].join(', ') : limited ? 'first' : '*';
  // The partitions of a table count as one.
  const whole = index
    .replace(/^done_(?:rest|\d+)_id_idx$/, 'done_id')
    .replace(/^done_(?:rest|\d+)_id_idx1$/, 'done_failed')
    .replace(/^done_(?:rest|\d+)_root_id_idx$/, 'done_root');
  return `${whole}(${keys})`;
}

const DAY = 24 * 3_600_000;
/** Half of the tasks are members of trees, a thousand of each. */
const KIN = 'CASE WHEN i % 2 = 0 THEN 1 END, CASE WHEN i % 2 = 0 THEN 1 + i / 1000 END';

/** The value only decides which days of `done` are read. */
function sample(type: string): string {
  if (type.endsWith('[]')) return "'{}'";
  if (type === 'bigint') return String(1000 * DAY);
  return type === 'text' ? "'x'" : type === 'boolean' ? 'true' : '1';
}

/** One schema, seen through a connection with the settings that the store uses. */
class Ground {
  readonly schema: string;
  readonly #client: pg.Client;

  private constructor(schema: string, client: pg.Client) {
    this.schema = schema;
    this.#client = client;
  }

  static async make(url: string, schema: string): Promise<Ground> {
    const own = `${url}&schema=${schema}`;
    await (await openPostgres({ url: own, world: realWorld(), pool: 1 })).close();
    const client = new pg.Client(parseAddress(own).config);
    await client.connect();
    await client.query('SET statement_timeout = 0');
    const ground = new Ground(schema, client);
    for (let day = 0; day < 3; day++) {
      await ground.ask(`CREATE TABLE s.done_${20_200_101 + day} PARTITION OF s.done
        FOR VALUES FROM (${day * DAY}) TO (${(day + 1) * DAY})`);
    }
    // Only the test analyzes the tables.
    const tables = await client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'`,
      [schema],
    );
    for (const { name } of tables.rows) await client.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
    return ground;
  }

  async ask(text: string): Promise<void> {
    await this.#client.query(text.replaceAll('s.', `${this.schema}.`));
  }

  analyse(): Promise<void> {
    return this.ask('ANALYZE');
  }

  /** The generic plan, as a connection keeps it. */
  async plan(text: string): Promise<readonly string[]> {
    await this.#client.query(`PREPARE one AS ${text}`);
    try {
      const { rows } = await this.#client.query<{ types: string }>(
        `SELECT array_to_string(parameter_types, ',') AS types FROM pg_prepared_statements WHERE name = 'one'`,
      );
      const types = (rows[0]?.types ?? '').split(',').filter((type) => type !== '');
      const values = types.length === 0 ? '' : `(${types.map(sample).join(', ')})`;
      const plan = await this.#client.query(`EXPLAIN (FORMAT JSON) EXECUTE one${values}`);
      const [{ Plan }] = (plan.rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'];
      return [...new Set(accessOf(Plan))].sort();
    } finally {
      await this.#client.query('DEALLOCATE one');
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  /** As many unfinished tasks as finished ones, with the rows that belong to them. The finished ones are in four partitions. */
  async load(n: number): Promise<void> {
    const some = (count: number): string => `generate_series(1, ${Math.ceil(count)}) i`;
    const few = Math.min(n, 200);
    for (const text of [
      `INSERT INTO s.queue (name) SELECT 'q' || i FROM ${some(10)}`,
      `INSERT INTO s.lane (queue, handler, hash, used_at) SELECT 1 + i % 10, 'h', 'x' || i, 0 FROM ${some(few)}`,
      `INSERT INTO s.limit_def (name, body, revision, changed_at, changed_by) SELECT 'l' || i, '{}', 1, 0, '' FROM ${some(20)}`,
      `INSERT INTO s.slot (def, key, cap) SELECT 1 + i % 20, 'k' || i, 5 FROM ${some(few)}`,
      `INSERT INTO s.lane_slot (lane, slot, weight) SELECT i, i, 1 FROM ${some(few)}`,
      `INSERT INTO s.spec (hash, body, used_at) SELECT 'x' || i, '{}', 0 FROM ${some(20)}`,
      `INSERT INTO s.worker (name, incarnation, slots, beat_at, state)
        SELECT 'w' || i, 'w' || i, 8, 0, CASE WHEN i > 50 THEN 3 ELSE 1 END FROM ${some(few)}`,
      `INSERT INTO s.task (created_at, queue, lane, spec, state, prio, max_tries, run_at, lease_until, holder, attempt,
          expires_at, payload, parent, root)
        SELECT i, 1 + i % 10, 1 + i % ${few}, 1, CASE WHEN i % 1000 = 16 THEN 1 WHEN i % 20 < 14 THEN 0 ELSE 2 END, i % 3, 3,
          CASE WHEN i % 20 >= 14 AND i % 1000 <> 16 THEN i END, CASE WHEN i % 1000 = 16 THEN i END,
          CASE WHEN i % 1000 = 16 THEN 1 + i % 50 END, CASE WHEN i % 1000 = 16 THEN 1 ELSE 0 END,
          CASE WHEN i % 7 = 0 THEN i END, repeat('x', 100), ${KIN} FROM ${some(n)}`,
      `INSERT INTO s.done (id, created_at, started_at, ended_at, queue, lane, spec, attempt, state, reason, prio, tries,
          max_tries, bounces, flags, payload, result, parent, root)
        SELECT i + ${n}, i, i, (i % 4) * ${DAY}::bigint + i % 1000, 1 + i % 10, 1 + i % ${few}, 1, 1,
          4 + (i % 20 = 0)::int, 0, 0, 1, 3, 0, 0, repeat('x', 100), '1', ${KIN} FROM ${some(n)}`,
      `INSERT INTO s.artifact (id, task, root, attempt, state, name, type, kind, size, sha256, own, blob, created_at)
        SELECT 'a' || i, i / 5, i / 10, 1, CASE WHEN i % 50 > 3 THEN 1 ELSE i % 50 END, 'n' || i, '', 0, 1, 's' || (i / 2), i % 2 = 0,
          'b' || i, i FROM ${some(n)}`,
      `INSERT INTO s.artifact_room (root, task, entries, bytes) SELECT i / 2, i, 5, 5 FROM ${some(n / 5)}`,
      `INSERT INTO s.outbox (at, queue, kind, state, n, ids, attempts, born)
        SELECT i, 1 + i % 10, 0, 0, 1, ARRAY[i], '{0}', '{0}' FROM ${some(n / 10)}`,
      `INSERT INTO s.event (seq, n, at, queue, kind, state, ids, attempts, born)
        SELECT i, 1, i, 1 + i % 10, 0, 0, ARRAY[i], '{0}', '{0}' FROM ${some(n / 2)}`,
      `INSERT INTO s.uniq (queue, key, task, hash, until) SELECT 1 + i % 10, 'k' || i, i, 0, i FROM ${some(n / 2)}`,
      `INSERT INTO s.op (id, answer, until) SELECT 'k' || i, '', i FROM ${some(n / 2)}`,
      `INSERT INTO s.attempt (task, attempt, ended_at, outcome) SELECT i, 1, 0, 0 FROM ${some(n / 2)}`,
      `INSERT INTO s.log (task, attempt, seq, at, stream, data) SELECT i / 50, 1, i, 0, 0, 'x' FROM ${some(n / 2)}`,
      `INSERT INTO s.body (task, part, data) SELECT i, 0, 'x' FROM ${some(n / 2)}`,
      `INSERT INTO s.wait (task, gen, key, channel, form, since, state)
        SELECT i, 1, 'k', 'c' || i % 100, CASE WHEN i % 9 = 0 THEN '{}' END, i, i % 3 FROM ${some(n / 2)}`,
      `INSERT INTO s.signal (channel, body, at) SELECT 'c' || i % 100, '1', i FROM ${some(n / 2)}`,
      `INSERT INTO s.journal (task, key, attempt, value, at) SELECT i / 10, 'k' || i, 1, '1', i FROM ${some(n / 2)}`,
      `INSERT INTO s.kept_result (key, task, attempt, born, value, at, expires_at)
        SELECT 'k' || i, i, 1, i, '1', i, i FROM ${some(n / 2)}`,
      `INSERT INTO s.entry_token (kind, role, name, hash, prefix, made_by, created_at, expires_at, revoked_at)
        SELECT 'secret', 'worker', 'w' || i / 3, 'h' || i, '', '', i, i, CASE WHEN i % 3 > 0 THEN i END FROM ${some(n / 10)}`,
      `INSERT INTO s.worker_name (name, holder, incarnation, process) SELECT 'w' || i, 'w' || i, 'w' || i, 'p' FROM ${some(n / 10)}`,
      `INSERT INTO s.browser_session (hash, token, created_at, expires_at) SELECT 'h' || i, i, i, i FROM ${some(n / 10)}`,
      `INSERT INTO s.definition (hash, kind, used_at, body) SELECT 'h' || i, 'machine', i, '{}' FROM ${some(500)}`,
      `INSERT INTO s.run (task, name, kind, title, fingerprint, definition, created_at)
        SELECT i, 'n' || i, 'machine', 't', 'f', 'h' || i % 500, i FROM ${some(n / 10)}`,
      `INSERT INTO s.workflow_version (workflow, version, definition, at) SELECT 'w' || i % 50, i, 'h' || i, i FROM ${some(500)}`,
      `INSERT INTO s.dep (up, down, gen, optional, open) SELECT i / 50, i, 0, false, i % 2 = 0 FROM ${some(n / 2)}`,
      `INSERT INTO s.dep_carry (up, state) SELECT i, 4 FROM ${some(20)}`,
      `INSERT INTO s.flight (store, n, at) SELECT i % 20, i, i FROM ${some(n / 10)}`,
      `INSERT INTO s.duty (name, holder, epoch, until) SELECT 'd' || i, 'x', 1, 0 FROM ${some(8)}`,
      `INSERT INTO s.trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
        SELECT 'n' || i, 1, 1, '', '', '', 0, 1, '', i FROM ${some(50)}`,
      `INSERT INTO s.reaction (name, kind, body, enabled, revision, cursor, lines, created_at, changed_at)
        SELECT 'n' || i, 'event', '{}', 1, i, i, 100, i, i FROM ${some(50)}`,
      `INSERT INTO s.reaction_line (name, n, at, outcome, about) SELECT 'n' || i / 100, i, i, 0, 'x' FROM ${some(5000)}`,
      `INSERT INTO s.reaction_key (name, key, version, until, n, task, born, links)
        SELECT 'n' || i % 50, 'k' || i, '', i, i, i, i, 1 FROM ${some(n / 2)}`,
      `INSERT INTO s.audit_entry (at, actor, role, action, target, face, outcome, times)
        SELECT i, 'a' || i % 500, CASE WHEN i % 10 = 0 THEN 'none' ELSE 'admin' END, 'x' || i % 300, 't' || i % 700, 0,
          CASE WHEN i % 10 = 0 THEN 2 ELSE 1 END, 1 FROM ${some(n / 2)}`,
      `INSERT INTO s.credential (name, version, value_version, sealed, kind, workers, tags, created_at, changed_at)
        SELECT 'c' || i, 1, 1, 's', 0, '[]', '[]', 1, 1 FROM ${some(500)}`,
      `INSERT INTO s.credential_holding (worker, credential, status, wanted, acked, asked_at, changed_at)
        SELECT 'w' || i % 2000, 'c' || i % 501, CASE WHEN i % 50 = 0 THEN 0 ELSE 1 END, 1, 1, 1, 1 FROM ${some(50_000)}
        ON CONFLICT DO NOTHING`,
      `INSERT INTO s.tag (name, at, author) SELECT 't' || i, i, 'me' FROM ${some(5000)}`,
      `INSERT INTO s.worker_loss (worker, name, at) SELECT i, 'w' || i, i FROM ${some(5000)}`,
    ]) {
      await this.ask(text);
    }
  }
}

/** The SQL that a verb builds itself. */
async function written(act: (session: Session) => Promise<unknown>): Promise<readonly string[]> {
  const texts: string[] = [];
  const rows = (name: StatementName): readonly unknown[] =>
    name === 'now' || name === 'dutyHeld' ? [{ now: DAY }] : name === 'taskAt' ? [{ id: 7 }] : [];
  await act({
    rows: () => Promise.resolve([]),
    all: <T>(name: StatementName) => Promise.resolve(rows(name) as T[]),
    raw: <T>(text: string) => {
      texts.push(text);
      // A day that was detached from `done` and is not cleared yet.
      return Promise.resolve((/relname/.test(text) ? [{ name: 'done_20200101', attached: false }] : []) as T[]);
    },
  });
  return texts;
}

const LISTS: Readonly<Record<string, TaskQuery>> = {
  'a page of all tasks': { limit: 50 },
  'the next page': { limit: 50, before: 1000 },
  'a page of one queue': { limit: 50, queue: 'q1' },
  'a page of some states': { limit: 50, states: ['failed', 'ready'] },
  'a page of some states of a queue': { limit: 50, before: 1000, queue: 'q1', states: ['completed'] },
  'a page of some handlers': { limit: 50, handlers: ['h'] },
  'a page of some time': { limit: 50, from: 100, until: 200 },
};

/** Newest first, from the end of both tables or from where the last page ended. The filter is applied on the way. */
function listAccess({ before, queue, from }: TaskQuery): readonly string[] {
  const keys = before === undefined && from === undefined ? 'first' : 'id';
  const records = RECORD.filter((scan) => scan !== BY_ID && scan !== DONE_BY_ID);
  const names = queue === undefined ? [] : ['queue_name_key(name)'];
  return [`task_pkey(${keys})`, `done_id(${keys})`, ...records, ...names].sort();
}

const ROWS = scaled(20_000, 1_000_000);
const SMALL = 40;

/** What the planner may believe. Each is a way in which a table fills up, in the order in which the tests go through them. */
const GROUNDS: readonly {
  readonly name: string;
  readonly ground: string;
  readonly make: (g: Ground) => Promise<void>;
}[] = [
  { name: 'an empty schema', ground: 'one', make: () => Promise.resolve() },
  { name: 'a loaded one that nobody has analysed', ground: 'one', make: (ground) => ground.load(ROWS) },
  { name: 'a loaded and analysed one', ground: 'one', make: (ground) => ground.analyse() },
  // Its rows are dead and not yet removed, and the statistics are those of a million.
  {
    name: 'one that was loaded, analysed and drained',
    ground: 'one',
    make: (ground) => ground.ask('DELETE FROM s.task'),
  },
  // A plan that was made here is still used when the burst comes.
  {
    name: 'one that was analysed when it held forty tasks',
    ground: 'two',
    make: async (ground) => {
      await ground.load(SMALL);
      await ground.analyse();
    },
  },
  {
    name: 'one that was analysed when it was empty, and then loaded',
    ground: 'three',
    make: async (ground) => {
      await ground.analyse();
      await ground.load(ROWS);
    },
  },
];

describe('plans', { timeout: scaled(120_000, 900_000) }, () => {
  const open = new Map<string, Ground>();
  let url = '';

  before(async () => {
    url = await freshDatabase('plans');
  });
  after(async () => {
    for (const ground of open.values()) await ground.close();
  });

  for (const { name, ground: key, make } of GROUNDS) {
    describe(`on ${name}`, () => {
      let ground: Ground;
      before(async () => {
        ground = open.get(key) ?? (await Ground.make(url, key));
        open.set(key, ground);
        await make(ground);
      });

      for (const [statement, access] of Object.entries(ACCESS) as [StatementName, readonly string[]][]) {
        test(`${statement} reaches its rows as intended`, async () => {
          assert.deepEqual(await ground.plan(statements(ground.schema)[statement]), access.toSorted());
        });
      }

      test('a recount or a list reads no finished task', async () => {
        for (const statement of Object.keys(FREE) as StatementName[]) {
          const plan = await ground.plan(statements(ground.schema)[statement]);
          assert.ok(!plan.some((scan) => scan.includes('done')), `${statement}: ${plan.join(', ')}`);
        }
      });

      for (const [what, query] of Object.entries(LISTS)) {
        test(`${what} is read from the newest task downwards`, async () => {
          const [text] = await written((session) => listTasks(session, ground.schema, query));
          assert.deepEqual(await ground.plan(text as string), listAccess(query));
        });
      }

      test('a count of tasks walks down from the newest, as far as its limit goes', async () => {
        const query = { queues: ['q1'], handlers: ['h'], states: [], from: 0, until: 9, stepMs: 1, limit: 10 };
        const [text] = await written((session) => countTasks(session, ground.schema, query));
        assert.deepEqual(await ground.plan(text as string), [DONE_BY_ID, 'lane_pkey(id)', 'queue_pkey(id)', BY_ID]);
      });

      test('the pruner walks finished tasks by their ids', async () => {
        const database = (session: Session): Pick<Database, 'run' | 'transaction'> => ({
          run: (body) => body(session, { again: false }),
          transaction: (body) => body(session, { again: false }),
        });
        const query = { duty: { name: 'd1', epoch: 1 }, retentionMs: DAY / 2, limit: 500 };
        for (const [aside, wanted] of [
          [false, ['done_id(id)']],
          [true, ['done_id(first)', 'done_id(id)']],
        ] as const) {
          const texts = await written((session) => {
            const raw: Session['raw'] = (text, values) =>
              /relname/.test(text) && !aside ? Promise.resolve([]) : session.raw(text, values);
            const parts = { database: database({ ...session, raw }), schema: ground.schema };
            return prune(parts as unknown as PostgresParts, query);
          });
          const walk = texts.find((text) => /^(SELECT id|DELETE)/.test(text));
          assert.deepEqual(await ground.plan(walk as string), wanted);
        }
      });
    });
  }
});
