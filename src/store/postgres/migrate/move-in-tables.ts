/** How rows of a SQLite store become rows in Postgres. The one place that knows both schemas, but for move-in-fleet.ts. */
import { ARTIFACT_TRANSFERS } from './move-in-artifacts.ts';
import { list, numbers, type Transfer, texts, truth } from './move-in-columns.ts';
import {
  AUDIT_TRANSFERS,
  CREDENTIAL_TRANSFERS,
  POOL_TRANSFERS,
  TAG_TRANSFERS,
  TRIGGER_TRANSFERS,
} from './move-in-fleet.ts';

/** A moved lease lasts at least this long, so that its worker has time to find the new store. */
const LEASE_MS = 30_000;

/** SQLite stores 0 - priority, Postgres ~priority. Both are in claim order, and differ by one. */
export const PRIO = 'prio - 1';
/** Lane 0 has a row that reserves ids after a restore. It is no task. */
const TASKS = 'task t JOIN lane l ON l.id = t.lane';
/** A lease time on the server's clock; 0 means never. */
const onServer = (column: string, perMs = 1): string =>
  `CASE WHEN ${column} = 0 THEN 0 ELSE max(0, ${column} + (:server - :lease) * ${perMs}) END`;
const asList = (column: string): string => `'{' || substr(${column}, 2, length(${column}) - 2) || '}'`;

