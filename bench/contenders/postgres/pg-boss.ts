/**
 * pg-boss through its public API, tuned: batches fetched in a burst while they come back full, wake-ups by LISTEN/NOTIFY, no
 * cron and no maintenance beside. (With its defaults it takes one job every two seconds.)
 */
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import { load } from '../peer.ts';
import { Counter } from './counter.ts';

// The parts of the package used here.
interface Boss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: { notify: boolean }): Promise<void>;
  send(name: string, data: object): Promise<string | null>;
  insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>;
  work(
    name: string,
    options: Record<string, number | boolean>,
    handler: (jobs: readonly { data: unknown }[]) => Promise<void>,
  ): Promise<string>;
  offWork(name: string, options: { wait: boolean }): Promise<void>;
  stop(options: { graceful: boolean }): Promise<void>;
}
interface PgBossModule {
  PgBoss: new (options: Record<string, unknown>) => Boss;
}

const QUEUE = 'bench';
const ASIDE = 'aside';
const WORK = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

export function pgBoss(contender: Omit<Contender, 'open'>): Contender {
  return {
    ...contender,
    async open(place) {
      const { PgBoss } = await load<PgBossModule>('pg-boss');
      const boss = new PgBoss({
        connectionString: place,
        max: 16,
        schedule: false,
        supervise: false,
        useListenNotify: true,
      });
      boss.on('error', (error) => console.error(error));
      await boss.start();
      await boss.createQueue(QUEUE, { notify: true });
      await boss.createQueue(ASIDE, { notify: true });
      return new PgBossQueue(boss, await Counter.open(place, COUNT));
    },
  };
}

const COUNT = `SELECT count(*) FILTER (WHERE state < 'completed') AS unfinished,
  count(*) FILTER (WHERE state = 'completed') AS finished FROM pgboss.job WHERE name = '${QUEUE}'`;

class PgBossQueue implements Queue {
  readonly #boss: Boss;
  readonly #counter: Counter;

  constructor(boss: Boss, counter: Counter) {
    this.#boss = boss;
    this.#counter = counter;
  }

  async push(payload: Payload): Promise<void> {
    await this.#boss.send(QUEUE, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#boss.insert(
      QUEUE,
      payloads.map(({ value }) => ({ data: value })),
    );
  }

  async pushAside(payloads: readonly Payload[]): Promise<void> {
    await this.#boss.insert(
      ASIDE,
      payloads.map(({ value }) => ({ data: value })),
    );
  }

  /** It shows no commit of a completion: that follows the end of the handler, the stop waits for it. */
  async worker(hooks: Hooks): Promise<Worker> {
    return {
      start: async () => {
        await this.#boss.work(QUEUE, WORK, async (jobs) => {
          for (const { data } of jobs) hooks.handle(data);
          hooks.settled(jobs.length);
        });
      },
      stop: async () => {
        await this.#boss.offWork(QUEUE, { wait: true });
        hooks.settled(0);
      },
    };
  }

  counts(): Promise<Counts> {
    return this.#counter.counts();
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: true });
    await this.#counter.close();
  }
}
