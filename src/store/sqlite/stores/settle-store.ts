import type { SettleStore } from '../../store.ts';
import { returnTask, settleTasks } from '../verbs/queue/settle.ts';
import type { StoreParts } from './store-parts.ts';

export function settleStore({ calls }: StoreParts): SettleStore {
  return {
    taskSettle: ({ items }) => calls.waking('settle', (tx) => settleTasks(tx, items)),
    taskReturn: ({ items }) => calls.waking('settle', (tx) => items.map((item) => returnTask(tx, item))),
  };
}
