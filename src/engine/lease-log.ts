import type { Lease } from '../core/task/lease.ts';
import type { TaskState } from '../core/task/task.ts';
import type { Engine } from './engine.ts';
import type { Log } from './log.ts';
import { unfailing } from './unfailing-log.ts';

/** One line that waits for the names of its task and its worker. */
interface Line extends Lease {
  readonly level: 'debug' | 'info';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Said only if the attempt has run out. A renewal also comes too late when the attempt has just ended, which is no news. */
  readonly ifExpired?: boolean;
}

/** Leases of one read. */
const AT_ONCE = 250;
/** Lines that wait for the store. A log must not become what fills the memory of a node that is busy. */
const MOST_WAITING = 10_000;

/**
 * Writes a line for each lease that is granted or ends (debug), runs out or is found to be lost (info), with worker, host, task and attempt. The
 * names are read from the store after the fact: claims and ends do not pay for them. Returns a function that ends it.
 */
export function logLeases(engine: Engine, log: Log): () => void {
  const lines = new LeaseLog(engine, unfailing(log));
  const ofEach = {
    granted: (leases: readonly Lease[], leaseMs: number): void => lines.granted(leases, leaseMs),
    settled: (lease: Lease, state: TaskState): void => lines.settled(lease, state),
  };
  return engine.listen({
    ...(log.debug === undefined ? {} : ofEach),
    refused: (lease, what) => lines.refused(lease, what),
    expired: (leases, reaped) => lines.expired(leases, reaped),
  });
}

class LeaseLog {
  readonly #engine: Engine;
  readonly #log: Log;
  #waiting: Line[] = [];
  #writing = false;
  #left = 0;

  constructor(engine: Engine, log: Log) {
    this.#engine = engine;
    this.#log = log;
  }

  granted(leases: readonly Lease[], leaseMs: number): void {
    const fields = { expiresAt: new Date(this.#engine.world.clock.wall() + leaseMs).toISOString() };
    for (const lease of leases) this.#add(lease, { level: 'debug', message: 'a lease was granted', fields });
  }

  settled(lease: Lease, state: TaskState): void {
    this.#add(lease, { level: 'debug', message: 'a lease has ended', fields: { state } });
  }

  refused(lease: Lease, what: 'renewal' | 'report'): void {
    const message = `a ${what} was refused: the lease is lost`;
    this.#add(lease, { level: 'info', message, fields: {}, ifExpired: true });
  }

  expired(leases: readonly Lease[], reaped: number): void {
    const ifExpired = reaped < leases.length;
    for (const lease of leases)
      this.#add(lease, { level: 'info', message: 'a lease ran out and was taken back', fields: {}, ifExpired });
  }

  #add({ task, attempt }: Lease, line: Omit<Line, keyof Lease>): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#left++;
      return;
    }
    this.#waiting.push({ task, attempt, ...line });
    if (this.#writing) return;
    this.#writing = true;
    void this.#write();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, AT_ONCE);
      // A store that does not answer leaves the numbers, which are better than nothing.
      const named = await this.#named(some).catch(() => some);
      for (const { level, message, fields, task, attempt } of named) {
        this.#log[level]?.(message, { task, attempt, ...fields });
      }
    }
    this.#writing = false;
    if (this.#left > 0) this.#log.info('lines about leases were left out', { lines: this.#left });
    this.#left = 0;
  }

  /** With the names of tasks and workers, and without what is no news. */
  async #named(lines: readonly Line[]): Promise<readonly Line[]> {
    const { store } = this.#engine;
    const items = lines.map(({ task, attempt }) => ({ task, attempt }));
    const tasks = [...new Set(lines.map(({ task }) => task))];
    const [workers, records] = await Promise.all([store.attemptWorkers({ items }), store.taskGet({ tasks })]);
    const recordOf = new Map(tasks.map((task, i) => [task, records[i]]));
    const kept = await Promise.all(lines.map((line) => this.#isNews(line)));
    return lines.flatMap((line, i) => {
      if (!kept[i]) return [];
      const record = recordOf.get(line.task);
      const worker = workers[i];
      const id = record === undefined ? String(line.task) : this.#engine.idOf(record);
      const fields = {
        task: id,
        lease: `${id}#${line.attempt}`,
        ...(worker && { worker: worker.name }),
        ...(worker?.host !== undefined && { host: worker.host }),
        ...(record && { queue: record.queue, handler: record.handler }),
        ...line.fields,
      };
      return [{ ...line, fields }];
    });
  }

  async #isNews({ task, attempt, ifExpired = false }: Line): Promise<boolean> {
    if (!ifExpired) return true;
    const attempts = await this.#engine.store.attemptList({ task });
    return attempts.find((one) => one.attempt === attempt)?.outcome === 'expired';
  }
}
