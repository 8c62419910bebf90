import type { NewSignal, SignalAnswer, WaitStore } from '../../store.ts';
import { getWait, listWaits } from '../verbs/trees/park.ts';
import { keptSignals, sendSignals } from '../verbs/trees/signal.ts';
import type { StoreParts } from './store-parts.ts';

export function waitStore(parts: StoreParts): WaitStore {
  const { calls } = parts;
  return {
    waitGet: ({ task }) => calls.run((session) => getWait(session, task)),
    waitList: ({ limit }) => calls.run((session) => listWaits(session, limit)),
    signalKept: ({ channel }) => calls.run((session) => keptSignals(session, channel)),
    signalSend: ({ items }) => send(parts, items),
  };
}

async function send(
  { calls, dedup, hints }: StoreParts,
  items: readonly NewSignal[],
): Promise<readonly SignalAnswer[]> {
  if (items.length === 0) return [];
  const flushId = dedup.next();
  const { woken, lanes } = await calls.transaction((session) => sendSignals(session, flushId, items));
  hints.ready(lanes);
  return woken.map((tasks) => ({ woken: tasks }));
}
