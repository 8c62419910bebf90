/**
 * graphile-worker through its public API: as it is, or with the batching that its own performance test uses (`localQueue`
 * of 500, completions and failures in batches without delay). Completing deletes the job.
 */
import { EventEmitter } from 'node:events';
import type { Contender, Counts, Hooks, Payload, Queue, Worker } from '../contender.ts';
import { load } from '../peer.ts';
import { Counter } from './counter.ts';

// The parts of the package used here.
interface Utils {
  migrate(): Promise<void>;
  addJob(identifier: string, payload: unknown): Promise<unknown>;
  addJobs(specs: readonly { identifier: string; payload: unknown }[]): Promise<unknown>;
  release(): Promise<void>;
}
interface Runner {
  stop(): Promise<void>;
}
interface Graphile {
  Logger: new (factory: () => (level: string, message: string) => void) => object;
  makeWorkerUtils(options: { preset: Preset }): Promise<Utils>;
  run(options: {
    preset: Preset;
    taskList: Record<string, (payload: unknown) => void>;
    noHandleSignals: boolean;
    parsedCronItems: never[];
  }): Promise<Runner>;
}
interface Preset {
  worker: Record<string, unknown>;
}

const TASK = 'bench';
const ASIDE = 'aside';
/** As in its own performance test. */
const CONCURRENCY = 24;
const BATCHED = {
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export interface GraphileOptions extends Omit<Contender, 'open' | 'keepsFinished'> {
  readonly batched: boolean;
}

export function graphile({ batched, ...contender }: GraphileOptions): Contender {
  return {
    ...contender,
    keepsFinished: false,
    async open(place) {
      process.env['NO_LOG_SUCCESS'] = '1';
      const lib = await load<Graphile>('graphile-worker');
      const logger = new lib.Logger(() => (level, message) => {
        if (level === 'error') console.error(message);
      });
      const preset = {
        worker: {
          connectionString: place,
          logger,
          concurrentJobs: CONCURRENCY,
          maxPoolSize: CONCURRENCY + 2,
          ...(batched ? BATCHED : {}),
        },
      };
      const utils = await lib.makeWorkerUtils({ preset });
      await utils.migrate();
      return new GraphileQueue(lib, preset, utils, await Counter.open(place, COUNT));
    },
  };
}

const COUNT = `SELECT count(*) AS unfinished, 0 AS finished FROM graphile_worker._private_jobs
  WHERE task_id = (SELECT id FROM graphile_worker._private_tasks WHERE identifier = '${TASK}')`;

class GraphileQueue implements Queue {
  readonly #lib: Graphile;
  readonly #preset: Preset;
  readonly #utils: Utils;
  readonly #counter: Counter;

  constructor(lib: Graphile, preset: Preset, utils: Utils, counter: Counter) {
    this.#lib = lib;
    this.#preset = preset;
    this.#utils = utils;
    this.#counter = counter;
  }

  async push(payload: Payload): Promise<void> {
    await this.#utils.addJob(TASK, payload.value);
  }

  async pushMany(payloads: readonly Payload[]): Promise<void> {
    await this.#utils.addJobs(payloads.map(({ value }) => ({ identifier: TASK, payload: value })));
  }

  async pushAside(payloads: readonly Payload[]): Promise<void> {
    await this.#utils.addJobs(payloads.map(({ value }) => ({ identifier: ASIDE, payload: value })));
  }

  /** It shows no commit of a completion: `job:complete` comes when that is under way, the stop waits for it. */
  async worker(hooks: Hooks): Promise<Worker> {
    const events = new EventEmitter();
    events.on('job:complete', () => hooks.settled(1));
    let runner: Runner | undefined;
    return {
      start: async () => {
        runner = await this.#lib.run({
          preset: { worker: { ...this.#preset.worker, events } },
          taskList: { [TASK]: (payload) => hooks.handle(payload) },
          noHandleSignals: true,
          parsedCronItems: [],
        });
      },
      stop: async () => {
        await runner?.stop();
        hooks.settled(0);
      },
    };
  }

  counts(): Promise<Counts> {
    return this.#counter.counts();
  }

  async close(): Promise<void> {
    await this.#utils.release();
    await this.#counter.close();
  }
}