export const TRANSFERS: readonly Transfer[] = [
  {
    table: 'queue',
    columns: [...numbers('int', 'id'), ...texts('name'), ...truth('paused'), ...texts('options')],
    select: 'SELECT id, name, paused, options FROM queue',
  },
  {
    table: 'lane',
    columns: [
      ...numbers('int', 'id', 'queue'),
      ...texts('handler', 'hash', 'placement', 'uses', 'fair_key'),
      ...numbers('int', 'weight'),
      ...numbers('bigint', 'used_at'),
      ...texts('limits', 'served_by'),
    ],
    // The counters keep their numbers, so the JSON of a lane's uses stays the same.
    select: 'SELECT id, queue, handler, hash, placement, slots, fair_key, weight, used_at, limits, served_by FROM lane',
  },
  {
    table: 'limit_def',
    columns: [
      ...numbers('int', 'id'),
      ...texts('name', 'body'),
      ...numbers('int', 'revision'),
      ...numbers('bigint', 'changed_at'),
      ...texts('changed_by'),
    ],
    select: 'SELECT id, name, body, revision, changed_at, changed_by FROM limit_def',
  },
  {
    table: 'limit_change',
    columns: [...numbers('bigint', 'id'), ...numbers('int', 'def'), ...numbers('bigint', 'at'), ...texts('by', 'body')],
    select: 'SELECT id, def, at, by, body FROM limit_change ORDER BY id',
  },
  {
    // Rate windows and pauses are in lease time.
    table: 'slot',
    columns: [
      ...numbers('int', 'id', 'def'),
      ...texts('key'),
      ...numbers('int', 'cap', 'active'),
      ...numbers('bigint', 'tat', 'cost_tat', 'paused_until'),
      ...truth('plain'),
    ],
    select: `SELECT id, def, key, cap, active, ${onServer('tat', 1000)}, ${onServer('cost_tat', 1000)},
        ${onServer('paused_until')},
        (SELECT coalesce(body ->> 'rate', body ->> 'cost') IS NULL FROM limit_def d WHERE d.id = slot.def) FROM slot`,
  },
  {
    table: 'lane_slot',
    columns: numbers('int', 'lane', 'slot', 'weight'),
    select: 'SELECT lane, slot, weight FROM lane_slot ORDER BY lane, slot',
  },
  {
    table: 'spec',
    columns: [...numbers('int', 'id'), ...texts('hash', 'body'), ...numbers('bigint', 'used_at')],
    select: 'SELECT id, hash, body, used_at FROM spec',
  },
  {
    table: 'task',
    columns: [
      ...numbers('bigint', 'id', 'created_at', 'started_at', 'run_at', 'lease_until', 'cancel_at', 'expires_at'),
      ...numbers('int', 'queue', 'lane', 'spec'),
      ...numbers('bigint', 'attempt', 'holder'),
      ...numbers('int', 'open'),
      ...numbers('smallint', 'state', 'prio', 'tries', 'max_tries', 'bounces', 'flags'),
      ...texts('payload'),
      ...numbers('bigint', 'parent', 'root'),
    ],
    select: `SELECT t.id, created_at, started_at, run_at,
        CASE WHEN state = 1 THEN :server + max(coalesce(lease_until, 0) - :lease, ${LEASE_MS})
          WHEN state = 3 THEN lease_until END, cancel_at,
        CASE WHEN attempt = 0 THEN expires_at END, l.queue, lane, spec, attempt, holder, open, state, ${PRIO}, tries,
        max_tries, bounces, flags, payload, parent, root
      FROM ${TASKS} WHERE state < 4 ORDER BY t.id`,
  },
  {
    table: 'done',
    columns: [
      ...numbers('bigint', 'id', 'created_at', 'started_at', 'ended_at', 'cancel_at'),
      ...numbers('int', 'queue', 'lane', 'spec'),
      ...numbers('bigint', 'attempt', 'holder'),
      ...numbers('smallint', 'state', 'reason', 'prio', 'tries', 'max_tries', 'bounces', 'flags'),
      ...texts('payload', 'result'),
      ...numbers('bigint', 'parent', 'root'),
    ],
    select: `SELECT t.id, created_at, started_at, coalesce(ended_at, created_at), cancel_at, l.queue, lane, spec, attempt,
        holder, state, reason, ${PRIO}, tries, max_tries, bounces, flags, payload, result, parent, root
      FROM ${TASKS} WHERE state >= 4 ORDER BY t.id`,
  },
  {
    table: 'attempt',
    columns: [
      ...numbers('bigint', 'task', 'attempt', 'holder'),
      ...numbers('bigint', 'started_at', 'ended_at'),
      ...numbers('smallint', 'outcome'),
      ...texts('error'),
    ],
    select: 'SELECT task, attempt, holder, started_at, ended_at, outcome, error FROM attempt',
  },
  {
    table: 'body',
    columns: [...numbers('bigint', 'task'), ...numbers('smallint', 'part'), ...texts('data')],
    select: 'SELECT task, part, data FROM body ORDER BY task, part',
  },
  {
    table: 'dep',
    columns: [
      ...numbers('bigint', 'up', 'down', 'gen'),
      ...truth('optional'),
      ...truth('open'),
      ...truth('planned'),
      ...truth('parked'),
    ],
    select: 'SELECT up, down, gen, optional, open, planned, parked FROM dep ORDER BY up, down',
  },
  {
    table: 'dep_carry',
    columns: [...numbers('bigint', 'up'), ...numbers('smallint', 'state')],
    select: 'SELECT up, state FROM dep_carry',
  },
  {
    table: 'uniq',
    columns: [...numbers('int', 'queue'), ...texts('key'), ...numbers('bigint', 'task', 'hash', 'until')],
    select: 'SELECT queue, key, task, hash, until FROM uniq',
  },
  {
    table: 'op',
    columns: [...texts('id', 'answer'), ...numbers('bigint', 'until')],
    select: 'SELECT id, answer, until FROM op',
  },
  {
    table: 'worker',
    columns: [
      ...numbers('bigint', 'id'),
      ...texts('name', 'incarnation'),
      ...numbers('smallint', 'state'),
      ...truth('enabled'),
      ...numbers('int', 'slots'),
      ...texts('tags'),
      ...numbers('bigint', 'beat_at'),
      ...texts('host'),
      ...numbers('int', 'pid'),
      ...numbers('bigint', 'started_at'),
      ...texts('handlers', 'status', 'metadata'),
      ...numbers('int', 'priority'),
      ...texts('version', 'queues', 'own_tags'),
      ...numbers('int', 'own_priority', 'revision'),
      ...texts('address', 'pool'),
      ...numbers('bigint', 'beat_ms', 'stale_ms'),
      ...texts('ticket'),
      ...numbers('bigint', 'leaving_at'),
    ],
    select: `SELECT id, name, incarnation, state, enabled, slots, tags, beat_at - :lease + :server, host, pid, started_at,
        handlers, status, metadata, priority, version, queues, own_tags,
        own_priority, revision, address, pool, beat_ms, stale_ms, ticket, leaving_at - :lease + :server FROM worker`,
  },
  {
    table: 'worker_total',
    columns: [...texts('name'), ...numbers('bigint', 'ended')],
    select: 'SELECT name, ended FROM worker_total',
  },
  {
    table: 'worker_setting',
    columns: [...texts('name'), ...truth('enabled'), ...numbers('int', 'priority'), ...texts('tags', 'grants')],
    select: 'SELECT name, enabled, priority, tags, grants FROM worker_setting',
  },
  {
    // Free at once. Their former holders find a higher epoch.
    table: 'duty',
    columns: [...texts('name', 'holder'), ...numbers('bigint', 'epoch', 'until', 'cursor')],
    select: `SELECT name, holder, epoch, 0, cursor FROM duty WHERE name <> 'feed'
      UNION ALL SELECT 'feed', '', coalesce((SELECT epoch FROM duty WHERE name = 'feed'), 0), 0, max(seq + n) - 1 FROM event`,
  },
  {
    table: 'event',
    columns: [
      ...numbers('bigint', 'seq'),
      ...numbers('int', 'n'),
      ...numbers('bigint', 'at'),
      ...numbers('int', 'queue'),
      ...numbers('smallint', 'kind', 'state'),
      ...list('bigint[]', 'ids'),
      ...list('bigint[]', 'attempts'),
      ...list('bigint[]', 'born'),
    ],
    select: `SELECT seq, n, at, queue, kind, state, ${asList('ids')}, ${asList('attempts')}, ${asList('born')}
      FROM event ORDER BY seq`,
  },
  {
    table: 'qstat',
    columns: [
      ...numbers('int', 'queue'),
      ...numbers('bigint', 'ready', 'running', 'scheduled', 'waiting', 'completed', 'failed', 'cancelled'),
    ],
    select: 'SELECT queue, ready, running, scheduled, waiting, completed, failed, cancelled FROM qstat',
  },
  {
    table: 'trigger_def',
    columns: [
      ...texts('name'),
      ...numbers('int', 'lane', 'spec'),
      ...texts('cron', 'timezone', 'missed'),
      ...numbers('smallint', 'prio', 'max_tries'),
      ...texts('payload'),
      ...numbers('bigint', 'next_at', 'held_at', 'fires'),
      ...texts('workflow', 'run'),
    ],
    select: `SELECT name, lane, spec, cron, timezone, missed, ${PRIO}, max_tries, payload, next_at, held_at, fires, workflow, run
      FROM trigger_def`,
  },
  {
    table: 'trigger_fire',
    columns: [
      ...texts('name'),
      ...numbers('bigint', 'n', 'slot', 'ends', 'at'),
      ...numbers('smallint', 'outcome'),
      ...numbers('bigint', 'task'),
    ],
    select: 'SELECT name, n, slot, ends, at, outcome, task FROM trigger_fire',
  },
  ...TRIGGER_TRANSFERS,
  {
    table: 'log',
    columns: [
      ...numbers('bigint', 'task'),
      ...numbers('bigint', 'attempt'),
      ...numbers('int', 'seq'),
      ...numbers('bigint', 'at'),
      ...numbers('smallint', 'stream'),
      ...texts('data'),
    ],
    select: `SELECT task, attempt, seq, at, stream, data FROM log ORDER BY task, attempt, seq`,
  },
  {
    table: 'wait',
    columns: [
      ...numbers('bigint', 'task', 'gen'),
      ...numbers('int', 'turn'),
      ...texts('key', 'channel', 'form'),
      ...numbers('bigint', 'since', 'deadline'),
      ...numbers('smallint', 'state'),
      ...texts('body'),
    ],
    select: 'SELECT task, gen, turn, key, channel, form, since, deadline, state, body FROM wait ORDER BY task',
  },
  {
    table: 'signal',
    columns: [...numbers('bigint', 'id'), ...texts('channel', 'body'), ...numbers('bigint', 'at')],
    select: 'SELECT id, channel, body, at FROM signal ORDER BY id',
  },
  {
    table: 'journal',
    columns: [
      ...numbers('bigint', 'task'),
      ...texts('key'),
      ...numbers('smallint', 'kind'),
      ...numbers('bigint', 'attempt', 'at', 'began', 'ref'),
      ...texts('usage', 'value'),
    ],
    select: 'SELECT task, key, kind, attempt, at, began, ref, usage, value FROM journal ORDER BY task, key',
  },
  {
    table: 'definition',
    columns: [...texts('hash', 'kind'), ...numbers('bigint', 'used_at'), ...texts('body')],
    select: 'SELECT hash, kind, used_at, body FROM definition',
  },
  {
    table: 'workflow',
    columns: [
      ...texts('name'),
      ...numbers('bigint', 'version', 'revision'),
      ...numbers('smallint', 'enabled'),
      ...numbers('bigint', 'created_at', 'changed_at'),
    ],
    select: 'SELECT name, version, revision, enabled, created_at, changed_at FROM workflow',
  },
  {
    table: 'workflow_version',
    columns: [
      ...texts('workflow'),
      ...numbers('bigint', 'version'),
      ...texts('definition'),
      ...numbers('bigint', 'at'),
      ...texts('author'),
      ...numbers('bigint', 'restored'),
    ],
    select: 'SELECT workflow, version, definition, at, author, restored FROM workflow_version',
  },
  ...POOL_TRANSFERS,
  ...CREDENTIAL_TRANSFERS,
  ...AUDIT_TRANSFERS,
  ...TAG_TRANSFERS,
  ...ARTIFACT_TRANSFERS,
  {
    table: 'run',
    columns: [
      ...numbers('bigint', 'task'),
      ...texts('name', 'kind', 'title', 'fingerprint', 'definition'),
      ...numbers('bigint', 'forked_from', 'created_at', 'cancel_at'),
      ...texts('cancel_why', 'cancel_by', 'labels'),
    ],
    select: `SELECT task, name, kind, title, fingerprint, definition, forked_from, created_at, cancel_at, cancel_why, cancel_by,
        labels FROM run ORDER BY task`,
  },
  {
    table: 'budget',
    columns: [
      ...numbers('bigint', 'root'),
      ...numbers('smallint', 'unit'),
      ...numbers('bigint', 'soft', 'hard', 'taken'),
      ...numbers('smallint', 'told'),
    ],
    select: 'SELECT root, unit, soft, hard, taken, told FROM budget ORDER BY root, unit',
  },
  {
    table: 'allowance',
    columns: [
      ...numbers('bigint', 'task'),
      ...numbers('smallint', 'unit'),
      ...numbers('bigint', 'root', 'granted', 'spent', 'reserved'),
    ],
    select: 'SELECT task, unit, root, granted, spent, reserved FROM allowance ORDER BY task, unit',
  },
  {
    table: 'kept_result',
    columns: [
      ...texts('key'),
      ...numbers('bigint', 'task', 'attempt', 'born'),
      ...texts('value'),
      ...numbers('bigint', 'at', 'expires_at'),
    ],
    select: 'SELECT key, task, attempt, born, value, at, expires_at FROM kept_result',
  },
  {
    // Live tokens stay live, and revoked ones stay revoked.
    table: 'entry_token',
    columns: [
      ...numbers('bigint', 'id'),
      ...texts('kind', 'role', 'name', 'hash', 'prefix', 'made_by'),
      ...numbers('bigint', 'created_at', 'expires_at', 'used_at', 'last_used_at', 'revoked_at'),
    ],
    select: `SELECT id, kind, role, name, hash, prefix, made_by, created_at, expires_at, used_at, last_used_at, revoked_at
      FROM entry_token`,
  },
  {
    table: 'browser_session',
    columns: [
      ...numbers('bigint', 'id'),
      ...texts('hash'),
      ...numbers('bigint', 'token'),
      ...texts('admin'),
      ...numbers('bigint', 'created_at', 'expires_at'),
    ],
    select: 'SELECT id, hash, token, admin, created_at, expires_at FROM browser_session',
  },
  {
    table: 'task_document',
    columns: [
      ...numbers('bigint', 'num'),
      ...texts('id', 'root', 'parent', 'user_id', 'shows', 'body'),
      ...numbers('bigint', 'task'),
      ...numbers('int', 'run'),
      ...truth('dropped'),
      ...numbers('int', 'version'),
      ...numbers('bigint', 'created_at', 'updated_at'),
    ],
    select: `SELECT num, id, root, parent, user_id, shows, body, task, run, dropped, version, created_at, updated_at
      FROM task_document ORDER BY num`,
  },
  {
    table: 'saved_view',
    columns: [...texts('name', 'screen', 'query', 'saved_by'), ...numbers('bigint', 'saved_at')],
    select: 'SELECT name, screen, query, saved_by, saved_at FROM saved_view',
  },
  {
    table: 'worker_schema',
    columns: [...texts('worker', 'handler', 'schema'), ...numbers('bigint', 'told_at')],
    select: 'SELECT worker, handler, schema, told_at FROM worker_schema',
  },
];

