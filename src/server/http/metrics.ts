import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DEFAULT_SILENCE, NODE_HEALTH, nodeHealth, type Silence } from '../../core/node.ts';
import type { TaskEvent } from '../../core/task/event.ts';
import type { Change, FinalState } from '../../core/task/task.ts';
import { LEADER } from '../../engine/duties/leader.ts';
import type { Engine } from '../../engine/engine.ts';

/**
 * Queues and limits can have any name and any number. The busiest have a label of their own; the rest is summed up under one
 * label.
 */
const MAX_LABELS = 200;
/** No name has brackets. */
const OTHERS = '(others)';
/** From a tenth of a millisecond to ten seconds. */
const BUCKETS = [0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** From a millisecond to an hour. */
const WAITS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

type QueueRecord = Awaited<ReturnType<Engine['queues']>>[number];
type LimitRecord = Awaited<ReturnType<Engine['limits']['list']>>[number];

type Nodes = Awaited<ReturnType<Engine['store']['nodeList']>>;
type Duties = Awaited<ReturnType<Engine['store']['dutyList']>>;

/** The position of this node in the cluster. */
export interface NodeStatus {
  readonly heldDuties: () => readonly string[];
  readonly leads: () => boolean;
  /** How many milliseconds each duty has been without a holder. */
  readonly unheld: () => ReadonlyMap<string, number>;
  readonly silence: Silence | undefined;
  /** Entries of the audit whose end could not be written, and refusals that were only counted. */
  readonly audit: () => { readonly failures: number; readonly skipped: number };
  /** Workers that are connected to this node. */
  readonly connected: () => number;
}

interface CounterSpec {
  readonly name: string;
  readonly help: string;
}

/** Counters of events, by the change. */
const CHANGE_COUNTERS: Partial<Record<Change, CounterSpec>> = {
  created: { name: 'leasehold_tasks_pushed_total', help: 'Tasks that were pushed' },
  claimed: { name: 'leasehold_leases_granted_total', help: 'Leases that were granted' },
  expired: { name: 'leasehold_lease_expired_count_total', help: 'Leases that ran out under their worker' },
  retried: { name: 'leasehold_step_retry_count_total', help: 'Attempts that failed and are tried again' },
};
/** Counted by state, not by change: a task also fails when its lease runs out or when it waited too long. */
const END_COUNTERS: Record<FinalState, CounterSpec> = {
  completed: { name: 'leasehold_tasks_completed_total', help: 'Tasks that have completed' },
  failed: { name: 'leasehold_tasks_failed_total', help: 'Tasks that have failed for good' },
  cancelled: { name: 'leasehold_tasks_cancelled_total', help: 'Tasks that were cancelled' },
};

/** The figures of this node, and of the cluster as this node sees it, for Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #engine: Engine;
  readonly #happened: ReadonlyMap<string, Counter>;
  readonly #ended: ReadonlyMap<string, Counter>;
  readonly #requests: Histogram<'route' | 'status'>;
  readonly #waits: Histogram;
  readonly #queues: Gauge<'queue' | 'state'>;
  readonly #ages: Gauge<'queue'>;
  readonly #limits: Gauge<'limit'>;
  readonly #limitCaps: Gauge<'limit'>;
  readonly #limitWaiting: Gauge<'limit'>;
  readonly #workers: Gauge;
  readonly #connected: Gauge;
  readonly #slots: Gauge<'state'>;
  readonly #duties: Gauge<'duty'>;
  readonly #leader: Gauge;
  readonly #epoch: Gauge;
  readonly #nodes: Gauge<'state'>;
  readonly #artifacts: Gauge;
  readonly #artifactBytes: Gauge;
  readonly #unheld: Gauge<'duty'>;
  readonly #auditFailures: Counter;
  readonly #auditSkipped: Counter;
  readonly #status: NodeStatus;

  constructor(engine: Engine, status: NodeStatus) {
    this.#engine = engine;
    this.#status = status;
    this.#happened = this.#counters(CHANGE_COUNTERS);
    this.#ended = this.#counters(END_COUNTERS);
    const claims = this.#histogram('leasehold_claim_duration_seconds', 'How long the store took to grant leases', []);
    const renewals = this.#histogram(
      'leasehold_renewal_duration_seconds',
      'How long the store took to renew leases of workers that this node serves',
      [],
    );
    engine.listen({ timed: (verb, ms) => (verb === 'claim' ? claims : renewals).observe(ms / 1000) });
    this.#requests = this.#histogram('leasehold_http_request_duration_seconds', 'How long requests took', [
      'route',
      'status',
    ]);
    this.#waits = this.#histogram(
      'leasehold_task_start_delay_seconds',
      'From the push of a task to its first start, including the delay that it was pushed with',
      [],
      WAITS,
    );
    this.#queues = this.#gauge('leasehold_queue_tasks', 'Unfinished tasks of a queue, by state', ['queue', 'state']);
    this.#ages = this.#gauge(
      'leasehold_queue_oldest_ready_age_seconds',
      'How long the oldest ready task of a queue has been ready; absent when there is none',
      ['queue'],
    );
    this.#limits = this.#gauge('leasehold_limit_active', 'What running tasks use of a limit', ['limit']);
    this.#limitCaps = this.#gauge(
      'leasehold_limit_capacity',
      'What a limit allows at once; absent where it sets no such bound',
      ['limit'],
    );
    this.#limitWaiting = this.#gauge(
      'leasehold_limit_waiting_tasks',
      'Ready tasks that use a limit, counted up to ten thousand',
      ['limit'],
    );
    this.#workers = this.#gauge('leasehold_workers_online', 'Workers whose heartbeats arrive', []);
    this.#connected = this.#gauge('leasehold_workers_connected', 'Workers that are connected to this node', []);
    this.#slots = this.#gauge('leasehold_worker_slots', 'Slots of these workers, busy and free', ['state']);
    this.#duties = this.#gauge('leasehold_duty_held', 'Whether this node holds a housekeeping duty', ['duty']);
    this.#leader = this.#gauge('leasehold_leader', 'Whether this node leads', []);
    this.#epoch = this.#gauge(
      'leasehold_leader_epoch',
      'The epoch of the newest leader of the cluster; it grows with each takeover',
      [],
    );
    this.#nodes = this.#gauge('leasehold_nodes', 'Nodes of the cluster, by state', ['state']);
    this.#artifacts = this.#gauge('leasehold_artifacts', 'Artifacts, those that are under way included', []);
    this.#artifactBytes = this.#gauge('leasehold_artifact_bytes', 'What they take', []);
    this.#auditFailures = this.#counter({
      name: 'leasehold_audit_write_failures_total',
      help: 'Entries of the audit that could not be written or ended',
    });
    this.#auditSkipped = this.#counter({
      name: 'leasehold_audit_skipped_total',
      help: 'Refusals that the audit only counted, because there were too many',
    });
    this.#unheld = this.#gauge(
      'leasehold_duty_unheld_seconds',
      'How long a housekeeping duty has had no holder; 0: it has one',
      ['duty'],
    );
  }

  /** The event with a final state is the one that ended the task: after it there is only a revival. */
  count({ change, state, attempt, at, createdAt }: TaskEvent): void {
    this.#happened.get(change)?.inc();
    this.#ended.get(state)?.inc();
    if (change === 'claimed' && attempt === 1) this.#waits.observe(Math.max(0, at - createdAt) / 1000);
  }

  request(route: string, status: number, seconds: number): void {
    this.#requests.observe({ route, status: String(status) }, seconds);
  }

  /** The figures as text, read from the store now. */
  async text(): Promise<string> {
    const { store } = this.#engine;
    const [queues, ages, limits, fleet, nodes, duties, artifacts] = await Promise.all([
      this.#engine.queues(),
      this.#engine.oldestAges(),
      this.#engine.limits.list(),
      store.workerFleet(),
      store.nodeList(),
      store.dutyList(),
      store.artifactUsage(),
    ]);
    this.#artifacts.set(artifacts.entries);
    this.#artifactBytes.set(artifacts.bytes);
    this.#setCluster(nodes, duties);
    this.#setQueues(queues, ages);
    this.#setLimits(limits);
    const { now, members } = fleet;
    const online = members.filter(({ seenAt }) => now - seenAt <= this.#engine.workerStaleMs);
    const busy = online.reduce((sum, { running }) => sum + running, 0);
    const slots = online.reduce((sum, member) => sum + member.slots, 0);
    this.#workers.set(online.length);
    this.#slots.set({ state: 'busy' }, busy);
    this.#slots.set({ state: 'free' }, Math.max(0, slots - busy));
    this.#connected.set(this.#status.connected());
    this.#duties.reset();
    for (const duty of this.#status.heldDuties()) this.#duties.set({ duty }, 1);
    return this.#registry.metrics();
  }

  #setQueues(queues: readonly QueueRecord[], ages: ReadonlyMap<string, number>): void {
    this.#queues.reset();
    this.#ages.reset();
    const oldest = new Map<string, number>();
    const open = ({ stats }: QueueRecord): number => stats.ready + stats.running + stats.scheduled + stats.waiting;
    for (const [i, { name, stats }] of queues.toSorted((a, b) => open(b) - open(a)).entries()) {
      const queue = labelOf(name, i);
      for (const state of ['ready', 'running', 'scheduled', 'waiting'] as const) {
        this.#queues.inc({ queue, state }, stats[state]);
      }
      const age = ages.get(name);
      if (age !== undefined) oldest.set(queue, Math.max(age, oldest.get(queue) ?? 0));
    }
    for (const [queue, ms] of oldest) this.#ages.set({ queue }, ms / 1000);
  }

  #setLimits(limits: readonly LimitRecord[]): void {
    this.#limits.reset();
    this.#limitCaps.reset();
    this.#limitWaiting.reset();
    const busy = limits.toSorted((a, b) => b.active + b.waiting - (a.active + a.waiting));
    for (const [i, { name, active, waiting, limit: bounds }] of busy.entries()) {
      const limit = labelOf(name, i);
      this.#limits.inc({ limit }, active);
      if (bounds.concurrent !== undefined) this.#limitCaps.inc({ limit }, bounds.concurrent);
      this.#limitWaiting.inc({ limit }, waiting);
    }
  }

  #counters(of: Readonly<Record<string, CounterSpec>>): ReadonlyMap<string, Counter> {
    return new Map(Object.entries(of).map(([word, spec]) => [word, this.#counter(spec)]));
  }

  #counter({ name, help }: CounterSpec): Counter {
    return new Counter({ name, help: `${help}, since this node started`, registers: [this.#registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  #histogram<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: readonly number[] = BUCKETS,
  ): Histogram<L> {
    return new Histogram({
      name,
      help,
      labelNames: [...labelNames],
      buckets: [...buckets],
      registers: [this.#registry],
    });
  }

  #setCluster({ now, nodes }: Nodes, { duties }: Duties): void {
    const { leads, unheld, silence } = this.#status;
    this.#leader.set(leads() ? 1 : 0);
    this.#epoch.set(duties.find(({ name }) => name === LEADER)?.epoch ?? 0);
    for (const state of NODE_HEALTH) this.#nodes.set({ state }, 0);
    for (const { beatAt, left } of nodes) {
      this.#nodes.inc({ state: left ? 'left' : nodeHealth(now - beatAt, silence ?? DEFAULT_SILENCE) });
    }
    this.#auditFigures();
    this.#unheld.reset();
    for (const [duty, ms] of unheld()) this.#unheld.set({ duty }, ms / 1000);
  }

  /** Counted where they happen, and told from there. */
  #auditFigures(): void {
    const { failures, skipped } = this.#status.audit();
    for (const [counter, n] of [
      [this.#auditFailures, failures],
      [this.#auditSkipped, skipped],
    ] as const) {
      counter.reset();
      counter.inc(n);
    }
  }
}

function labelOf(name: string, place: number): string {
  return place < MAX_LABELS ? name : OTHERS;
}
