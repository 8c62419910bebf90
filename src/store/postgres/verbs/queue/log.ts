import { STREAMS, type Stream } from '../../../../core/task/log.ts';
import type { LogAnswer, LogAppend, LogLine, LogQuery } from '../../../store.ts';
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

/** Who wants to read behind the last line of an attempt may name any number, however large. */
const place = (n = 0): number => Math.min(n, 2 ** 31 - 1);

export async function readLog(session: Session, { task, after, limit }: LogQuery): Promise<readonly LogLine[]> {
  const rows = await session.all<{ attempt: number; seq: number; at: number; stream: number; data: string }>(
    'logRead',
    [task, place(after?.attempt), place(after?.seq), limit],
  );
  return rows.map(({ attempt, seq, at, stream, data }) => {
    return { attempt, seq, at, stream: STREAMS[stream] as Stream, text: data };
  });
}
