/** DBOS through its public API: a workflow without steps, from a queue that it polls (it has no wake-up for queues). */
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import { load } from '../peer.ts';
import { Counter } from './counter.ts';

// The parts of the package used here.
interface QueueOptions {
  workerConcurrency: number;
  minPollingIntervalMs: number;
}
interface DbosModule {
  DBOS: {
    setConfig(config: Record<string, unknown>): void;
    registerWorkflow(run: (data: unknown) => Promise<void>, config: { name: string }): unknown;
    registerQueue(name: string, options: QueueOptions): Promise<unknown>;
    launch(): Promise<void>;
    shutdown(options: { workflowCompletionTimeoutMS: number; deregister: boolean }): Promise<void>;
  };
  DBOSClient: {
    create(options: Record<string, unknown>): Promise<DbosClient>;
  };
}
interface DbosClient {
  enqueue(options: { queueName: string; workflowName: string }, data: unknown): Promise<unknown>;
  destroy(): Promise<void>;
}

const QUEUE = 'bench';
const WORKFLOW = 'noop';
const POOL = 20;
/** A poll that takes few leaves the process idle until the next, one that takes all leaves nothing to other processes. */
const OPTIONS: QueueOptions = { workerConcurrency: 250, minPollingIntervalMs: 10 };
const quiet = (): void => {};
const logger = { info: quiet, debug: quiet, warn: quiet, error: (message: unknown) => console.error(message) };

export function dbos(contender: Omit<Contender, 'open'>): Contender {
  return {
    ...contender,
    async open(place) {
      const lib = await load<DbosModule>('@dbos-inc/dbos-sdk');
      // It reads the host of an address, which a socket has none of; the parameter says more.
      const url = place.replace('@/', '@localhost/');
      const queue = new DbosQueue(lib, url, await Counter.open(place, COUNT));
      await queue.create();
      return queue;
    },
  };
}

const COUNT = `SELECT count(*) FILTER (WHERE status NOT IN ('SUCCESS', 'ERROR', 'CANCELLED')) AS unfinished,
  count(*) FILTER (WHERE status = 'SUCCESS') AS finished FROM dbos.workflow_status WHERE queue_name = '${QUEUE}'`;

class DbosQueue implements Queue {
  readonly #lib: DbosModule;
  readonly #url: string;
  readonly #counter: Counter;
  #client: DbosClient | undefined;

  constructor(lib: DbosModule, url: string, counter: Counter) {
    this.#lib = lib;
    this.#url = url;
    this.#counter = counter;
  }

  /** Only a launch creates its tables. */
  async create(): Promise<void> {
    if (!(await this.#counter.exists('dbos.workflow_status'))) {
      await this.#launch(quiet);
      await this.#shutdown();
    }
    this.#client = await this.#lib.DBOSClient.create({
      systemDatabaseUrl: this.#url,
      systemDatabasePoolSize: POOL,
      logger,
    });
  }

  async #launch(run: (data: unknown) => void): Promise<void> {
    const { DBOS } = this.#lib;
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: this.#url,
      systemDatabasePoolSize: POOL,
      logger,
      applicationVersion: '1',
      executorID: `bench-${process.pid}`,
    });
    DBOS.registerWorkflow(async (data) => run(data), { name: WORKFLOW });
    await DBOS.launch();
    await DBOS.registerQueue(QUEUE, OPTIONS);
  }

  async #shutdown(): Promise<void> {
    await this.#lib.DBOS.shutdown({ workflowCompletionTimeoutMS: 10_000, deregister: true });
  }

  async push(payload: Payload): Promise<void> {
    await this.#client?.enqueue({ queueName: QUEUE, workflowName: WORKFLOW }, payload.value);
  }

  /** It has no call for many. */
  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await Promise.all(payloads.map((payload) => this.push(payload)));
  }

  /** It shows no commit of a completion: that follows the end of the workflow, the stop waits for it. */
  async worker(hooks: Hooks): Promise<Worker> {
    return {
      start: () =>
        this.#launch((data) => {
          hooks.handle(data);
          hooks.settled(1);
        }),
      stop: async () => {
        await this.#shutdown();
        hooks.settled(0);
      },
    };
  }

  counts(): Promise<Counts> {
    return this.#counter.counts();
  }

  async close(): Promise<void> {
    await this.#client?.destroy();
    await this.#counter.close();
  }
}
