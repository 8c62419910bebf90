/** Times that stay current while the page is open: how long ago, how long it takes, how long until. */

import { useSyncExternalStore } from 'react';
import { clockTime, duration, exactTime, relativeTime } from '../model/time.ts';

// One clock for the page. A text is drawn again only when it changes.
const tickers = new Set<() => void>();

setInterval(() => {
  if (!document.hidden) for (const tick of tickers) tick();
}, 1000);

const onTick = (tick: () => void): (() => void) => {
  tickers.add(tick);
  return () => tickers.delete(tick);
};

/** A value that depends on the current time, checked every second. */
export function useNow<T extends string | number>(make: (now: number) => T): T {
  return useSyncExternalStore(onTick, () => make(Date.now()));
}

/** A relative time, with the exact one as its title. */
export function Time({ at, clock = false }: { readonly at: number; readonly clock?: boolean }) {
  const text = useNow((now) => (clock ? clockTime(at) : relativeTime(at, now)));
  return (
    <time dateTime={isoOf(at)} title={exactTime(at)}>
      {text}
    </time>
  );
}

function isoOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** How long something took, or has taken until now. */
export function Duration({ from, until }: { readonly from: number; readonly until?: number | undefined }) {
  const text = useNow((now) => duration(Math.max(0, (until ?? Math.floor(now / 1000) * 1000) - from)));
  return <span title={`${exactTime(from)} – ${until === undefined ? 'now' : exactTime(until)}`}>{text}</span>;
}

/** The time until `to`, and `over` once it is reached. */
export function Countdown({ to, over = 'due' }: { readonly to: number; readonly over?: string }) {
  const text = useNow((now) => (to <= now ? over : duration(Math.ceil((to - now) / 1000) * 1000)));
  return <span title={exactTime(to)}>{text}</span>;
}
