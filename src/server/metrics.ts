import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { TaskEvent } from '../core/event.ts';
import { DEFAULT_SILENCE, NODE_HEALTH, nodeHealth, type Silence } from '../core/node.ts';
import type { Change, FinalState } from '../core/task.ts';
import { LEADER } from '../engine/duties/leader.ts';
import type { Engine } from '../engine/engine.ts';

/** Names of queues and limits may be anything; figures of more than so many are added up under another label. */
const MAX_LABELS = 200;
const OTHERS = '(others)';
/** From a tenth of a millisecond to ten seconds. */
const BUCKETS = [0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Nodes = Awaited<ReturnType<Engine['store']['nodeList']>>;
type Duties = Awaited<ReturnType<Engine['store']['dutyList']>>;

/** The place of this node among others. */
export interface Place {
  readonly heldDuties: () => readonly string[];
  readonly leads: () => boolean;
  /** For how many milliseconds each duty has been held by nobody. */
  readonly unheld: () => ReadonlyMap<string, number>;
  readonly silence: Silence | undefined;
}

interface Counted {
  readonly name: string;
  readonly help: string;
}

/** What the feed counts, by the words of the documents. */
const HAPPENED: Partial<Record<Change, Counted>> = {
  created: { name: 'leasehold_tasks_pushed_total', help: 'Tasks that were pushed' },
  claimed: { name: 'leasehold_leases_granted_total', help: 'Leases that were granted' },
  expired: { name: 'leasehold_lease_expired_count_total', help: 'Leases that ran out under their worker' },
  retried: { name: 'leasehold_step_retry_count_total', help: 'Attempts that failed and are tried again' },
};
/** By the state and not by what brought it about: a task also fails by a lease that runs out or by waiting too long. */
const ENDED: Record<FinalState, Counted> = {
  completed: { name: 'leasehold_tasks_completed_total', help: 'Tasks that have completed' },
  failed: { name: 'leasehold_tasks_failed_total', help: 'Tasks that have failed for good' },
  cancelled: { name: 'leasehold_tasks_cancelled_total', help: 'Tasks that were cancelled' },
};

/** Figures of this node and of the cluster as it sees it, for Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #engine: Engine;
  readonly #happened: ReadonlyMap<string, Counter>;
  readonly #ended: ReadonlyMap<string, Counter>;
  readonly #requests: Histogram<'route' | 'status'>;
  readonly #queues: Gauge<'queue' | 'state'>;
  readonly #limits: Gauge<'limit'>;
  readonly #limitWaiting: Gauge<'limit'>;
  readonly #workers: Gauge;
  readonly #duties: Gauge<'duty'>;
  readonly #leader: Gauge;
  readonly #epoch: Gauge;
  readonly #nodes: Gauge<'state'>;
  readonly #unheld: Gauge<'duty'>;
  readonly #place: Place;

  constructor(engine: Engine, place: Place) {
    this.#engine = engine;
    this.#place = place;
    const registers = [this.#registry];
    const counters = (of: Readonly<Record<string, Counted>>): ReadonlyMap<string, Counter> =>
      new Map(
        Object.entries(of).map(([word, { name, help }]) => [
          word,
          new Counter({ name, help: `${help}, since this node started`, registers }),
        ]),
      );
    this.#happened = counters(HAPPENED);
    this.#ended = counters(ENDED);
    this.#requests = new Histogram({
      name: 'leasehold_http_request_duration_seconds',
      help: 'How long requests took',
      labelNames: ['route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    this.#queues = new Gauge({
      name: 'leasehold_queue_tasks',
      help: 'Unfinished tasks of a queue, by state',
      labelNames: ['queue', 'state'],
      registers,
    });
    this.#limits = new Gauge({
      name: 'leasehold_limit_active',
      help: 'What running tasks take of a limit',
      labelNames: ['limit'],
      registers,
    });
    this.#limitWaiting = new Gauge({
      name: 'leasehold_limit_waiting_tasks',
      help: 'Ready tasks that take something of a limit',
      labelNames: ['limit'],
      registers,
    });
    this.#workers = new Gauge({ name: 'leasehold_workers_online', help: 'Workers that beat', registers });
    this.#duties = new Gauge({
      name: 'leasehold_duty_held',
      help: 'Whether this node holds a housekeeping duty',
      labelNames: ['duty'],
      registers,
    });
    this.#leader = new Gauge({ name: 'leasehold_leader', help: 'Whether this node leads', registers });
    this.#epoch = new Gauge({
      name: 'leasehold_leader_epoch',
      help: 'The epoch of the newest leader of the cluster; it grows with each takeover',
      registers,
    });
    this.#nodes = new Gauge({
      name: 'leasehold_nodes',
      help: 'Nodes of the cluster, by state',
      labelNames: ['state'],
      registers,
    });
    this.#unheld = new Gauge({
      name: 'leasehold_duty_unheld_seconds',
      help: 'For how long a housekeeping duty has been held by nobody; 0: it is held',
      labelNames: ['duty'],
      registers,
    });
  }

  /** An event with a final state is the one that brought it about: nothing happens to what has ended but that it begins again. */
  count({ change, state }: TaskEvent): void {
    this.#happened.get(change)?.inc();
    this.#ended.get(state)?.inc();
  }

  request(route: string, status: number, seconds: number): void {
    this.#requests.observe({ route, status: String(status) }, seconds);
  }

  /** The figures as text, with a fresh look at the store. */
  async text(): Promise<string> {
    const { store } = this.#engine;
    const [queues, limits, fleet, nodes, duties] = await Promise.all([
      this.#engine.queues(),
      this.#engine.limits(),
      store.workerFleet(),
      store.nodeList(),
      store.dutyList(),
    ]);
    this.#lookAtCluster(nodes, duties);
    this.#queues.reset();
    for (const [i, { name, stats }] of queues.entries()) {
      const queue = labelOf(name, i);
      for (const state of ['ready', 'running', 'scheduled', 'waiting'] as const) {
        this.#queues.inc({ queue, state }, stats[state]);
      }
    }
    this.#limits.reset();
    this.#limitWaiting.reset();
    for (const [i, { name, active, waiting }] of limits.entries()) {
      const limit = labelOf(name, i);
      this.#limits.inc({ limit }, active);
      this.#limitWaiting.inc({ limit }, waiting);
    }
    const { now, members } = fleet;
    this.#workers.set(members.filter(({ seenAt }) => now - seenAt <= this.#engine.workerStaleMs).length);
    this.#duties.reset();
    for (const duty of this.#place.heldDuties()) this.#duties.set({ duty }, 1);
    return this.#registry.metrics();
  }

  #lookAtCluster({ now, nodes }: Nodes, { duties }: Duties): void {
    const { leads, unheld, silence } = this.#place;
    this.#leader.set(leads() ? 1 : 0);
    this.#epoch.set(duties.find(({ name }) => name === LEADER)?.epoch ?? 0);
    for (const state of NODE_HEALTH) this.#nodes.set({ state }, 0);
    for (const { beatAt, left } of nodes) {
      this.#nodes.inc({ state: left ? 'left' : nodeHealth(now - beatAt, silence ?? DEFAULT_SILENCE) });
    }
    this.#unheld.reset();
    for (const [duty, ms] of unheld()) this.#unheld.set({ duty }, ms / 1000);
  }
}

function labelOf(name: string, place: number): string {
  return place < MAX_LABELS ? name : OTHERS;
}
