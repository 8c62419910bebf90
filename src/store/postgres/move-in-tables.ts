/** What a row of a SQLite store is in Postgres. The one place that knows both schemas. */

/** How a column travels: as a number, a text, a truth, or a list that Postgres reads from its text. */
type Kind = 'number' | 'text' | 'truth' | 'list';

export interface Column {
  readonly name: string;
  readonly kind: Kind;
  /** As Postgres calls it. */
  readonly type: string;
}

export interface Transfer {
  readonly table: string;
  readonly columns: readonly Column[];
  /** Reads the columns from SQLite, in their order. `:server` and `:lease` are what both clocks say now. */
  readonly select: string;
}

const numbers = (type: string, ...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, kind: 'number', type }));
const texts = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, kind: 'text', type: 'text' }));
const truth = (name: string): readonly Column[] => [{ name, kind: 'truth', type: 'boolean' }];
const list = (type: string, name: string): readonly Column[] => [{ name, kind: 'list', type }];

/** A lease that is moved holds for this long at least, so that its worker has time to find the new store. */
const LEASE_MS = 30_000;

/** SQLite keeps 0 - priority, Postgres ~priority: both are in claim order, and lie one apart. */
const PRIO = 'prio - 1';
/** Lane 0 has the row that keeps the place of ids after a restore; it is nobody's task. */
const TASKS = 'task t JOIN lane l ON l.id = t.lane';
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
      ...texts('handler', 'hash', 'placement'),
      ...list('int[]', 'slots'),
      ...texts('fair_key'),
      ...numbers('int', 'weight'),
      ...numbers('bigint', 'used_at'),
    ],
    select: `SELECT id, queue, handler, hash, placement, ${asList('slots')}, fair_key, weight, used_at FROM lane`,
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
    ],
    select: `SELECT t.id, created_at, started_at, run_at,
        CASE WHEN state = 1 THEN :server + max(coalesce(lease_until, 0) - :lease, ${LEASE_MS})
          WHEN state = 3 THEN lease_until END, cancel_at,
        CASE WHEN attempt = 0 THEN expires_at END, l.queue, lane, spec, attempt, holder, open, state, ${PRIO}, tries,
        max_tries, bounces, flags, payload
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
    ],
    select: `SELECT t.id, created_at, started_at, coalesce(ended_at, created_at), cancel_at, l.queue, lane, spec, attempt,
        holder, state, reason, ${PRIO}, tries, max_tries, bounces, flags, payload, result
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
    columns: [...numbers('bigint', 'up', 'down', 'gen'), ...truth('optional'), ...truth('open'), ...truth('planned')],
    select: 'SELECT up, down, gen, optional, open, planned FROM dep ORDER BY up, down',
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
    ],
    select: `SELECT id, name, incarnation, state, enabled, slots, tags, beat_at - :lease + :server, host, pid, started_at,
        handlers, status, metadata FROM worker`,
  },
  {
    // Free at once; who had one before finds a higher epoch.
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
      ...numbers('bigint', 'next_at'),
    ],
    select: `SELECT name, lane, spec, cron, timezone, missed, ${PRIO}, max_tries, payload, next_at FROM trigger_def`,
  },
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
      ...texts('key', 'channel', 'form'),
      ...numbers('bigint', 'since', 'deadline'),
      ...numbers('smallint', 'state'),
      ...texts('body'),
    ],
    select: 'SELECT task, gen, key, channel, form, since, deadline, state, body FROM wait ORDER BY task',
  },
  {
    table: 'signal',
    columns: [...numbers('bigint', 'id'), ...texts('channel', 'body'), ...numbers('bigint', 'at')],
    select: 'SELECT id, channel, body, at FROM signal ORDER BY id',
  },
  {
    // Long values lie apart in SQLite only.
    table: 'checkpoint',
    columns: [
      ...numbers('bigint', 'task'),
      ...texts('key'),
      ...numbers('bigint', 'attempt'),
      ...texts('value'),
      ...numbers('bigint', 'at'),
    ],
    select: `SELECT c.task, c.key, attempt, coalesce(value, data), at FROM checkpoint c
      LEFT JOIN checkpoint_body b ON b.task = c.task AND b.key = c.key ORDER BY c.task, c.key`,
  },
];

/** The counters of Postgres go on after these. */
export const HIGHS: Readonly<Record<'task' | 'queue' | 'lane' | 'spec' | 'worker' | 'signal', string>> = {
  // The placeholder of a restore counts: its number was handed out, or may have been.
  task: 'SELECT max(id) FROM task',
  queue: 'SELECT max(id) FROM queue',
  lane: 'SELECT max(id) FROM lane',
  spec: 'SELECT max(id) FROM spec',
  worker: "SELECT max(seq) FROM sqlite_sequence WHERE name = 'worker'",
  signal: 'SELECT max(id) FROM signal',
};

/** Days on which tasks ended, as a time of each; the newest first. */
export const DAYS = `SELECT DISTINCT coalesce(ended_at, created_at) / 86400000 * 86400000 FROM task
  WHERE state >= 4 AND lane > 0 ORDER BY 1 DESC LIMIT ?`;

/** One question, asked of both sides when all has arrived: the answers must be the same, row by row. */
export interface Check {
  readonly what: string;
  readonly sqlite: string;
  /** `{s}` is the schema. */
  readonly postgres: string;
}

const SOME = 'count(*), coalesce(sum(attempt), 0), coalesce(sum(tries), 0), coalesce(sum(length(payload)), 0), max(id)';
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
        SELECT id, state, attempt, tries, prio, payload, NULL AS result FROM {s}.task
        UNION ALL SELECT id, state, attempt, tries, prio, payload, result FROM {s}.done) t
      GROUP BY state ORDER BY state`,
  },
  both('counters', SUMS, 'qstat'),
  both('queues', 'count(*), max(id)', 'queue'),
  both('lanes', 'count(*), max(id)', 'lane'),
  both('specs', 'count(*), max(id), sum(length(body))', 'spec'),
  both('attempts', 'count(*), sum(attempt), sum(outcome), sum(length(error))', 'attempt'),
  both('bodies', 'count(*), sum(length(data))', 'body'),
  both('dependencies', 'count(*), sum(up), sum(down), sum(gen)', 'dep'),
  both('dependencies to see to', 'count(*), sum(up)', 'dep_carry'),
  both('unique keys', 'count(*), max(task), sum(length(key))', 'uniq'),
  both('operations', 'count(*), sum(length(answer))', 'op'),
  both('workers', 'count(*), max(id)', 'worker'),
  both('events', 'count(*), sum(n), min(seq), max(seq + n)', 'event'),
  both('triggers', 'count(*), max(next_at)', 'trigger_def'),
  both('log lines', 'count(*), sum(seq), max(at)', 'log'),
  both('waits', 'count(*), sum(gen), sum(state), sum(length(key)), sum(length(body))', 'wait'),
  both('signals', 'count(*), max(id), sum(length(body))', 'signal'),
  {
    what: 'checkpoints',
    sqlite: `SELECT count(*), sum(attempt), sum(length(coalesce(value, data))) FROM checkpoint c
      LEFT JOIN checkpoint_body b ON b.task = c.task AND b.key = c.key`,
    postgres: 'SELECT count(*), sum(attempt), sum(length(value)) FROM {s}.checkpoint',
  },
];
