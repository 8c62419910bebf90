import { fault } from '../../../core/errors.ts';
import type { PushAnswer, PushInParams, PushStore } from '../../store.ts';
import { CallerTransactions } from '../caller-transaction.ts';
import { pushTasks } from '../verbs/queue/push.ts';
import type { StoreParts } from './store-parts.ts';

interface SqlitePushStore extends PushStore {
  taskPushIn(params: PushInParams): readonly PushAnswer[];
}

export function pushStore(parts: StoreParts): SqlitePushStore {
  const { writer } = parts;
  const callers = new CallerTransactions(parts);
  return {
    taskPush: ({ items }) => writer.write('push', (tx) => pushTasks(tx, items)),
    taskPushIn({ tx, items }) {
      if (!('prepare' in tx)) {
        throw fault('INVALID_INPUT', { field: 'tx', problem: 'a handle of SQLite has a method "prepare"' });
      }
      return callers.push(tx, items);
    },
  };
}
