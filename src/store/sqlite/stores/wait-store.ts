import type { WaitStore } from '../../store.ts';
import { getWait, listWaits } from '../verbs/trees/park.ts';
import { keptSignals, sendSignal } from '../verbs/trees/signal.ts';
import type { StoreParts } from './store-parts.ts';

export function waitStore({ writer }: StoreParts): WaitStore {
  return {
    waitGet: ({ task }) => writer.read(({ sql }) => getWait(sql, task)),
    waitList: ({ limit }) => writer.read(({ sql }) => listWaits(sql, limit)),
    signalKept: ({ channel }) => writer.read(({ sql }) => keptSignals(sql, channel)),
    signalSend: ({ items }) => writer.write('rest', (tx) => items.map((item) => sendSignal(tx, item))),
  };
}
