import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { TaskEvent } from '../core/event.ts';
import type { Change } from '../core/task.ts';
import type { Engine } from '../engine/engine.ts';

/** Names of queues and limits may be anything; figures of more than so many are added up under another label. */
const MAX_LABELS = 200;
const OTHERS = '(others)';
/** From a tenth of a millisecond to ten seconds. */
const BUCKETS = [0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What the feed counts, by the words of the documents. */
const COUNTED: Partial<Record<Change, { readonly name: string; readonly help: string }>> = {
  created: { name: 'leasehold_tasks_pushed_total', help: 'Tasks that were pushed' },
  claimed: { name: 'leasehold_leases_granted_total', help: 'Leases that were granted' },
  completed: { name: 'leasehold_tasks_completed_total', help: 'Tasks that have completed' },
  failed: { name: 'leasehold_tasks_failed_total', help: 'Tasks that have failed for good' },
  cancelled: { name: 'leasehold_tasks_cancelled_total', help: 'Tasks that were cancelled' },
  expired: { name: 'leasehold_lease_expired_count_total', help: 'Leases that ran out under their worker' },
  retried: { name: 'leasehold_step_retry_count_total', help: 'Attempts that failed and are tried again' },
};

/** Figures of this node and of the cluster as it sees it, for Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #engine: Engine;
  readonly #counters = new Map<Change, Counter>();
  readonly #requests: Histogram<'route' | 'status'>;
  readonly #queues: Gauge<'queue' | 'state'>;
  readonly #limits: Gauge<'limit'>;
  readonly #limitWaiting: Gauge<'limit'>;
  readonly #workers: Gauge;
  readonly #duties: Gauge<'duty'>;
  readonly #heldDuties: () => readonly string[];

  constructor(engine: Engine, heldDuties: () => readonly string[]) {
    this.#engine = engine;
    this.#heldDuties = heldDuties;
    const registers = [this.#registry];
    for (const [change, { name, help }] of Object.entries(COUNTED)) {
      this.#counters.set(change as Change, new Counter({ name, help: `${help}, since this node started`, registers }));
    }
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
  }

  count({ change }: TaskEvent): void {
    this.#counters.get(change)?.inc();
  }

  request(route: string, status: number, seconds: number): void {
    this.#requests.observe({ route, status: String(status) }, seconds);
  }

  /** The figures as text, with a fresh look at the store. */
  async text(): Promise<string> {
    const [queues, limits, fleet] = await Promise.all([
      this.#engine.queues(),
      this.#engine.limits(),
      this.#engine.store.workerFleet(),
    ]);
    this.#queues.reset();
    for (const { name, stats } of queues) {
      const queue = labelOf(name, queues);
      for (const state of ['ready', 'running', 'scheduled', 'waiting'] as const) {
        this.#queues.inc({ queue, state }, stats[state]);
      }
    }
    this.#limits.reset();
    this.#limitWaiting.reset();
    for (const { name, active, waiting } of limits) {
      const limit = labelOf(name, limits);
      this.#limits.inc({ limit }, active);
      this.#limitWaiting.inc({ limit }, waiting);
    }
    const { now, members } = fleet;
    this.#workers.set(members.filter(({ seenAt }) => now - seenAt <= this.#engine.workerStaleMs).length);
    this.#duties.reset();
    for (const duty of this.#heldDuties()) this.#duties.set({ duty }, 1);
    return this.#registry.metrics();
  }
}

function labelOf(name: string, all: readonly { readonly name: string }[]): string {
  return all.findIndex((one) => one.name === name) < MAX_LABELS ? name : OTHERS;
}
