import { client, type FeedEvent, isRefusal, onAway } from '../api.ts';
import { Signal } from './signal.ts';

/**
 * What happens, over one stream for the whole page. It goes on behind the last number that it has seen: after a lost connection, a restart of the node or
 * a night in a closed laptop nothing is missed, or it hears that too much was, and everything is looked at again.
 *
 * A page that nobody sees lets go of its stream after a minute, since a browser has only a few for one node, and takes it up again when it is seen.
 */

export type Link = 'connecting' | 'live' | 'away' | 'resting';

export interface FeedState {
  readonly link: Link;
  /** Since when it is away. */
  readonly since: number;
  readonly problem: string;
}

export const feedState = new Signal<FeedState>({ link: 'connecting', since: Date.now(), problem: '' });

type OnEvents = (events: readonly FeedEvent[]) => void;
type OnReset = () => void;

const onEvents = new Set<OnEvents>();
const onReset = new Set<OnReset>();

/** The newest of what has passed, for pages that open later. */
export const RECENT = 2000;
export const recent: FeedEvent[] = [];

export function listen(events: OnEvents, reset: OnReset = () => {}): () => void {
  onEvents.add(events);
  onReset.add(reset);
  return () => {
    onEvents.delete(events);
    onReset.delete(reset);
  };
}

const BATCH_MS = 50;
const HIDDEN_MS = 60_000;

let last: number | undefined;
let running: AbortController | undefined;
let stopped = true;
let batch: FeedEvent[] = [];
let batching: ReturnType<typeof setTimeout> | undefined;

export function startFeed(): void {
  if (!stopped) return;
  stopped = false;
  void run();
}

/** At the end of a session; a new one begins from now. */
export function stopFeed(): void {
  stopped = true;
  last = undefined;
  running?.abort();
  recent.length = 0;
}

async function run(): Promise<void> {
  while (!stopped) {
    const end = new AbortController();
    running = end;
    try {
      if (last === undefined) last = (await client.call('readEvents', { signal: end.signal })).last;
      say('live');
      for await (const { event, data, id } of client.stream('streamEvents', {
        last: String(last),
        signal: end.signal,
      })) {
        if (id !== undefined && /^\d+$/.test(id)) last = Number(id);
        if (feedState.value.link !== 'live') say('live');
        if (event === 'reset') reset();
        else take(JSON.parse(data) as FeedEvent);
      }
    } catch (error) {
      if (stopped || isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) {
        if (!stopped) unauthenticated.set(true);
        stopped = true;
        return;
      }
      if (!end.signal.aborted) {
        say('away', error instanceof Error ? error.message : String(error));
        await new Promise((resolve) => setTimeout(resolve, 1000 + Math.random() * 2000));
      }
    }
    if (document.hidden && feedState.value.link === 'resting') {
      await new Promise<void>((resolve) =>
        document.addEventListener('visibilitychange', () => resolve(), { once: true }),
      );
    }
  }
}

/** The session has ended: who sees the page has to log in. */
export const unauthenticated = new Signal(false);

function say(link: Link, problem = ''): void {
  const before = feedState.value;
  if (before.link === link && before.problem === problem) return;
  feedState.set({ link, since: before.link === link ? before.since : Date.now(), problem });
}

function take(event: FeedEvent): void {
  batch.push(event);
  batching ??= setTimeout(flush, BATCH_MS);
}

function flush(): void {
  batching = undefined;
  const events = batch;
  batch = [];
  recent.push(...events.slice(-RECENT));
  if (recent.length > RECENT * 1.5) recent.splice(0, recent.length - RECENT);
  for (const hear of onEvents) hear(events);
}

function reset(): void {
  flush();
  for (const hear of onReset) hear();
}

onAway((error) => {
  if (error === undefined) say('live');
  else if (!stopped) say('away', error.message);
});

// A machine that has slept has a clock that jumped; its connection may look alive for most of a minute.
let beat = Date.now();
setInterval(() => {
  const slept = Date.now() - beat > 20_000;
  beat = Date.now();
  if (slept && !stopped && !document.hidden) running?.abort();
}, 5_000);

addEventListener('online', () => {
  if (!stopped && feedState.value.link === 'away') running?.abort();
});

let hiding: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (!document.hidden || stopped) return;
  hiding = setTimeout(() => {
    say('resting');
    running?.abort();
  }, HIDDEN_MS);
});
