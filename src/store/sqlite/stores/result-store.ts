import type { ResultStore } from '../../store.ts';
import { resultKeyOf } from '../body.ts';
import { findResult, keepResult } from '../verbs/trees/result.ts';
import type { StoreParts } from './store-parts.ts';

export function resultStore({ writer }: StoreParts): ResultStore {
  return {
    resultKeys: ({ tasks }) => writer.read(({ sql }) => tasks.map((task) => resultKeyOf(sql, task))),
    resultFind: ({ items }) =>
      writer.read(({ sql }) => items.map((item) => findResult(sql, item, writer.clock.calendar()))),
    /** In the rank of settles, which it comes before. */
    resultKeep: ({ items }) => writer.write('settle', (tx) => items.map((item) => keepResult(tx, item))),
  };
}
