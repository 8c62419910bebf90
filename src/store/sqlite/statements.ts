import { ARTIFACT_STATEMENTS } from './statements/admin/artifacts.ts';
import { CREDENTIAL_STATEMENTS } from './statements/admin/credentials.ts';
import { AUDIT_STATEMENTS } from './statements/audit.ts';
import { BROWSER_SESSION_STATEMENTS } from './statements/browser-sessions.ts';
import { BUDGET_STATEMENTS } from './statements/budgets.ts';
import { CANCEL_STATEMENTS } from './statements/cancel.ts';
import { CLAIM_STATEMENTS } from './statements/claim.ts';
import { DOCUMENT_STATEMENTS } from './statements/documents.ts';
import { DUTY_STATEMENTS } from './statements/duties.ts';
import { EVENT_STATEMENTS } from './statements/events.ts';
import { GRAPH_STATEMENTS } from './statements/graphs.ts';
import { INSIGHT_STATEMENTS } from './statements/insight.ts';
import { LANE_STATEMENTS } from './statements/lanes.ts';
import { LIMIT_STATEMENTS } from './statements/limits.ts';
import { LOG_STATEMENTS } from './statements/logs.ts';
import { NODE_STATEMENTS } from './statements/nodes.ts';
import { POOL_STATEMENTS } from './statements/pools.ts';
import { PRUNE_STATEMENTS } from './statements/prune.ts';
import { PUSH_STATEMENTS } from './statements/push.ts';
import { REACTION_STATEMENTS } from './statements/reactions.ts';
import { READ_STATEMENTS } from './statements/reads.ts';
import { RESULT_STATEMENTS } from './statements/results.ts';
import { RUN_STATEMENTS } from './statements/runs.ts';
import { SETTLE_STATEMENTS } from './statements/settle.ts';
import { TAKEOVER_STATEMENTS } from './statements/takeover.ts';
import { TOKEN_STATEMENTS } from './statements/tokens.ts';
import { TREE_STATEMENTS } from './statements/trees.ts';
import { TRIGGER_STATEMENTS } from './statements/triggers.ts';
import { TURN_STATEMENTS } from './statements/turns.ts';
import { WAITING_STATEMENTS } from './statements/waiting.ts';
import { WORKER_STATEMENTS } from './statements/workers.ts';
import { WORKFLOW_STATEMENTS } from './statements/workflows.ts';

/**
 * Every statement that runs against SQLite, by name. Literal state numbers let the partial indexes be used: 0 ready, 1
 * running, 2 scheduled, 3 waiting, 4 completed, 5 failed, 6 cancelled. Flags (codes.ts): 1 watched, 8 the result is
 * stored apart, 16 suspect, 256 it has an allowance of a budget. `plans.test.ts` pins the plans. Statements are named after the tables that they use: a
 * `slot` is the counter of a limit.
 */
export const STATEMENTS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  dataVersion: 'PRAGMA data_version',
  /** It moves nothing, and tells how many frames the log has. */
  logLength: 'PRAGMA wal_checkpoint(NOOP)',
  pageSize: 'PRAGMA page_size',
  metaGet: 'SELECT value FROM meta WHERE key = ?',
  metaPut: 'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  ...LANE_STATEMENTS,
  ...PUSH_STATEMENTS,
  ...CLAIM_STATEMENTS,
  ...SETTLE_STATEMENTS,
  ...LOG_STATEMENTS,
  ...TAKEOVER_STATEMENTS,
  ...WAITING_STATEMENTS,
  ...TURN_STATEMENTS,
  ...TREE_STATEMENTS,
  ...RUN_STATEMENTS,
  ...BUDGET_STATEMENTS,
  ...RESULT_STATEMENTS,
  ...CANCEL_STATEMENTS,
  ...GRAPH_STATEMENTS,
  ...READ_STATEMENTS,
  ...WORKER_STATEMENTS,
  ...TOKEN_STATEMENTS,
  ...BROWSER_SESSION_STATEMENTS,
  ...AUDIT_STATEMENTS,
  ...CREDENTIAL_STATEMENTS,
  ...ARTIFACT_STATEMENTS,
  ...LIMIT_STATEMENTS,
  ...DUTY_STATEMENTS,
  ...NODE_STATEMENTS,
  ...EVENT_STATEMENTS,
  ...DOCUMENT_STATEMENTS,
  ...PRUNE_STATEMENTS,
  ...TRIGGER_STATEMENTS,
  ...WORKFLOW_STATEMENTS,
  ...POOL_STATEMENTS,
  ...REACTION_STATEMENTS,
  ...INSIGHT_STATEMENTS,
} as const;

export type StatementName = keyof typeof STATEMENTS;
export type StatementTexts = Readonly<Record<StatementName, string>>;
