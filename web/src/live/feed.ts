/**
 * The feed: one stream of events for the whole page. It resumes after the last event that it has seen, so that nothing is
 * missed after a lost connection, a restart of the node or a night in a closed laptop. If the node no longer has those events,
 * it sends a reset and everything is read again.
 *
 * A hidden page closes its stream after a minute, because a browser allows only a few connections to one node, and opens it
 * again when it is shown.
 */

import { client, type FeedEvent, isRefusal, onUnreachable } from '../api.ts';
import { Signal } from './signal.ts';

export type Connection = 'connecting' | 'live' | 'lost' | 'paused';

export interface FeedState {
  readonly connection: Connection;
  /** Since when the connection is as it is. */
  readonly since: number;
  readonly problem: string;
}

export const feedState = new Signal<FeedState>({ connection: 'connecting', since: Date.now(), problem: '' });

type OnEvents = (events: readonly FeedEvent[]) => void;
type OnReset = () => void;

const onEvents = new Set<OnEvents>();
const onReset = new Set<OnReset>();

/** The newest events, for screens that open later. */
export const MAX_RECENT = 2000;
export const recentEvents: FeedEvent[] = [];

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

/** Ends the stream with the session. The next session begins with the events of then. */
export function stopFeed(): void {
  stopped = true;
  last = undefined;
  running?.abort();
  recentEvents.length = 0;
}

async function run(): Promise<void> {
  while (!stopped) {
    const end = new AbortController();
    running = end;
    try {
      if (last === undefined) last = (await client.call('readEvents', { signal: end.signal })).last;
      setConnection('live');
      for await (const { event, data, id } of client.stream('streamEvents', {
        last: String(last),
        signal: end.signal,
      })) {
        if (id !== undefined && /^\d+$/.test(id)) last = Number(id);
        if (feedState.value.connection !== 'live') setConnection('live');
        if (event === 'reset') reset();
        else addToBatch(JSON.parse(data) as FeedEvent);
      }
    } catch (error) {
      if (stopped || isRefusal(error, 'UNAUTHENTICATED', 'UNAUTHORIZED')) {
        if (!stopped) unauthenticated.set(true);
        stopped = true;
        return;
      }
      if (!end.signal.aborted) {
        setConnection('lost', error instanceof Error ? error.message : String(error));
        await new Promise((resolve) => setTimeout(resolve, 1000 + Math.random() * 2000));
      }
    }
    if (document.hidden && feedState.value.connection === 'paused') {
      await new Promise<void>((resolve) =>
        document.addEventListener('visibilitychange', () => resolve(), { once: true }),
      );
    }
  }
}

/** Whether the session has ended, so that the user has to log in. */
export const unauthenticated = new Signal(false);

function setConnection(connection: Connection, problem = ''): void {
  const before = feedState.value;
  if (before.connection === connection && before.problem === problem) return;
  feedState.set({ connection, since: before.connection === connection ? before.since : Date.now(), problem });
}

function addToBatch(event: FeedEvent): void {
  batch.push(event);
  batching ??= setTimeout(flush, BATCH_MS);
}

function flush(): void {
  batching = undefined;
  const events = batch;
  batch = [];
  recentEvents.push(...events.slice(-MAX_RECENT));
  if (recentEvents.length > MAX_RECENT * 1.5) recentEvents.splice(0, recentEvents.length - MAX_RECENT);
  for (const listener of onEvents) listener(events);
}

function reset(): void {
  flush();
  for (const listener of onReset) listener();
}

onUnreachable((error) => {
  if (error === undefined) setConnection('live');
  else if (!stopped) setConnection('lost', error.message);
});

// After sleep the clock of the host has jumped, and the dead connection may look alive for most of a minute.
let lastTick = Date.now();
setInterval(() => {
  const slept = Date.now() - lastTick > 20_000;
  lastTick = Date.now();
  if (slept && !stopped && !document.hidden) running?.abort();
}, 5_000);

addEventListener('online', () => {
  if (!stopped && feedState.value.connection === 'lost') running?.abort();
});

let hiding: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (!document.hidden || stopped) return;
  hiding = setTimeout(() => {
    setConnection('paused');
    running?.abort();
  }, HIDDEN_MS);
});
