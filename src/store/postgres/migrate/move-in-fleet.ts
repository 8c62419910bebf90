/** Tables of triggers, of pools, of credentials, of tags and of the audit: how their rows become rows in Postgres. */
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

export const CREDENTIAL_TRANSFERS: readonly Transfer[] = [
  {
    // What is sealed opens with the same secret: the key of the cluster moves too.
    table: 'credential',
    columns: [
      ...texts('name'),
      ...numbers('bigint', 'version', 'value_version'),
      ...texts('sealed'),
      ...numbers('smallint', 'kind'),
      ...texts('type', 'workers', 'tags'),
      ...numbers('smallint', 'level'),
      ...numbers('bigint', 'created_at', 'changed_at'),
    ],
    select: `SELECT name, version, value_version, sealed, kind, type, workers, tags, level, created_at, changed_at FROM credential`,
  },
  {
    table: 'credential_holding',
    columns: [
      ...texts('worker', 'credential'),
      ...numbers('smallint', 'status'),
      ...numbers('bigint', 'wanted', 'acked'),
      ...numbers('smallint', 'level'),
      ...texts('error'),
      ...numbers('bigint', 'asked_at', 'changed_at'),
    ],
    select: `SELECT worker, credential, status, wanted, acked, level, error, asked_at, changed_at FROM credential_holding`,
  },
  {
    table: 'credential_signer',
    columns: [...numbers('int', 'id'), ...texts('public', 'sealed')],
    select: 'SELECT id, public, sealed FROM credential_signer',
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
