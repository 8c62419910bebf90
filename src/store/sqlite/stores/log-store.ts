import type { LogStore } from '../../store.ts';
import { appendLog, logSize, readLog } from '../verbs/queue/log.ts';
import type { StoreParts } from './store-parts.ts';

export function logStore({ writer }: StoreParts): LogStore {
  return {
    /** In the rank of settles, so that the last lines of an attempt come before its end. */
    logAppend: ({ items }) => writer.write('settle', (tx) => items.map((item) => appendLog(tx, item))),
    logSize: (lease) => writer.read(({ sql }) => logSize(sql, lease)),
    logRead: (query) => writer.read(({ sql }) => readLog(sql, query)),
  };
}
