import { STREAMS, type Stream } from '../../core/task/log.ts';
import type { LogLine } from '../store.ts';

export interface LogRow {
  readonly attempt: number;
  readonly seq: number;
  readonly at: number;
  readonly stream: number;
  readonly data: string;
}

export function lineOf({ attempt, seq, at, stream, data }: LogRow): LogLine {
  return { attempt, seq, at, stream: STREAMS[stream] as Stream, text: data };
}
