import { useEffect, useRef, useState } from 'react';
import { type FeedEvent, isRefusal } from '../api.ts';
import { feedState, listen, unauthenticated } from './feed.ts';

export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** The first answer is on its way. */
  readonly loading: boolean;
  readonly refresh: () => void;
  /** What an action has answered, without asking again. */
  readonly set: (change: (data: T) => T) => void;
}

export interface ResourceOptions {
  /** Looked at again so often while somebody sees the page. */
  readonly everyMs?: number;
  /** Looked at again when one of these happens, at most every `atMostMs`. */
  readonly on?: (event: FeedEvent) => boolean;
  readonly atMostMs?: number;
  readonly enabled?: boolean;
}

/** The last answers, so that going back shows at once what was there. */
const kept = new Map<string, unknown>();
const MOST_KEPT = 60;

function keep(key: string, data: unknown): void {
  kept.delete(key);
  kept.set(key, data);
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
}

export function forgetAll(): void {
  kept.clear();
}

/**
 * Something that the node knows, looked at again when it is time. The old answer stays until the new one is there, so nothing flickers; a look that fails
 * leaves it too. For single things and short lists; long ones are patched row by row (task-list.ts).
 */
export function useResource<T>(
  key: string,
  look: (signal: AbortSignal) => Promise<T>,
  options: ResourceOptions = {},
): Resource<T> {
  const { everyMs, atMostMs = 500, enabled = true } = options;
  const [state, setState] = useState<{ key: string; data: T | undefined; error: unknown }>(() => ({
    key,
    data: kept.get(key) as T | undefined,
    error: undefined,
  }));
  const fresh = useRef({ look, on: options.on });
  fresh.current = { look, on: options.on };
  const actions = useRef<{ refresh: () => void; set: (change: (data: T) => T) => void }>({
    refresh: () => {},
    set: () => {},
  });

  useEffect(() => {
    if (!enabled) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let due = Number.POSITIVE_INFINITY;
    let looking = false;
    let lookedAt = 0;
    const plan = (inMs: number): void => {
      const at = Date.now() + inMs;
      if (at >= due || end.signal.aborted) return;
      due = at;
      clearTimeout(timer);
      timer = setTimeout(() => void run(), inMs);
    };
    const run = async (): Promise<void> => {
      due = Number.POSITIVE_INFINITY;
      if (looking) return plan(100);
      // Nobody sees it: when somebody does, it is looked at.
      if (document.hidden && lookedAt > 0) return;
      looking = true;
      try {
        const data = await fresh.current.look(end.signal);
        if (end.signal.aborted) return;
        keep(key, data);
        setState({ key, data, error: undefined });
      } catch (error) {
        if (end.signal.aborted) return;
        if (isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) unauthenticated.set(true);
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error }));
      } finally {
        looking = false;
        lookedAt = Date.now();
      }
      if (everyMs !== undefined) plan(everyMs);
    };
    const soon = (): void => plan(Math.max(0, lookedAt + atMostMs - Date.now()));
    actions.current = {
      refresh: () => plan(0),
      set: (change) =>
        setState((before) => {
          if (before.data === undefined) return before;
          const data = change(before.data);
          keep(key, data);
          return { ...before, data };
        }),
    };
    setState((before) =>
      before.key === key ? before : { key, data: kept.get(key) as T | undefined, error: undefined },
    );
    void run();
    const unlisten = listen((events) => {
      const { on } = fresh.current;
      if (on !== undefined && events.some(on)) soon();
    }, soon);
    let link = feedState.value.link;
    const unlink = feedState.subscribe(() => {
      const now = feedState.value.link;
      if (now === 'live' && link !== 'live') soon();
      link = now;
    });
    const seen = (): void => {
      if (!document.hidden) soon();
    };
    document.addEventListener('visibilitychange', seen);
    return () => {
      end.abort();
      clearTimeout(timer);
      unlisten();
      unlink();
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, everyMs, atMostMs, enabled]);

  const [steady] = useState(() => ({
    refresh: () => actions.current.refresh(),
    set: (change: (data: T) => T) => actions.current.set(change),
  }));
  const mine = state.key === key;
  const data = mine ? state.data : (kept.get(key) as T | undefined);
  const error = mine ? state.error : undefined;
  return {
    data,
    error,
    loading: enabled && data === undefined && error === undefined,
    ...steady,
  };
}
