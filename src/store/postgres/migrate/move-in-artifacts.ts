import { numbers, type Transfer, texts, truth } from './move-in-columns.ts';

/** Their bytes stay where they are. */
export const ARTIFACT_TRANSFERS: readonly Transfer[] = [
  {
    table: 'artifact',
    columns: [
      ...numbers('bigint', 'n'),
      ...texts('id'),
      ...numbers('bigint', 'task', 'root', 'attempt'),
      ...numbers('smallint', 'state'),
      ...texts('name', 'type'),
      ...numbers('smallint', 'kind'),
      ...numbers('bigint', 'size'),
      ...texts('sha256'),
      ...truth('own'),
      ...texts('blob'),
      ...numbers('bigint', 'created_at'),
    ],
    select: `SELECT n, id, task, root, attempt, state, name, type, kind, size, sha256, own, blob, created_at FROM artifact ORDER BY n`,
  },
  {
    table: 'artifact_room',
    columns: numbers('bigint', 'root', 'task', 'entries', 'bytes'),
    select: 'SELECT root, task, entries, bytes FROM artifact_room',
  },
];
