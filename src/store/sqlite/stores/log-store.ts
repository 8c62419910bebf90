import type { LogStore } from '../../store.ts';
import { appendLog, readLog } from '../verbs/queue/log.ts';
import type { StoreParts } from './store-parts.ts';

export function logStore({ writer }: StoreParts): LogStore {
  return {
    /** In the rank of settles, so that the last lines of an attempt come before its end. */
    logAppend: ({ items }) => writer.write('settle', (tx) => items.map((item) => appendLog(tx, item))),
    logRead: (query) => writer.read(({ sql }) => readLog(sql, query)),
  };
}
