import { fault } from '../../core/errors.ts';
import { healthOf, sayStatus } from '../../core/limits/overview.ts';
import { checkKey, checkName } from '../../core/names.ts';
import { holderName } from '../../core/node.ts';
import type { TaskEvent } from '../../core/task/event.ts';
import { leaderOf } from '../../engine/duties/leader.ts';
import type { Engine } from '../../engine/engine.ts';
import { groupFailures } from '../../engine/read/failures.ts';
import { histogram } from '../../engine/read/histogram.ts';
import { lookAround, oldestAge, totals } from '../../engine/read/overview.ts';
import { unmetTests, type WantedTests } from '../../engine/read/unmet.ts';
import type { AnswerOf, BodyOf, QueryOf } from '../../protocol/routes.ts';
import { Incidents } from './incidents.ts';
import { type Sample, Series } from './series.ts';
import { knowledgeOf } from './told-schemas.ts';
import { TtlCache } from './ttl-cache.ts';

export interface InsightOptions {
  readonly engine: Engine;
  /** The schemas of the built-in handlers, by name. They count before what workers tell. */
  readonly schemas: () => Promise<Readonly<Record<string, object>>>;
}

type View = AnswerOf<'saveView'>;
type HandlerInfo = AnswerOf<'listHandlers'>['handlers'][number];

/** Lanes whose oldest task is read every few seconds. */
const FEW_LANES = 200;
/** Lanes that are searched for handlers with tasks: waiting ones, and the newest. */
const MOST_LANES = 1000;
/** How long an incident calls for attention. */
const RECENT_MS = 5 * 60_000;
const MOST_APPROVALS = 1000;
const MOST_VIEWS = 500;
const HOUR_MS = 3_600_000;
const NOTHING: WantedTests = new Map();

/** What people look at: the overview, tasks by time, failures, handlers and saved views. */
export class InsightService {
  readonly #engine: Engine;
  readonly #builtIn: InsightOptions['schemas'];
  readonly #series: Series;
  readonly #incidents: Incidents;
  readonly #overviews: TtlCache<AnswerOf<'overview'>>;
  readonly #histograms: TtlCache<AnswerOf<'countTasks'>>;
  readonly #failures: TtlCache<AnswerOf<'listFailures'>>;
  readonly #handlers: TtlCache<readonly HandlerInfo[]>;

  constructor({ engine, schemas }: InsightOptions) {
    this.#engine = engine;
    this.#builtIn = schemas;
    const { clock } = engine.world;
    this.#series = new Series({ world: engine.world, look: () => this.#sample() });
    this.#incidents = new Incidents({ idOf: (task) => engine.idOf(task) });
    this.#overviews = new TtlCache(clock);
    this.#histograms = new TtlCache(clock);
    this.#failures = new TtlCache(clock);
    this.#handlers = new TtlCache(clock);
  }

  /** Samples the totals every few seconds from now on. */
  start(): void {
    this.#series.start();
  }

  stop(): void {
    this.#series.stop();
  }

  addEvent(event: TaskEvent): void {
    this.#incidents.add(event);
  }

  overview(): Promise<AnswerOf<'overview'>> {
    return this.#overviews.get('', () => this.#overview());
  }

