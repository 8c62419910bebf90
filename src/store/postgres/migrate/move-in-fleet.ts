/** Tables of triggers, of pools, of tags and of the audit: how their rows become rows in Postgres. */
import { numbers, type Transfer, texts } from './move-in-columns.ts';

export const TRIGGER_TRANSFERS: readonly Transfer[] = [
  {
    table: 'reaction',
    columns: [
      ...texts('name', 'kind', 'body'),
      ...numbers('smallint', 'enabled'),
      ...numbers('bigint', 'revision', 'cursor', 'lines', 'created_at', 'changed_at'),
    ],
    select: 'SELECT name, kind, body, enabled, revision, cursor, lines, created_at, changed_at FROM reaction',
  },
  {
    table: 'reaction_line',
    columns: [
      ...texts('name'),
      ...numbers('bigint', 'n', 'at'),
      ...numbers('smallint', 'outcome'),
      ...numbers('bigint', 'task'),
      ...texts('about', 'detail'),
    ],
    select: 'SELECT name, n, at, outcome, task, about, detail FROM reaction_line',
  },
  {
    table: 'reaction_key',
    columns: [
      ...texts('name', 'key', 'version'),
      ...numbers('bigint', 'until', 'n', 'task', 'born'),
      ...numbers('smallint', 'links'),
    ],
    select: 'SELECT name, key, version, until, n, task, born, links FROM reaction_key',
  },
  {
    table: 'worker_loss',
    columns: [...numbers('bigint', 'n', 'worker'), ...texts('name', 'host'), ...numbers('bigint', 'at')],
    select: 'SELECT n, worker, name, host, at FROM worker_loss ORDER BY n',
  },
];

export const POOL_TRANSFERS: readonly Transfer[] = [
  {
    table: 'pools',
    columns: [
      ...texts('name', 'body'),
      ...numbers('bigint', 'revision', 'created_at', 'changed_at'),
      ...texts('changed_by'),
      ...numbers('bigint', 'up_at', 'down_at'),
    ],
    select: `SELECT name, body, revision, created_at, changed_at, changed_by, up_at - :lease + :server, down_at - :lease + :server
      FROM pools`,
  },
  {
    table: 'pool_tickets',
    columns: [
      ...numbers('bigint', 'n'),
      ...texts('id', 'pool', 'hash'),
      ...numbers('smallint', 'state'),
      ...numbers('bigint', 'at', 'made_at', 'expires_at', 'ended_at'),
      ...texts('started', 'error'),
      ...numbers('bigint', 'worker', 'idle_since', 'ended'),
    ],
    select: `SELECT n, id, pool, hash, state, at, made_at - :lease + :server, expires_at - :lease + :server, ended_at - :lease + :server,
        started, error, worker, idle_since - :lease + :server, ended FROM pool_tickets ORDER BY n`,
  },
  {
    table: 'pool_decisions',
    columns: [
      ...texts('pool'),
      ...numbers('bigint', 'n', 'at'),
      ...texts('course', 'body'),
      ...numbers('bigint', 'launched', 'drained'),
    ],
    select: 'SELECT pool, n, at, course, body, launched, drained FROM pool_decisions',
  },
];

export const AUDIT_TRANSFERS: readonly Transfer[] = [
  {
    table: 'audit_entry',
    columns: [
      ...numbers('bigint', 'id', 'at', 'ended_at'),
      ...texts('actor', 'role'),
      ...numbers('bigint', 'token'),
      ...texts('said', 'action', 'target'),
      ...numbers('smallint', 'face'),
      ...texts('address', 'request'),
      ...numbers('smallint', 'outcome'),
      ...numbers('integer', 'status'),
      ...texts('code', 'was', 'became'),
      ...numbers('bigint', 'times'),
    ],
    select: `SELECT id, at, ended_at, actor, role, token, said, action, target, face, address, request, outcome, status, code, was, became,
      times FROM audit_entry ORDER BY id`,
  },
];

export const TAG_TRANSFERS: readonly Transfer[] = [
  {
    table: 'tag',
    columns: [...texts('name'), ...numbers('bigint', 'at'), ...texts('author')],
    select: 'SELECT name, at, author FROM tag',
  },
];
