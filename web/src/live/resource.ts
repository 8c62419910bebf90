/** Resources: data of the node that stays fresh while a screen shows it. */

import { useEffect, useRef, useState } from 'react';
import { type FeedEvent, isRefusal } from '../api.ts';
import { feedState, listen, unauthenticated } from './feed.ts';

export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** Whether the first answer is still to come. */
  readonly loading: boolean;
  readonly refresh: () => void;
  /** Changes the data by the answer of an action, without reading again. */
  readonly set: (change: (data: T) => T) => void;
}

export interface ResourceOptions {
  /** Read again at this interval while the page is visible. */
  readonly everyMs?: number;
  /** Read again when such an event comes, at most every `atMostMs`. */
  readonly on?: (event: FeedEvent) => boolean;
  readonly atMostMs?: number;
  readonly enabled?: boolean;
}

/** The last answers, so that going back shows them at once. */
const cache = new Map<string, unknown>();
const MAX_CACHED = 60;

function cacheAnswer(key: string, data: unknown): void {
  cache.delete(key);
  cache.set(key, data);
  const oldest = cache.keys().next();
  if (cache.size > MAX_CACHED && !oldest.done) cache.delete(oldest.value);
}

export function clearCache(): void {
  cache.clear();
}

/**
 * Data of the node that is read again when it is time. The old answer stays until the new one is there, and also when a read
 * fails, so that nothing flickers. For single things and short lists; long lists are patched row by row (task-list.ts).
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  options: ResourceOptions = {},
): Resource<T> {
  const { everyMs, atMostMs = 500, enabled = true } = options;
  const [state, setState] = useState<{ key: string; data: T | undefined; error: unknown }>(() => ({
    key,
    data: cache.get(key) as T | undefined,
    error: undefined,
  }));
  const latest = useRef({ load, on: options.on });
  latest.current = { load, on: options.on };
  const actions = useRef<{ refresh: () => void; set: (change: (data: T) => T) => void }>({
    refresh: () => {},
    set: () => {},
  });

  useEffect(() => {
    if (!enabled) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let due = Number.POSITIVE_INFINITY;
    let loading = false;
    let loadedAt = 0;
    const schedule = (inMs: number): void => {
      const at = Date.now() + inMs;
      if (at >= due || end.signal.aborted) return;
      due = at;
      clearTimeout(timer);
      timer = setTimeout(() => void run(), inMs);
    };
    const run = async (): Promise<void> => {
      due = Number.POSITIVE_INFINITY;
      if (loading) return schedule(100);
      // A hidden page reads again when it is shown.
      if (document.hidden && loadedAt > 0) return;
      loading = true;
      try {
        const data = await latest.current.load(end.signal);
        if (end.signal.aborted) return;
        cacheAnswer(key, data);
        setState({ key, data, error: undefined });
      } catch (error) {
        if (end.signal.aborted) return;
        if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error }));
      } finally {
        loading = false;
        loadedAt = Date.now();
      }
      if (everyMs !== undefined) schedule(everyMs);
    };
    const refreshSoon = (): void => schedule(Math.max(0, loadedAt + atMostMs - Date.now()));
    actions.current = {
      refresh: () => schedule(0),
      set: (change) =>
        setState((before) => {
          if (before.data === undefined) return before;
          const data = change(before.data);
          cacheAnswer(key, data);
          return { ...before, data };
        }),
    };
    setState((before) =>
      before.key === key ? before : { key, data: cache.get(key) as T | undefined, error: undefined },
    );
    void run();
    const unlisten = listen((events) => {
      const { on } = latest.current;
      if (on !== undefined && events.some(on)) refreshSoon();
    }, refreshSoon);
    let connection = feedState.value.connection;
    const unsubscribe = feedState.subscribe(() => {
      const now = feedState.value.connection;
      if (now === 'live' && connection !== 'live') refreshSoon();
      connection = now;
    });
    const onVisible = (): void => {
      if (!document.hidden) refreshSoon();
    };
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      end.abort();
      clearTimeout(timer);
      unlisten();
      unsubscribe();
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, everyMs, atMostMs, enabled]);

  const [stableActions] = useState(() => ({
    refresh: () => actions.current.refresh(),
    set: (change: (data: T) => T) => actions.current.set(change),
  }));
  const isCurrent = state.key === key;
  const data = isCurrent ? state.data : (cache.get(key) as T | undefined);
  const error = isCurrent ? state.error : undefined;
  return {
    data,
    error,
    loading: enabled && data === undefined && error === undefined,
    ...stableActions,
  };
}
