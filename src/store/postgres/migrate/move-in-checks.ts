/** How a move from SQLite is checked before it is committed. */
import { PRIO } from './move-in-tables.ts';

/** One query for both sides when all rows have arrived. The answers must be equal, row by row. */
export interface Check {
  readonly what: string;
  readonly sqlite: string;
  /** `{s}` is the schema. */
  readonly postgres: string;
}

const SOME = `count(*), coalesce(sum(attempt), 0), coalesce(sum(tries), 0), coalesce(sum(length(payload)), 0), max(id),
  coalesce(sum(parent), 0), coalesce(sum(root), 0)`;
const SUMS = ['ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled']
  .map((state) => `sum(${state})`)
  .join(', ');
const both = (what: string, columns: string, table: string): Check => ({
  what,
  sqlite: `SELECT ${columns} FROM ${table}`,
  postgres: `SELECT ${columns} FROM {s}.${table}`,
});

export const CHECKS: readonly Check[] = [
  {
    what: 'tasks in each state',
    sqlite: `SELECT state, ${SOME}, sum(${PRIO}), coalesce(sum(length(result)), 0) FROM task WHERE lane > 0
      GROUP BY state ORDER BY state`,
    postgres: `SELECT state, ${SOME}, sum(prio), coalesce(sum(length(result)), 0) FROM (
        SELECT id, state, attempt, tries, prio, payload, parent, root, NULL AS result FROM {s}.task
        UNION ALL SELECT id, state, attempt, tries, prio, payload, parent, root, result FROM {s}.done) t
      GROUP BY state ORDER BY state`,
  },
  both('counters', SUMS, 'qstat'),
  both('queues', 'count(*), max(id)', 'queue'),
  both('lanes', 'count(*), max(id), sum(length(placement)), sum(length(limits))', 'lane'),
  both('limits', 'count(*), max(id), sum(revision), sum(length(body))', 'limit_def'),
  both('changes of limits', 'count(*), max(id), sum(length(body))', 'limit_change'),
  both('slots', 'count(*), max(id), sum(active), sum(cap), sum(length(key))', 'slot'),
  both('slots of lanes', 'count(*), sum(lane), sum(slot), sum(weight)', 'lane_slot'),
  both('settings of workers', 'count(*), sum(priority), sum(length(tags))', 'worker_setting'),
  both('totals of workers', 'count(*), sum(ended), sum(length(name))', 'worker_total'),
  both('specs', 'count(*), max(id), sum(length(body))', 'spec'),
  both('attempts', 'count(*), sum(attempt), sum(outcome), sum(length(error))', 'attempt'),
  both('bodies', 'count(*), sum(length(data))', 'body'),
  both('dependencies', 'count(*), sum(up), sum(down), sum(gen)', 'dep'),
  both('dependencies to see to', 'count(*), sum(up)', 'dep_carry'),
  both('unique keys', 'count(*), max(task), sum(length(key))', 'uniq'),
  both('operations', 'count(*), sum(length(answer))', 'op'),
  both(
    'workers',
    'count(*), max(id), sum(priority), sum(revision), sum(length(address)), sum(length(pool)), sum(stale_ms)',
    'worker',
  ),
  both('events', 'count(*), sum(n), min(seq), max(seq + n)', 'event'),
  both('triggers', 'count(*), max(next_at), sum(fires), sum(length(workflow)), sum(length(run))', 'trigger_def'),
  both('lines of triggers', 'count(*), sum(n), max(slot), max(at)', 'trigger_fire'),
  both('reactions', 'count(*), sum(enabled), sum(revision), sum(cursor), sum(lines), sum(length(body))', 'reaction'),
  both('lines of reactions', 'count(*), sum(n), max(at), sum(outcome), sum(task), sum(length(about))', 'reaction_line'),
  both('keys of reactions', 'count(*), sum(n), sum(task), sum(links), sum(length(key))', 'reaction_key'),
  both('lost workers', 'count(*), max(n), sum(worker), max(at)', 'worker_loss'),
  both(
    'entries of the audit',
    'count(*), max(id), max(at), sum(outcome), sum(times), sum(length(target))',
    'audit_entry',
  ),
  both(
    'credentials',
    'count(*), sum(version), sum(value_version), sum(level), sum(length(sealed)), sum(length(workers))',
    'credential',
  ),
  both('holdings of credentials', 'count(*), sum(status), sum(wanted), sum(acked), sum(level)', 'credential_holding'),
  both('signers', 'count(*), sum(length(sealed))', 'credential_signer'),
  both('tags', 'count(*), sum(at), sum(length(name)), sum(length(author))', 'tag'),
  both(
    'artifacts',
    'count(*), max(n), sum(task), sum(root), sum(attempt), sum(state), sum(size), sum(length(name)), sum(length(blob))',
    'artifact',
  ),
  both('room of artifacts', 'count(*), sum(root), sum(task), sum(entries), sum(bytes)', 'artifact_room'),
  both('log lines', 'count(*), sum(seq), max(at)', 'log'),
  both('waits', 'count(*), sum(gen), sum(state), sum(length(key)), sum(length(body))', 'wait'),
  both('signals', 'count(*), max(id), sum(length(body))', 'signal'),
  both(
    'tokens',
    'count(*), max(id), count(revoked_at), count(used_at), max(expires_at), sum(length(hash))',
    'entry_token',
  ),
  both('browser sessions', 'count(*), max(id), sum(token), max(expires_at), sum(length(hash))', 'browser_session'),
  both('documents', 'count(*), max(num), sum(task), sum(run), sum(version), sum(length(body))', 'task_document'),
  both('saved views', 'count(*), max(saved_at), sum(length(name)), sum(length(query))', 'saved_view'),
  both('schemas of handlers', 'count(*), max(told_at), sum(length(schema))', 'worker_schema'),
  both('kept results', 'count(*), sum(task), sum(length(value)), max(expires_at)', 'kept_result'),
  both('definitions', 'count(*), max(used_at), sum(length(hash)), sum(length(body))', 'definition'),
  both('pools', 'count(*), sum(revision), sum(length(body))', 'pools'),
  both('tickets of pools', 'count(*), sum(state), sum(length(id)), sum(length(hash)), sum(worker)', 'pool_tickets'),
  both('decisions of pools', 'count(*), sum(n), sum(length(body)), sum(launched), sum(drained)', 'pool_decisions'),
  both('workflows', 'count(*), sum(version), sum(revision), sum(enabled), max(changed_at)', 'workflow'),
  both(
    'versions of workflows',
    'count(*), sum(version), max(at), sum(restored), sum(length(definition)), sum(length(author))',
    'workflow_version',
  ),
  both('runs', 'count(*), max(task), sum(forked_from), max(cancel_at), sum(length(name)), sum(length(labels))', 'run'),
  both('budgets', 'count(*), sum(root), sum(unit), sum(soft), sum(hard), sum(taken), sum(told)', 'budget'),
  both('allowances', 'count(*), sum(task), sum(granted), sum(spent), sum(reserved)', 'allowance'),
  both(
    'journals',
    'count(*), sum(attempt), sum(kind), sum(ref), sum(began), sum(length(usage)), sum(length(value))',
    'journal',
  ),
];
