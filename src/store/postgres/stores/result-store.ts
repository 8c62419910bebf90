import type { ResultStore } from '../../store.ts';
import { findResults, keepResults, resultKeysOf } from '../verbs/trees/result.ts';
import type { StoreParts } from './store-parts.ts';

export function resultStore({ calls, logs }: StoreParts): ResultStore {
  return {
    resultKeys: ({ tasks }) => calls.run((session) => resultKeysOf(session, tasks)),
    resultFind: ({ items }) => calls.run((session) => findResults(session, items)),
    resultKeep({ items }) {
      const answers = calls.run((session) => keepResults(session, items));
      logs.add(new Set(items.map(({ task }) => task)), answers);
      return answers;
    },
  };
}
