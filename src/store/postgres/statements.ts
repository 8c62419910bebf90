import { artifactStatements } from './statements/admin/artifacts.ts';
import { credentialStatements } from './statements/admin/credentials.ts';
import { auditStatements } from './statements/audit.ts';
import { browserSessionStatements } from './statements/browser-sessions.ts';
import { budgetStatements } from './statements/budgets.ts';
import { claimStatements } from './statements/claim.ts';
import { clockStatements } from './statements/clock.ts';
import { documentStatements } from './statements/documents.ts';
import { dutyStatements } from './statements/duties.ts';
import { endingStatements } from './statements/endings.ts';
import { fragments } from './statements/fragments.ts';
import { graphStatements } from './statements/graphs.ts';
import { insightStatements } from './statements/insight.ts';
import { laneStatements } from './statements/lanes.ts';
import { limitStatements } from './statements/limits.ts';
import { nodeStatements } from './statements/nodes.ts';
import { poolStatements } from './statements/pools.ts';
import { pruneStatements } from './statements/prune.ts';
import { pushStatements } from './statements/push.ts';
import { reactionStatements } from './statements/reactions.ts';
import { readStatements } from './statements/reads.ts';
import { resultStatements } from './statements/results.ts';
import { runStatements } from './statements/runs.ts';
import { settleStatements } from './statements/settle.ts';
import { takeoverStatements } from './statements/takeover.ts';
import { tokenStatements } from './statements/tokens.ts';
import { treeStatements } from './statements/trees.ts';
import { triggerStatements } from './statements/triggers.ts';
import { turnStatements } from './statements/turns.ts';
import { waitingStatements } from './statements/waiting.ts';
import { workerStatements } from './statements/workers.ts';
import { workflowStatements } from './statements/workflows.ts';

/**
 * Every statement that runs against Postgres, by name. `plans.test.ts` pins the plans. Names are qualified, so that no
 * statement depends on the search path of its connection (a pooler, or a caller's own transaction).
 *
 * States: 0 ready, 1 running, 2 scheduled, 3 waiting, 4 completed, 5 failed, 6 cancelled. Flags: 1 watched, 2 the
 * payload is stored apart, 8 the result is, 16 suspect, 128 a root that has members, 256 it has an allowance of a budget, 512 a root whose tree is being
 * pruned, 1024 first due at a calendar time. Kinds of events and reasons are positions in the lists of core/task/task.ts.
 *
 * `state + 0 = 1` keeps the planner from walking the index of running tasks for a batch of ids (78 instead of 4.8 ms
 * for 500 tasks). `= ANY(ARRAY(…))` and `few` keep it from a hash join over the whole table. A plan lives as long as
 * its connection, or until the next ANALYZE: a plan that was made for forty rows still runs when there are a million.
 *
 * Statements are named after the tables that they use: a `slot` is the counter of a limit, a `flight` the id of a
 * flush, and a `latch` the lock of a channel.
 */
export function statements(schema: string) {
  const all = fragments(schema);
  return {
    ...laneStatements(all),
    ...pushStatements(all),
    ...claimStatements(all),
    ...settleStatements(all),
    ...takeoverStatements(all),
    ...clockStatements(all),
    ...waitingStatements(all),
    ...turnStatements(all),
    ...treeStatements(all),
    ...runStatements(all),
    ...budgetStatements(all),
    ...endingStatements(all),
    ...graphStatements(all),
    ...readStatements(all),
    ...workerStatements(all),
    ...limitStatements(all),
    ...dutyStatements(all),
    ...pruneStatements(all),
    ...triggerStatements(all),
    ...workflowStatements(all),
    ...poolStatements(all),
    ...reactionStatements(all),
    ...resultStatements(all),
    ...tokenStatements(all),
    ...browserSessionStatements(all),
    ...auditStatements(all),
    ...credentialStatements(all),
    ...artifactStatements(all),
    ...nodeStatements(all),
    ...documentStatements(all),
    ...insightStatements(all),
    notify: 'SELECT pg_notify($1, $2)',
  } as const;
}

export type Statements = ReturnType<typeof statements>;
export type StatementName = keyof Statements;
