import type { SettleStore } from '../../store.ts';
import { returnTask, settleTask } from '../verbs/queue/settle.ts';
import type { StoreParts } from './store-parts.ts';

export function settleStore({ calls }: StoreParts): SettleStore {
  return {
    taskSettle: ({ items }) => calls.waking('settle', (tx) => items.map((item) => settleTask(tx, item))),
    taskReturn: ({ items }) => calls.waking('settle', (tx) => items.map((item) => returnTask(tx, item))),
  };
}