/**
 * What is not moved, and why, by table or column. A test checks the transfers and this list against both schemas, so
 * that nothing new is forgotten.
 */
export const LEFT_BEHIND: Readonly<Record<'sqlite' | 'postgres', Readonly<Record<string, string>>>> = {
  sqlite: {
    meta: 'clocks and versions of the file; the key of the ids and the name of the move are handed over apart',
    'duty.until': 'every duty is free at once',
    cluster_node: 'every node has ended with the file',
    worker_name: 'nobody is connected',
    'event.body': 'nothing writes it',
    'journal.id': 'numbers the rows of the file',
    'definition.id': 'numbers the rows of the file',
    handler_schema: 'for programs before the schemas of each worker',
  },
  postgres: {
    meta: 'its own versions; the key of the ids and the name of the move are put there apart',
    flight: 'pushes on their way, of which there are none',
    outbox: 'events without a number, of which there are none',
    latch: 'one row for each hash, made with the schema',
    cluster_node: 'nodes come with their first beat',
    worker_name: 'nobody is connected',
    handler_schema: 'for programs before the schemas of each worker',
    'lane.slots': 'an earlier spelling of uses',
    'event.note': 'names a flush whose answer may have been lost, of which there are none',
  },
};

/** The sequences of Postgres go on after these, those of column `id` where no other is named. */
export const HIGHS: Readonly<Record<string, string>> = {
  // The placeholder of a restore counts: its number was or may have been handed out.
  task: 'SELECT max(id) FROM task',
  queue: 'SELECT max(id) FROM queue',
  lane: 'SELECT max(id) FROM lane',
  spec: 'SELECT max(id) FROM spec',
  worker: "SELECT max(seq) FROM sqlite_sequence WHERE name = 'worker'",
  audit_entry: "SELECT max(seq) FROM sqlite_sequence WHERE name = 'audit_entry'",
  'artifact.n': "SELECT max(seq) FROM sqlite_sequence WHERE name = 'artifact'",
  entry_token: "SELECT max(seq) FROM sqlite_sequence WHERE name = 'entry_token'",
  'pool_tickets.n': 'SELECT max(n) FROM pool_tickets',
  browser_session: "SELECT max(seq) FROM sqlite_sequence WHERE name = 'browser_session'",
  'task_document.num': "SELECT max(seq) FROM sqlite_sequence WHERE name = 'task_document'",
  signal: 'SELECT max(id) FROM signal',
  'worker_loss.n': "SELECT max(seq) FROM sqlite_sequence WHERE name = 'worker_loss'",
  limit_def: 'SELECT max(id) FROM limit_def',
  limit_change: 'SELECT max(id) FROM limit_change',
  slot: 'SELECT max(id) FROM slot',
};

/** The days on which tasks ended, one time for each, the newest first. */
export const DAYS = `SELECT DISTINCT coalesce(ended_at, created_at) / 86400000 * 86400000 FROM task
  WHERE state >= 4 AND lane > 0 ORDER BY 1 DESC LIMIT ?`;
