import type { Lease } from '../../../../core/task/lease.ts';
import { STREAMS } from '../../../../core/task/log.ts';
import { type LogRow, lineOf } from '../../../rows/log-rows.ts';
import type { LogAnswer, LogAppend, LogLine, LogQuery, StoredSize } from '../../../store.ts';
import { numbers, texts } from '../../arrays.ts';
import type { Session } from '../../connect/database.ts';

export async function appendLogs(session: Session, items: readonly LogAppend[]): Promise<readonly LogAnswer[]> {
  const lines = items.flatMap(({ task, attempt, entries }) => entries.map((entry) => ({ task, attempt, ...entry })));
  const rows = await session.rows('logAdd', [
    numbers(items.map(({ task }) => task)),
    numbers(items.map(({ attempt }) => attempt)),
    numbers(lines.map(({ task }) => task)),
    numbers(lines.map(({ attempt }) => attempt)),
    numbers(lines.map(({ seq }) => seq)),
    numbers(lines.map(({ at }) => at)),
    numbers(lines.map(({ stream }) => STREAMS.indexOf(stream))),
    texts(lines.map(({ text }) => text)),
  ]);
  const held = new Set(rows.map(([task, attempt]) => `${String(task)}/${String(attempt)}`));
  return items.map(({ task, attempt }) => (held.has(`${task}/${attempt}`) ? 'done' : 'lost'));
}

/** A reader may name any number, however large, to read behind the last line of an attempt. */
const place = (n = 0): number => Math.min(n, 2 ** 31 - 1);

export async function readLog(session: Session, { task, after, limit }: LogQuery): Promise<readonly LogLine[]> {
  const values = [task, place(after?.attempt), place(after?.seq), limit];
  return (await session.all<LogRow>('logRead', values)).map(lineOf);
}

export async function logSize(session: Session, { task, attempt }: Lease): Promise<StoredSize> {
  const [size] = await session.all<StoredSize>('logSize', [task, attempt]);
  return size ?? { entries: 0, bytes: 0 };
}
