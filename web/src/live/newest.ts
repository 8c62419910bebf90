/** A list whose newest part stays fresh: all of it is read once, then only what is new. */

import { useRef } from 'react';
import { mergeNewest } from '../model/pool/newest.ts';
import { type Resource, useResource } from './resource.ts';

/** As many as a node keeps of each of these lists. */
const MOST = 200;
const FRESH = 25;

export function useNewest<T extends { readonly n: number }>(
  key: string,
  load: (limit: number, signal: AbortSignal) => Promise<readonly T[]>,
  {
    settled = () => true,
    most = MOST,
    ...options
  }: {
    /** Whether a row changes no more. */
    readonly settled?: (one: T) => boolean;
    /** As many as the route gives at once. */
    readonly most?: number;
    readonly everyMs: number;
    readonly on?: () => boolean;
    readonly atMostMs?: number;
  },
): Resource<readonly T[]> {
  const kept = useRef<{ readonly key: string; readonly rows: readonly T[] }>({ key, rows: [] });
  return useResource(
    key,
    async (signal) => {
      const before = kept.current.key === key ? kept.current.rows : [];
      const read = await load(before.length === 0 ? most : FRESH, signal);
      const rows = mergeNewest(before, read, { most, settled }) ?? (await load(most, signal));
      kept.current = { key, rows };
      return rows;
    },
    options,
  );
}
