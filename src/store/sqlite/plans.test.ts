import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { TaskCount } from '../store.ts';
import { Prepared } from './file/connection.ts';
import { STATEMENTS, type StatementName } from './statements.ts';
import { migrate } from './upkeep/migrate.ts';
import { countText } from './verbs/admin/insight.ts';

const BY_ID = ['SEARCH task USING INTEGER PRIMARY KEY (rowid=?)'];
const WAIT_BY_ID = ['SEARCH wait USING INTEGER PRIMARY KEY (rowid=?)'];
const SHOWN = [
  'SEARCH o USING INDEX sqlite_autoindex_task_document_1 (id=?) LEFT-JOIN',
  'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
];
const NEXT_LANE = 'SEARCH task USING COVERING INDEX task_ready (lane>?)';
const LANE = 'SEARCH l USING INTEGER PRIMARY KEY (rowid=?)';
const LANES_OF_SLOT = 'SEARCH ls USING COVERING INDEX lane_slot_slot (slot=?)';
const SINCE = 'SEARCH audit_entry USING COVERING INDEX audit_entry_at (at>?)';
const QUEUE = 'SEARCH q USING INTEGER PRIMARY KEY (rowid=?)';

/** How each hot statement must reach its rows: every table and index that it touches, in order. */
const ACCESS: Partial<Record<StatementName, readonly string[]>> = {
  claimRead: ['SEARCH task USING INDEX task_ready (lane=?)'],
  claimRun: ['SEARCH task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  claimList: [...BY_ID, 'SCAN json_each VIRTUAL TABLE INDEX 1:'],
  settleHeld: ['SEARCH task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  settleMany: ['SEARCH task USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  claimOne: BY_ID,
  claimTask: ['SEARCH t USING INTEGER PRIMARY KEY (rowid=?)', 'SEARCH l USING INTEGER PRIMARY KEY (rowid=?)', QUEUE],
  claimAgain: BY_ID,
  taskReady: ['SEARCH task USING COVERING INDEX task_ready (lane=?)'],
  taskExpiry: BY_ID,
  settleFast: BY_ID,
  settleSlow: BY_ID,
  taskPlace: BY_ID,
  taskEnded: BY_ID,
  taskStand: BY_ID,
  returnLook: BY_ID,
  returnTask: BY_ID,
  renew: BY_ID,
  cancels: ['SEARCH task USING INDEX task_running (holder=?)'],
  // x is the one row of its arguments.
  attemptWorker: [
    'SCAN x',
    'SEARCH a USING PRIMARY KEY (task=? AND attempt=?) LEFT-JOIN',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
    'SEARCH w USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  // The whole index, as for the reaper.
  held: ['SCAN task USING INDEX task_running'],
  heldBy: ['SEARCH task USING INDEX task_running (holder=?)'],
  artifactFence: BY_ID,
  artifactLook: ['SEARCH artifact USING INDEX sqlite_autoindex_artifact_1 (id=?)'],
  artifactShared: ['SEARCH artifact USING INDEX artifact_shared (sha256=?)'],
  artifactGiveUp: ['SEARCH artifact USING COVERING INDEX artifact_begun (task=? AND attempt<?)'],
  artifactReplace: ['SEARCH artifact USING INDEX artifact_name (task=? AND name=?)'],
  artifactNamed: ['SEARCH artifact USING INDEX artifact_name (task=? AND name=?)'],
  artifactsAll: ['SEARCH artifact USING INTEGER PRIMARY KEY (rowid<?)'],
  artifactsOfTree: ['SEARCH artifact USING INDEX artifact_root (root=? AND n<?)'],
  artifactsOfTasks: ['SEARCH artifact USING INDEX artifact_name (task=?)', 'SCAN json_each VIRTUAL TABLE INDEX 1:'],
  // What is under way, all of it: never more than the transfers of the fleet.
  artifactStale: [
    'SEARCH artifact USING INTEGER PRIMARY KEY (rowid=?)',
    'SCAN a USING INDEX artifact_begun',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  artifactRoots: ['SEARCH artifact_room USING PRIMARY KEY (root>?)'],
  artifactTreeOpen: [...BY_ID, 'SEARCH task USING INDEX task_root (root=?)'],
  artifactExpire: [
    'SEARCH artifact USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH artifact USING INDEX artifact_root (root=?)',
  ],
  artifactGone: ['SEARCH g USING INDEX artifact_gone (state=?)', 'SEARCH u USING INDEX artifact_blob (blob=?)'],
  logFence: BY_ID,
  logSize: ['SEARCH log USING PRIMARY KEY (task=? AND attempt=?)'],
  logRead: ['SEARCH log USING PRIMARY KEY (task=? AND (attempt,seq)>(?,?))'],
  pruneLog: ['SEARCH log USING PRIMARY KEY (task=?)'],
  // The whole index: it never has more rows than the workers have slots.
  overdue: ['SCAN task USING INDEX task_running'],
  nextExpiry: ['SEARCH task USING INDEX task_running'],
  firstExpiry: ['SEARCH task USING INDEX task_running'],
  reapLook: BY_ID,
  reapAgain: BY_ID,
  reapEnd: BY_ID,
  stageLook: ['SEARCH task USING INDEX task_due (run_at<?)'],
  stageOne: BY_ID,
  // The first entry with a time: LIMIT 1 ends it there.
  stageNext: ['SEARCH task USING INDEX task_due (run_at>?)'],
  // All that is due, once after the clock was set back.
  stepDue: ['SEARCH task USING INDEX task_due (run_at>?)'],
  stepHeld: ['SEARCH task USING INDEX task_due (run_at=?)'],
  stepExpiry: ['SEARCH task USING INDEX task_expires (expires_at>?)'],
  stepWait: [...WAIT_BY_ID, 'SEARCH task USING INDEX task_due (run_at>?)'],
  parkCircle: [
    'SCAN json_each VIRTUAL TABLE INDEX 1:',
    'SCAN w',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH o USING INDEX dep_down (down=?)',
    'SEARCH s USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH d USING INDEX dep_down (down=?)',
    'SCAN w',
  ],
  parkTask: BY_ID,
  parkChild: BY_ID,
  parkWatch: BY_ID,
  wake: BY_ID,
  waitTaken: WAIT_BY_ID,
  waitGet: ['SEARCH w USING INTEGER PRIMARY KEY (rowid=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN'],
  // Up to a LIMIT.
  waitList: ['SCAN w USING INDEX wait_form', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)'],
  waitOldest: ['SEARCH wait USING INDEX wait_open (channel=?)'],
  waitAll: ['SEARCH wait USING INDEX wait_open (channel=?)'],
  waitOthers: WAIT_BY_ID,
  waitBecome: WAIT_BY_ID,
  waitClose: WAIT_BY_ID,
  waitTimeOut: WAIT_BY_ID,
  waitDrop: WAIT_BY_ID,
  waitDropOpen: WAIT_BY_ID,
  waitLater: WAIT_BY_ID,
  holdingsAt: ['SEARCH credential_holding USING PRIMARY KEY (worker=?)'],
  holdingsOf: [
    'SEARCH credential_holding USING INDEX credential_holding_credential (credential=?)',
    'SCAN json_each VIRTUAL TABLE INDEX 1:',
  ],
  auditEnd: ['SEARCH audit_entry USING INTEGER PRIMARY KEY (rowid=?)'],
  auditPage: ['SEARCH audit_entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)', SINCE],
  auditOfActor: ['SEARCH audit_entry USING INDEX audit_entry_actor (actor=? AND id>? AND id<?)', SINCE],
  auditOfAction: ['SEARCH audit_entry USING INDEX audit_entry_action (action=? AND id>? AND id<?)', SINCE],
  auditOfTarget: ['SEARCH audit_entry USING INDEX audit_entry_target (target=? AND id>? AND id<?)', SINCE],
  pruneAudit: [
    'SEARCH audit_entry USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH audit_entry USING COVERING INDEX audit_entry_at (at<?)',
  ],
  pruneStrangers: [
    'SEARCH audit_entry USING INTEGER PRIMARY KEY (rowid=?)',
    'SCAN audit_entry USING COVERING INDEX audit_entry_stranger',
  ],
  depForget: ['SEARCH dep USING INDEX dep_down (down=?)'],
  signalKept: ['SEARCH signal USING COVERING INDEX signal_channel (channel=?)'],
  signalTake: [
    'SEARCH signal USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH signal USING COVERING INDEX signal_channel (channel=?)',
  ],
  turnLook: BY_ID,
  journalGet: ['SEARCH journal USING INDEX journal_key (task=? AND key=?)'],
  journalSize: ['SEARCH journal USING INDEX journal_key (task=?)'],
  journalList: ['SEARCH journal USING INDEX journal_key (task=?)'],
  journalHeads: ['SEARCH journal USING INDEX journal_key (task=? AND key>?)'],
  journalEntry: ['SEARCH journal USING INDEX journal_key (task=? AND key=?)'],
  journalForget: ['SEARCH journal USING INDEX journal_key (task=? AND key=?)'],
  treeMark: BY_ID,
  meterTask: BY_ID,
  budgetRoot: BY_ID,
  budgetRows: ['SEARCH budget USING PRIMARY KEY (root=?)'],
  allowanceRows: ['SEARCH allowance USING PRIMARY KEY (task=?)'],
  allowanceSums: ['SEARCH allowance USING INDEX allowance_root (root=?)'],
  budgetWaits: ['SEARCH w USING INDEX wait_open (channel=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)'],
  treeList: [
    'SEARCH t USING INDEX task_root (root=? AND id>?)',
    'SEARCH l USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH q USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  treeOpen: ['SEARCH task USING INDEX task_root (root=?)'],
  treeRest: ['SEARCH task USING COVERING INDEX task_root (root=?)'],
  treeGoing: BY_ID,
  treeRemove: BY_ID,
  treeCount: [
    'SEARCH task USING INDEX task_root (root=?)',
    'SEARCH task USING INTEGER PRIMARY KEY (rowid=?)',
    'SCAN (subquery-2)',
  ],
  treeNeeded: [
    'SEARCH m USING COVERING INDEX task_root (root=?)',
    'SEARCH d USING PRIMARY KEY (up=?)',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  pruneNeeded: ['SEARCH d USING PRIMARY KEY (up=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)'],
  // Once per round of the pruner, and only if an old signal is kept: over all unfinished tasks, by numbers alone.
  oldestUnfinished: [
    'SEARCH task USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH task USING COVERING INDEX task_ready',
    'SEARCH task USING COVERING INDEX task_running',
    'SEARCH task USING INDEX task_due',
    'SEARCH (subquery-3)',
  ],
  documentGet: ['SEARCH d USING INDEX sqlite_autoindex_task_document_1 (id=?)', ...SHOWN],
  documentOf: ['SEARCH d USING INDEX task_document_task (task=?)', ...SHOWN],
  documentTree: ['SEARCH d USING INDEX task_document_root (root=?)', ...SHOWN],
  // Up to a LIMIT.
  documentList: ['SEARCH d USING INTEGER PRIMARY KEY (rowid<?)', ...SHOWN],
  documentListUser: ['SEARCH d USING INDEX task_document_user (user_id=? AND num<?)', ...SHOWN],
  pruneDocument: [
    'SEARCH d USING INDEX task_document_task (task=?)',
    'SEARCH x USING INDEX task_document_root (root=?)',
  ],
  pruneDocumentRoot: [
    'SEARCH d USING INDEX sqlite_autoindex_task_document_1 (id=?)',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH x USING INDEX task_document_root (root=?)',
  ],
  expireLook: ['SEARCH task USING INDEX task_expires (expires_at>? AND expires_at<?)'],
  expireOne: BY_ID,
  expireNext: ['SEARCH task USING INDEX task_expires (expires_at>?)'],
  laneScan: [NEXT_LANE, NEXT_LANE, 'SEARCH task USING COVERING INDEX task_ready (lane=?)'],
  laneDepth: ['SEARCH task USING COVERING INDEX task_ready (lane=?)', 'SCAN (subquery-1)'],
  laneOldest: [
    'SEARCH task USING COVERING INDEX task_ready (lane=?)',
    'SCAN p',
    'SEARCH task USING COVERING INDEX task_ready (lane=? AND prio>?)',
    'SEARCH p',
    'SEARCH task USING INDEX task_ready (lane=? AND prio=?)',
  ],
  claimAged: ['SEARCH task USING INDEX task_ready (lane=?)', 'SCAN (subquery-1)'],
  laneHead: ['SEARCH task USING INDEX task_ready (lane=?)'],
  heldLike: ['SEARCH t USING INDEX task_running (holder=?)', LANE, 'SEARCH w USING INTEGER PRIMARY KEY (rowid=?)'],
  workerFleet: [
    'SCAN w USING INDEX worker_live',
    'SEARCH t USING PRIMARY KEY (name=?)',
    'SEARCH task USING COVERING INDEX task_running (holder=?)',
  ],
  poolLook: [
    'SEARCH pool_tickets USING INDEX pool_ticket_open (pool=?)',
    'SCAN w USING INDEX worker_live',
    'SEARCH t USING INDEX sqlite_autoindex_pool_tickets_1 (id=?) LEFT-JOIN',
    'SEARCH x USING PRIMARY KEY (name=?)',
    'SEARCH task USING COVERING INDEX task_running (holder=?)',
    'SCAN (subquery-1)',
    'SCAN (subquery-4) LEFT-JOIN',
  ],
  poolMembers: [
    'SCAN w USING INDEX worker_live',
    'SEARCH t USING INDEX sqlite_autoindex_pool_tickets_1 (id=?) LEFT-JOIN',
    'SEARCH x USING PRIMARY KEY (name=?)',
    'SEARCH task USING COVERING INDEX task_running (holder=?)',
  ],
  limitList: [
    'SCAN d USING INDEX sqlite_autoindex_limit_def_1',
    'SEARCH s USING INDEX sqlite_autoindex_slot_1 (def=? AND key=?) LEFT-JOIN',
    LANES_OF_SLOT,
    'SEARCH t USING COVERING INDEX task_ready (lane=?)',
    'SCAN (subquery-1)',
  ],
  slotWaiting: [LANES_OF_SLOT, 'SEARCH t USING COVERING INDEX task_ready (lane=?)', 'SCAN (subquery-1)'],
  slotReady: [LANES_OF_SLOT, 'SEARCH t USING COVERING INDEX task_ready (lane=?)'],
  slotOldest: [LANES_OF_SLOT, 'SEARCH task USING COVERING INDEX task_ready (lane=?)'],
  slotHolders: ['SCAN t USING INDEX task_running', 'SEARCH ls USING PRIMARY KEY (lane=? AND slot=?)'],
  slotRunning: ['SEARCH t USING INDEX task_running', 'SEARCH ls USING PRIMARY KEY (lane=? AND slot=?)'],
  // The newest row, by the key from its end.
  eventAdd: ['SCAN event'],
  eventNext: ['SCAN event'],
  eventNews: ['SEARCH event USING INTEGER PRIMARY KEY (rowid>?)'],
  eventRead: [
    'SEARCH event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    'SEARCH event USING INTEGER PRIMARY KEY (rowid<?)',
    'SEARCH event USING INTEGER PRIMARY KEY (rowid>?)',
  ],
  uniqFind: ['SEARCH uniq USING PRIMARY KEY (queue=? AND key=?)'],
  uniqOf: ['SEARCH uniq USING COVERING INDEX uniq_task (task=?)'],
  opFind: ['SEARCH op USING PRIMARY KEY (id=?)'],
  attemptEnded: ['SEARCH attempt USING PRIMARY KEY (task=? AND attempt=?)'],
  bodyGet: ['SEARCH body USING INDEX sqlite_autoindex_body_1 (task=? AND part=?)'],
  dutyHeld: ['SEARCH duty USING PRIMARY KEY (name=?)'],
  cancelIdle: BY_ID,
  cancelAsk: BY_ID,
  revive: BY_ID,
  reviveWaiting: BY_ID,
  depStand: BY_ID,
  depWatch: BY_ID,
  depOpen: ['SEARCH d USING PRIMARY KEY (up=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN'],
  depClose: ['SEARCH dep USING PRIMARY KEY (up=? AND down<?)'],
  depLeft: ['SEARCH dep USING PRIMARY KEY (up=?)'],
  downCount: BY_ID,
  downWake: BY_ID,
  downEnd: BY_ID,
  depReopen: ['SEARCH dep USING INDEX dep_down (down=?)', ...BY_ID],
  depList: ['SEARCH d USING INDEX dep_down (down=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN'],
  depDependents: ['SEARCH dep USING PRIMARY KEY (up=?)'],
  depNeeds: ['SEARCH dep USING INDEX dep_down (down=?)'],
  pruneDeps: ['SEARCH dep USING INDEX dep_down (down=?)'],
  pruneWalk: ['SEARCH task USING INTEGER PRIMARY KEY (rowid>?)'],
  // The second is the largest id, one descent of the right edge of the tree.
  pruneTask: [...BY_ID, 'SEARCH task'],
  pruneJournal: ['SEARCH journal USING INDEX journal_key (task=?)'],
  // The first rows of the table's own tree: LIMIT ends it there.
  pruneSignals: ['SEARCH signal USING INTEGER PRIMARY KEY (rowid=?)', 'SCAN signal', 'SCAN (subquery-1)'],
  pruneUniq: ['SEARCH uniq USING INDEX uniq_task (task=?)'],
  resultFence: BY_ID,
  resultFind: ['SEARCH kept_result USING INDEX sqlite_autoindex_kept_result_1 (key=?)'],
  pruneResults: [
    'SEARCH kept_result USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH kept_result USING COVERING INDEX kept_result_expires (expires_at<?)',
  ],
  pruneOps: ['SEARCH op USING PRIMARY KEY (id=?)', 'SEARCH op USING COVERING INDEX op_until (until<?)'],
  // Workers are few, and only the pruner runs this.
  pruneWorkers: [
    'SEARCH worker USING INTEGER PRIMARY KEY (rowid=?)',
    'SCAN w',
    'SEARCH task USING COVERING INDEX task_running (holder=?)',
  ],
  tokenFind: ['SEARCH entry_token USING INDEX sqlite_autoindex_entry_token_1 (hash=?)'],
  tokenUse: ['SEARCH entry_token USING INDEX sqlite_autoindex_entry_token_1 (hash=?)'],
  tokenValid: ['SEARCH entry_token USING INTEGER PRIMARY KEY (rowid=?)', 'SCAN json_each VIRTUAL TABLE INDEX 1:'],
  tokenUsed: ['SEARCH entry_token USING INTEGER PRIMARY KEY (rowid=?)', 'SCAN json_each VIRTUAL TABLE INDEX 1:'],
  tokenRevoke: ['SEARCH entry_token USING INTEGER PRIMARY KEY (rowid=?)'],
  tokenRevokeNamed: ['SEARCH entry_token USING INDEX entry_token_name (name=?)'],
  tokenRevokeOthers: ['SEARCH entry_token USING INDEX entry_token_name (name=?)'],
  tokenShortenOthers: ['SEARCH entry_token USING INDEX entry_token_name (name=?)'],
  pruneTokens: [
    'SEARCH entry_token USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH entry_token USING COVERING INDEX entry_token_ended (<expr><?)',
  ],
  browserSessionFind: [
    'SEARCH s USING INDEX sqlite_autoindex_browser_session_1 (hash=?)',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
  ],
  browserSessionKept: [
    'SEARCH browser_session USING INTEGER PRIMARY KEY (rowid=?)',
    'SCAN json_each VIRTUAL TABLE INDEX 1:',
  ],
  browserSessionEnd: ['SEARCH browser_session USING INDEX sqlite_autoindex_browser_session_1 (hash=?)'],
  pruneBrowserSessions: [
    'SEARCH browser_session USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH browser_session USING COVERING INDEX browser_session_expires (expires_at<?)',
  ],
  definitionUsed: ['SEARCH definition USING INDEX sqlite_autoindex_definition_1 (hash=?)'],
  definitionUse: ['SEARCH definition USING INDEX sqlite_autoindex_definition_1 (hash=?)'],
  runGet: [
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
    LANE,
    QUEUE,
    'SEARCH r USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
  ],
  runFind: [
    'SEARCH r USING INDEX sqlite_autoindex_run_1 (name=?)',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
    LANE,
    QUEUE,
  ],
  runFree: ['SEARCH run USING INDEX sqlite_autoindex_run_1 (name=?)', 'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)'],
  runList: [
    'SEARCH run USING INTEGER PRIMARY KEY (rowid<?)',
    'SEARCH t USING INTEGER PRIMARY KEY (rowid=?)',
    LANE,
    QUEUE,
  ],
  runLooked: ['SEARCH run USING INTEGER PRIMARY KEY (rowid<?)', 'SCAN (subquery-1)'],
  runUnnote: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  pruneRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  pruneDefinitions: [
    'SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH d USING INDEX definition_used (used_at<?)',
    'SEARCH r USING COVERING INDEX run_definition (definition=?)',
    'SEARCH v USING COVERING INDEX workflow_definition (definition=?)',
  ],
  taskFrom: ['SEARCH task USING INTEGER PRIMARY KEY (rowid>?)'],
  failureList: [
    'SEARCH t USING INDEX task_failed (id<?)',
    LANE,
    QUEUE,
    'SEARCH body USING INDEX sqlite_autoindex_body_1 (task=? AND part=?)',
  ],
  handlerQueues: [QUEUE],
  viewDrop: ['SEARCH saved_view USING PRIMARY KEY (name=?)'],
  settingDrop: ['SEARCH worker_setting USING PRIMARY KEY (name=?)'],
  nameGet: [
    'SEARCH h USING PRIMARY KEY (name=?)',
    'SEARCH w USING INDEX sqlite_autoindex_worker_1 (incarnation=?)',
    'SEARCH n USING PRIMARY KEY (id=?)',
  ],
  nameHolders: ['SEARCH worker_name USING PRIMARY KEY (name=?)', 'SCAN json_each VIRTUAL TABLE INDEX 1:'],
  nameLeave: ['SEARCH worker_name USING PRIMARY KEY (name=?)'],
  workerSilent: ['SCAN worker USING INDEX worker_live'],
  workerReap: ['SCAN worker USING INDEX worker_live'],
  triggerFind: [
    'SEARCH t USING PRIMARY KEY (name=?)',
    LANE,
    QUEUE,
    'SEARCH f USING PRIMARY KEY (name=? AND n=?) LEFT-JOIN',
  ],
  triggerFires: ['SEARCH trigger_fire USING PRIMARY KEY (name=?)'],
  triggerFiresDrop: ['SEARCH trigger_fire USING PRIMARY KEY (name=? AND n<?)'],
  triggerNext: ['SEARCH trigger_def USING COVERING INDEX trigger_next (next_at>?)'],
  triggerFirst: ['SEARCH trigger_def USING COVERING INDEX trigger_next'],
};

/** Sorts in a temporary tree, or builds an index on the fly. */
const DETOUR = /TEMP B-TREE|AUTOMATIC/;
/** Reads a table that grows with the work from end to end. */
const FULL_SCAN = /^SCAN (task|t|dep|d|log|uniq|op|attempt|body|lane|spec|kept_result)\b(?! USING)/;
/** No task waits for these: the auditor's recount groups, in its own thread. */
const RECOUNTS: readonly StatementName[] = ['auditReady', 'auditRunning', 'auditDue', 'slotAudit'];
/** These read all triggers or documents, for the web UI only. */
const LISTS: readonly StatementName[] = ['triggerList', 'documentCount'];
/**
 * Sorts the schemas, of which there are few, when a worker reports a new one or a person pushes a task; and the artifacts of some tasks, for
 * people.
 */
const SORTS: readonly StatementName[] = ['schemaTrim', 'schemaTrimOne', 'schemaList', 'artifactsOfTasks'];

function planOf(db: DatabaseSync, name: StatementName): readonly string[] {
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${STATEMENTS[name]}`).all() as unknown as { detail: string }[];
  return rows.map(({ detail }) => detail);
}

function emptyDatabase(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  return db;
}

/** 20,000 tasks in all states over 100 lanes, with the rows that belong to them and statistics for the planner. */
function loadedDatabase(): DatabaseSync {
  const db = emptyDatabase();
  const many = (n: number): string => `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${n}) `;
  db.exec(`
    ${many(10)} INSERT INTO queue (name) SELECT 'q' || i FROM s;
    ${many(100)} INSERT INTO lane (queue, handler, hash, used_at) SELECT 1 + i % 10, 'h', 'x' || i, 0 FROM s;
    ${many(20_000)} INSERT INTO task (lane, spec, state, prio, max_tries, created_at, run_at, lease_until, holder, ended_at)
      SELECT 1 + i % 100, 1,
        CASE WHEN i % 20 < 8 THEN 4 WHEN i % 20 < 10 THEN 5 WHEN i % 20 < 16 THEN 0 WHEN i % 20 = 16 THEN 1 ELSE 2 END,
        i % 3, 3, i, CASE WHEN i % 20 > 16 THEN i END, CASE WHEN i % 20 = 16 THEN i END,
        CASE WHEN i % 20 = 16 THEN i % 50 END, CASE WHEN i % 20 < 10 THEN i END FROM s;
    ${many(5_000)} INSERT INTO event (seq, n, at, queue, kind, state, ids, attempts, born)
      SELECT i, 1, i, 1, 0, 0, '[1]', '[0]', '[0]' FROM s;
    ${many(5_000)} INSERT INTO uniq (queue, key, task, hash, until) SELECT 1, 'k' || i, i, 0, i FROM s;
    ${many(5_000)} INSERT INTO op (id, answer, until) SELECT 'k' || i, '[]', i FROM s;
    ${many(5_000)} INSERT INTO attempt (task, attempt, ended_at, outcome) SELECT i, 1, 0, 0 FROM s;
    ${many(5_000)} INSERT INTO log (task, attempt, seq, at, stream, data) SELECT i / 50, 1, i, 0, 0, 'x' FROM s;
    ${many(5_000)} INSERT INTO wait (task, gen, key, channel, form, since, state)
      SELECT i, 1, 'k', 'c' || (i % 100), CASE WHEN i % 9 = 0 THEN '{}' END, i, i % 3 FROM s;
    ${many(5_000)} INSERT INTO signal (channel, body, at) SELECT 'c' || (i % 100), '1', i FROM s;
    ${many(5_000)} INSERT INTO journal (task, key, kind, attempt, value, at) SELECT i / 10, 'k' || i, 0, 1, '1', 1 FROM s;
    UPDATE task SET parent = 1, root = 1 WHERE id % 7 = 3;
    ${many(5_000)} INSERT INTO kept_result (key, task, attempt, born, value, at, expires_at)
      SELECT 'k' || i, i, 1, i, '1', i, i FROM s;
    ${many(5_000)} INSERT INTO entry_token (kind, role, name, hash, prefix, made_by, created_at, expires_at, revoked_at)
      SELECT 'secret', 'worker', 'w' || (i / 3), 'h' || i, '', '', i, i, CASE WHEN i % 3 > 0 THEN i END FROM s;
    ${many(5_000)} INSERT INTO browser_session (hash, token, created_at, expires_at) SELECT 'h' || i, i, i, i FROM s;
    ${many(500)} INSERT INTO definition (used_at, hash, kind, body) SELECT i, 'h' || i, 'machine', '{}' FROM s;
    ${many(5_000)} INSERT INTO run (task, name, kind, title, fingerprint, definition, created_at)
      SELECT i, 'n' || i, 'machine', 't', 'f', 'h' || (i % 500), i FROM s;
    ${many(5_000)} INSERT INTO task_document (id, root, parent, user_id, body, task, created_at, updated_at)
      SELECT 'd' || i, 'd' || (i - i % 5), CASE WHEN i % 5 > 0 THEN 'd' || (i - i % 5) END, 'u' || (i % 50), '{}',
        CASE WHEN i % 2 = 0 THEN i END, i, i FROM s;
    ${many(5_000)} INSERT INTO artifact (id, task, root, attempt, state, name, type, kind, size, sha256, own, blob, created_at)
      SELECT 'a' || i, i / 5, i / 10, 1, CASE WHEN i % 50 > 3 THEN 1 ELSE i % 50 END, 'n' || i, '', 0, 1, 's' || (i / 2), i % 2, 'b' || i, i
      FROM s;
    ${many(1_000)} INSERT INTO artifact_room (root, task, entries, bytes) SELECT i / 2, i, 5, 5 FROM s;
    ${many(5_000)} INSERT INTO body (task, part, data) SELECT i, 0, 'x' FROM s;
    ${many(5_000)} INSERT INTO dep (up, down, gen, optional, open) SELECT i / 50, i, 0, 0, i % 2 FROM s;
    ${many(50)} INSERT INTO trigger_def (name, lane, spec, cron, timezone, missed, prio, max_tries, payload, next_at)
      SELECT 'n' || i, 1, 1, '', '', '', 0, 1, '', i FROM s;
    ANALYZE;`);
  return db;
}

for (const [name, open] of [
  ['an empty database', emptyDatabase],
  ['a loaded and analysed database', loadedDatabase],
] as const) {
  describe(`plans on ${name}`, () => {
    const db = open();

    for (const [statement, access] of Object.entries(ACCESS) as [StatementName, readonly string[]][]) {
      test(`${statement} reaches its rows as intended`, () => {
        const plan = planOf(db, statement);
        assert.deepEqual(
          plan.filter((detail) => /^(SEARCH|SCAN) (?!CONSTANT|[lr]$)/.test(detail)),
          access,
          plan.join('\n'),
        );
      });
    }

    test('no statement sorts in a temporary tree or builds an index for the occasion', () => {
      for (const statement of Object.keys(STATEMENTS) as StatementName[]) {
        if (RECOUNTS.includes(statement) || SORTS.includes(statement)) continue;
        const plan = planOf(db, statement);
        assert.ok(!plan.some((detail) => DETOUR.test(detail)), `${statement}:\n${plan.join('\n')}`);
      }
    });

    test('no statement reads a table that grows with the work from end to end', () => {
      for (const statement of Object.keys(STATEMENTS) as StatementName[]) {
        if (LISTS.includes(statement) || RECOUNTS.includes(statement)) continue;
        const plan = planOf(db, statement);
        assert.ok(!plan.some((detail) => FULL_SCAN.test(detail)), `${statement}:\n${plan.join('\n')}`);
      }
    });

    test('a count of tasks walks down from the newest, as far as its limit goes', () => {
      const query = { queues: ['q1'], handlers: ['h'], states: [], from: 0, until: 9, stepMs: 1, before: 5, limit: 10 };
      const { text } = countText(new Prepared(db), query as TaskCount);
      const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as unknown as { detail: string }[];
      const plan = rows.map(({ detail }) => detail);
      assert.ok(plan.includes('SEARCH t USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'), plan.join('\n'));
      assert.ok(!plan.some((detail) => FULL_SCAN.test(detail)), plan.join('\n'));
      // It groups what it has read, and sorts no task.
      assert.ok(!plan.includes('USE TEMP B-TREE FOR ORDER BY'), plan.join('\n'));
    });

    test('the recount reads indexes of unfinished tasks and no finished one', () => {
      for (const statement of RECOUNTS) {
        const plan = planOf(db, statement);
        assert.ok(
          plan.some((detail) => /^(SCAN|SEARCH) t USING (COVERING )?INDEX task_(ready|running|due)/.test(detail)),
          `${statement}:\n${plan.join('\n')}`,
        );
      }
    });
  });
}

test('a statement that touches tasks has its plan pinned here, or is named as one that needs none', () => {
  const unpinned = (Object.keys(STATEMENTS) as StatementName[]).filter(
    (name) => /\btask\b(?!_)/.test(STATEMENTS[name].replaceAll(/\btask = |task,|\(task/g, '')) && !(name in ACCESS),
  );
  assert.deepEqual(
    unpinned.toSorted(),
    [
      // plain inserts
      'taskAdd',
      'taskAdd4',
      'taskAdd16',
      'depTask',
      'triggerFireAdd',
      'triggerList', // all triggers, of which there are few
      'uniqGet', // one key, by the table's own tree
      'taskMax', // the last entry of the table's own tree
      'taskFirst', // the first one
      'secretPin', // once in the life of a node; of tasks only whether one runs
      'documentCount', // for the web UI, over all documents
      'taskGet', // for the web UI, by id; its joins are covered by the rules above
      ...RECOUNTS,
    ].toSorted(),
  );
});
