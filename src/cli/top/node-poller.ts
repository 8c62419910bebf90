import type { Client } from '../../client/client.ts';
import { type Count, countOf, rateOf, withCount } from './rates.ts';
import type { EventView, TopViewModel } from './view-model.ts';

/** Tasks that run are asked for up to here: nobody reads more, and the overview has their number. */
const MOST_TASKS = 200;
const MOST_EVENTS = 200;
/** Queues whose oldest task is asked for in one look, those with most that wait first: each of them costs a call. */
const MOST_AGES = 8;
/** A clock that is less than this apart is the same one; the overview may be some moments old. */
const SAME_CLOCK_MS = 3000;

/** Who asks gets an answer or an error soon: what is shown stays meanwhile. */
export const QUICK_CALL = { patienceMs: 0, timeoutMs: 10_000 } as const;

/** Looks at a node again and again; rates and the tail of events come from one look to the next. */
export class NodePoller {
  readonly #client: Client;
  #counts: readonly Count[] = [];
  #events: readonly EventView[] = [];
  /** The number of the newest event that was read. */
  #last = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  async poll(signal: AbortSignal): Promise<TopViewModel> {
    const ask = { ...QUICK_CALL, signal };
    const client = this.#client;
    const [overview, me, { queues }, { workers }, { tasks }, { limits }, events] = await Promise.all([
      client.call('overview', ask),
      client.call('me', ask),
      client.call('listQueues', ask),
      client.call('listWorkers', ask),
      client.call('listTasks', { ...ask, query: { state: ['running'], limit: MOST_TASKS } }),
      client.call('listLimits', ask),
      this.#newEvents(signal),
    ]);
    const here = Date.now();
    const skewMs = Math.abs(overview.at - here) < SAME_CLOCK_MS ? 0 : overview.at - here;
    this.#counts = withCount(this.#counts, countOf(queues, performance.now()));
    this.#events = events;
    const ages = await this.#ages(queues, signal);
    return {
      at: here + skewMs,
      skewMs,
      overview,
      version: me.node.version,
      address: client.origin,
      role: me.role,
      queues: queues.map((queue) => ({
        ...queue,
        perSecond: rateOf(this.#counts, queue.name),
        oldestMs: ages.get(queue.name),
      })),
      workers,
      tasks,
      limits,
      events,
    };
  }

  /** What has happened since, and of that only the newest: however much it is, a look costs the same. */
  async #newEvents(signal: AbortSignal): Promise<readonly EventView[]> {
    const ask = { ...QUICK_CALL, signal };
    const { last } = await this.#client.call('readEvents', ask);
    // Another store under the same address counts from its own beginning.
    const known = this.#last > last ? [] : this.#events;
    const after = Math.max(this.#last > last ? 0 : this.#last, last - MOST_EVENTS);
    if (after >= last) return known;
    const page = await this.#client.call('readEvents', { ...ask, query: { after, limit: MOST_EVENTS } });
    this.#last = page.last;
    // That workers are there is in their own panel, and would be all that there is to see of a large fleet.
    const news = page.events.filter(({ kind }) => kind !== 'beat');
    return [...known, ...news].slice(-MOST_EVENTS);
  }

  async #ages(queues: readonly { readonly name: string; readonly ready: number }[], signal: AbortSignal) {
    const waiting = queues
      .filter(({ ready }) => ready > 0)
      .toSorted((a, b) => b.ready - a.ready)
      .slice(0, MOST_AGES);
    const scales = await Promise.all(
      waiting.map(({ name }) => this.#client.call('scaleQueue', { ...QUICK_CALL, signal, params: { queue: name } })),
    );
    // Of what a pause or a limit holds back the node does not say how old it is.
    return new Map(
      scales.flatMap(({ runnable, oldest_age_s }, i) =>
        runnable === 0 ? [] : [[waiting[i]?.name, oldest_age_s * 1000] as const],
      ),
    );
  }
}