  async count(query: QueryOf<'countTasks'>): Promise<AnswerOf<'countTasks'>> {
    const { queue, handler, state: states, buckets } = query;
    const until = query.until ?? (await this.#engine.store.clock()).calendar;
    const from = query.from ?? until - HOUR_MS;
    if (from >= until) throw fault('INVALID_INPUT', { field: 'query.from', problem: 'it must be before until' });
    const queues = queue.map((name) => checkName('queue', name));
    const handlers = handler.map((name) => checkName('handler', name));
    // The query as it came: without a time, all queries of a second mean the same hour.
    return this.#histograms.get(JSON.stringify(query), () =>
      histogram(this.#engine.store, this.#engine.world, { queues, handlers, states, from, until, buckets }),
    );
  }

  failures(queues: readonly string[]): Promise<AnswerOf<'listFailures'>> {
    const names = new Set(queues.map((name) => checkName('queue', name)));
    return this.#failures.get([...names].sort().join(' '), async () => {
      const { groups, ...rest } = await groupFailures(this.#engine.store, this.#engine.world, names);
      const shown = groups.map(({ newest, ...group }) => ({
        ...group,
        ids: newest.map((task) => this.#engine.idOf(task)),
      }));
      return { groups: shown, ...rest };
    });
  }

  handlers(): Promise<readonly HandlerInfo[]> {
    return this.#handlers.get('', () => this.#lookForHandlers());
  }

  views(): Promise<readonly View[]> {
    return this.#engine.store.viewList();
  }

  async saveView(view: BodyOf<'saveView'>, by: string): Promise<View> {
    checkKey('name', view.name);
    if (/\p{Cc}/u.test(view.query) || !view.query.isWellFormed()) {
      throw fault('INVALID_INPUT', { field: 'query', problem: 'it has characters that an address cannot have' });
    }
    const saved = await this.#engine.store.viewPut({ view: { ...view, by }, most: MOST_VIEWS });
    if (saved !== undefined) return saved;
    const hint = 'Remove some that are no longer needed.';
    throw fault('CONFLICT', { problem: `there are ${MOST_VIEWS} saved views, and no more are kept` }, { hint });
  }

  async removeView(name: string): Promise<void> {
    if (!(await this.#engine.store.viewDrop({ name: checkKey('name', name) })))
      throw fault('NOT_FOUND', { kind: 'saved view', id: name });
  }

  async #overview(): Promise<AnswerOf<'overview'>> {
    const { store, workerStaleMs } = this.#engine;
    const [snapshot, waits, { now, duties }, { nodes }] = await Promise.all([
      lookAround(store, workerStaleMs),
      store.waitList({ limit: MOST_APPROVALS }),
      store.dutyList(),
      store.nodeList(),
    ]);
    const leader = leaderOf(duties, now);
    const { at, workers, slots, tasks, held, oldestAgeMs } = snapshot;
    const { ready, running } = tasks;
    const others = tasks.scheduled + tasks.waiting + tasks.completed + tasks.failed + tasks.cancelled;
    return {
      at,
      health: healthOf({
        ready,
        online: workers.online,
        held,
        leaderless: leader === undefined && nodes.some(({ left }) => !left),
        recent: this.#incidents.anySince(at - RECENT_MS),
      }),
      sentence: sayStatus({ workers, slots, ready, running, others, held }),
      workers,
      slots,
      tasks,
      held,
      oldestAgeMs,
      approvals: waits.length,
      ...(leader === undefined ? {} : { leader: holderName(leader.holder) }),
      incidents: this.#incidents.list(),
      series: this.#series.figures(),
    };
  }

  /** Counters, and with them what the feed does not carry: lost workers and the leader. */
  async #sample(): Promise<Sample> {
    const { store } = this.#engine;
    const [queues, workers, { now, duties }] = await Promise.all([
      store.queueList(),
      store.workerList({ state: 'lost' }),
      store.dutyList(),
    ]);
    const { completed, failed, ready: waiting, running } = totals(queues);
    const unmet = waiting === 0 ? NOTHING : await unmetTests(store, this.#engine.workerStaleMs, FEW_LANES);
    const lost = workers.map(({ worker, name }) => [worker, name] as const);
    const leader = leaderOf(duties, now);
    this.#incidents.observe({
      at: this.#engine.world.clock.wall(),
      lost: new Map(lost),
      leader: leader && holderName(leader.holder),
      unmet,
    });
    return { completed, failed, waiting, running, ageMs: waiting === 0 ? 0 : await oldestAge(store, FEW_LANES) };
  }

  async #lookForHandlers(): Promise<readonly HandlerInfo[]> {
    const { store, workerStaleMs } = this.#engine;
    const [{ now, members }, scan, recent, told, builtIn] = await Promise.all([
      store.workerFleet(),
      store.laneScan({ after: 0, limit: MOST_LANES }),
      store.handlerQueues({ limit: MOST_LANES }),
      this.#engine.workers.schemas(),
      this.#builtIn(),
    ]);
    const waiting = (await store.laneGet({ lanes: scan.map(({ id }) => id) })).filter((lane) => lane !== undefined);
    const live = members.filter(({ enabled, seenAt }) => enabled && now - seenAt <= workerStaleMs);
    const queuesOf = new Map<string, Set<string>>();
    for (const { handler, queue } of [...waiting, ...recent]) {
      queuesOf.set(handler, (queuesOf.get(handler) ?? new Set()).add(queue));
    }
    const toldOf = Map.groupBy(told, ({ handler }) => handler);
    const names = new Set([...live.flatMap(({ handlers }) => handlers), ...queuesOf.keys()]);
    return [...names].sort().map((name) => {
      const offering = live.filter(({ handlers }) => handlers.includes(name));
      const ours = offering.length > 0 && Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
      const known =
        ours === undefined ? knowledgeOf(toldOf.get(name) ?? [], namesOf(offering)) : { schema: { ...ours } };
      return { name, workers: offering.length, queues: [...(queuesOf.get(name) ?? [])].sort(), ...known };
    });
  }
}

function namesOf(members: readonly { readonly name: string }[]): ReadonlySet<string> {
  return new Set(members.map(({ name }) => name));
}
