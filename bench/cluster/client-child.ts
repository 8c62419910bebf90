/** Who pushes: many tasks on the store itself, or a few at an even pace through the nodes in turn. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '../../src/client/client.ts';
import { isTransient } from '../../src/client/problem.ts';
import { open } from '../../src/index.ts';
import { answerAll } from '../hub/line.ts';
import { micros } from '../jobs/line.ts';
import { ADMIN, HANDLER, noted, QUEUE } from './words.ts';

export interface ClientArgs {
  readonly store: string;
  readonly urls: readonly string[];
}

export interface Pace {
  readonly everyMs: number;
  /** Of every tenth task, and of the others. */
  readonly holdsMs: readonly [number, number];
  /** Ends by itself after so many. */
  readonly count?: number;
}

export interface Pushed {
  readonly n: number;
  readonly way: Way;
  /** Monotonic µs of the call, and of its answer. */
  readonly sent: number;
  readonly answered: number;
}

/** `one`: keeps to its node and repeats, as the client library does. `next`: asks another node under the same key. */
export type Way = 'one' | 'next';

export interface Load {
  readonly pushed: readonly Pushed[];
  /** What a caller was told of pushes that did not go well in the end. */
  readonly failed: readonly string[];
  /** Requests beneath them that found nobody, broke off or were answered by 5xx, by what they were told. */
  readonly refused: Readonly<Record<string, number>>;
}

const MOST_AT_ONCE = 500;
/** After all nodes were asked in vain. */
const ROUND_PAUSE_MS = 50;
const MOST_ROUNDS = 100;

const { store, urls } = JSON.parse(process.argv[2] ?? '{}') as ClientArgs;
const refused = new Map<string, number>();
const clients = urls.map((url) => new Client({ url, token: ADMIN, fetch: watched }));
const pushed: Pushed[] = [];
const failed: string[] = [];
let numbers = 0;
let stopped = false;
let loop: Promise<void> = Promise.resolve();

async function watched(...[url, init]: Parameters<typeof fetch>): Promise<Response> {
  const note = (what: string): void => void refused.set(what, (refused.get(what) ?? 0) + 1);
  try {
    const response = await fetch(url, init);
    if (response.status >= 500) note(String(response.status));
    return response;
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: string } };
    note(cause?.code ?? String(error));
    throw error;
  }
}

async function pushOne(n: number, { holdsMs }: Pace): Promise<void> {
  const way: Way = n % 2 === 0 ? 'next' : 'one';
  // Both ways begin at each node as often.
  const first = Math.floor(n / 2) % clients.length;
  const sent = micros();
  const holdMs = holdsMs[n % 10 === 0 ? 0 : 1];
  const body = { tasks: [{ queue: QUEUE, handler: HANDLER, input: { ...noted(n, { sent, holdMs }) } }] };
  try {
    if (way === 'one') await (clients[first] as Client).call('pushTasks', { body });
    else await pushAnywhere(first, body);
    pushed.push({ n, way, sent, answered: micros() });
  } catch (error) {
    failed.push(`${way}: ${String(error)}`);
  }
}

type Body = Parameters<typeof Client.prototype.call<'pushTasks'>>[1]['body'];

async function pushAnywhere(first: number, body: Body): Promise<void> {
  const key = crypto.randomUUID();
  for (let tried = 0; ; tried++) {
    try {
      await (clients[(first + tried) % clients.length] as Client).call('pushTasks', { body, key, patienceMs: 0 });
      return;
    } catch (error) {
      if (!isTransient(error) || tried >= MOST_ROUNDS * clients.length) throw error;
      if (tried % clients.length === clients.length - 1) await delay(ROUND_PAUSE_MS);
    }
  }
}

/** At its pace, whether or not those before were answered. */
async function pushOn(pace: Pace): Promise<void> {
  const { everyMs, count = Number.POSITIVE_INFINITY } = pace;
  const under: Promise<void>[] = [];
  const from = performance.now();
  for (let i = 0; i < count && !stopped; i++) {
    await delay(Math.max(0, from + i * everyMs - performance.now()));
    under.push(pushOne(numbers++, pace));
  }
  await Promise.all(under);
}

const verbs = {
  /** So many with numbers from 0, on the store itself. */
  seed: async (count: number): Promise<void> => {
    const app = await open(store, { duties: false });
    for (let done = 0; done < count; done += MOST_AT_ONCE) {
      const length = Math.min(MOST_AT_ONCE, count - done);
      const tasks = Array.from({ length }, (_, i) => ({ queue: QUEUE, handler: HANDLER, input: noted(done + i) }));
      await app.engine.pushMany(tasks);
    }
    await app.close();
  },

  begin: (pace: Pace): void => {
    loop = pushOn(pace);
  },

  /** Waits for a load that has an end, and ends one that has none. */
  finish: async ({ stop }: { readonly stop: boolean }): Promise<Load> => {
    stopped ||= stop;
    await loop;
    return { pushed, failed, refused: Object.fromEntries(refused) };
  },
};

export type ClientVerbs = typeof verbs;
answerAll(verbs);
