import type { LogStore } from '../../store.ts';
import { appendLogs, logSize, readLog } from '../verbs/queue/log.ts';
import type { StoreParts } from './store-parts.ts';

export function logStore({ calls, logs }: StoreParts): LogStore {
  return {
    logAppend({ items }) {
      const answers = calls.run((session) => appendLogs(session, items));
      logs.add(new Set(items.map(({ task }) => task)), answers);
      return answers;
    },
    logSize: (lease) => calls.run((session) => logSize(session, lease)),
    logRead: (query) => calls.run((session) => readLog(session, query)),
  };
}
