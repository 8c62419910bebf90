import { resolve } from 'node:path';
import { storeName } from '../../app/store-name.ts';
import type { WorkerPoolManager } from '../../compat/index.ts';
import { loadConfig, sourceOf } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal } from '../kit/exit.ts';
import { ownFolder } from '../kit/own-folder.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { PoolDisplay } from './pool-display.ts';

const FIGURES_MS = 500;
const FORCED_MS = 1000;

/** `leasehold pool run`: the pool manager of Universal Agent as a program. */
export const run: Command = {
  name: 'pool run',
  doc: 'Run a pool of workers for runs of agents: more as runs wait, fewer as none do',
  options: [
    'leastWorkers',
    'mostWorkers',
    'queue',
    'runHandler',
    'gatewayUrl',
    'processes',
    'scaling',
    'waitingRuns',
    'workerIdle',
    'monitorInterval',
    'runsPerWorker',
    'retryFailures',
    'store',
    'dataDir',
    'durability',
    'leaseDuration',
    'heartbeatInterval',
    'pollInterval',
    'drainTimeout',
    'json',
  ],
  examples: [
    {
      line: 'pool run --gateway-url http://127.0.0.1:8002',
      does: '1 to 4 workers; Ctrl-C lets runs come to their ends',
    },
    { line: 'pool run --run-handler ./handler.ts --min 2 --max 8', does: 'runs are performed by your own function' },
    { line: 'pool run --run-handler ./handler.ts --processes', does: 'the same, each worker a process of its own' },
  ],

  async run(args) {
    const config = loadConfig(run, args);
    const queue = queueOf(config);
    const display = new PoolDisplay({ json: config.json, stream: process.stdout });
    if (sourceOf(config, 'store') === 'default') ownFolder(config);
    const pool = await poolOf(config, queue, display);
    const over = Promise.withResolvers<void>();
    let forced: number | undefined;
    const stop = (drain: boolean): void => void pool.stop({ drain }).then(over.resolve, over.reject);
    const unlisten = onStopSignals({
      stop: () => {
        display.stopping();
        stop(true);
        setTimeout(() => stop(false), config.drainTimeout).unref();
      },
      forceable: () => display.stillStopping(),
      force: (signal) => {
        forced = exitCodeOfSignal(signal);
        setTimeout(() => process.exit(forced), FORCED_MS).unref();
        stop(false);
      },
    });
    const figures = setInterval(() => display.figures(pool.getPoolStats()), FIGURES_MS);
    try {
      await pool.start();
      const { leastWorkers: min, mostWorkers: max, processes } = config;
      display.started({ store: storeName(config.store), queue, min, max, processes });
      await over.promise;
    } finally {
      clearInterval(figures);
      unlisten();
    }
    display.stopped(pool.getPoolStats());
    const status = forced ?? EXIT.fine;
    // A handler may have left timers or sockets behind.
    setTimeout(() => process.exit(status), FORCED_MS).unref();
    return status;
  },
};

async function poolOf(config: Config, queue: string, display: PoolDisplay): Promise<WorkerPoolManager> {
  // Loaded on demand: the help needs no store.
  const { WorkerPoolManager } = await import('../../compat/index.ts');
  const { runHandler, gatewayUrl, durability } = config;
  if (runHandler === undefined && gatewayUrl === undefined) {
    throw fault(
      'INVALID_INPUT',
      { field: 'pool', problem: 'nothing performs its runs' },
      { hint: 'Give --run-handler FILE, which exports runHandler or agent, or --gateway-url URL of a gateway.' },
    );
  }
  return new WorkerPoolManager(
    {
      dbPath: config.store,
      queue,
      minWorkers: config.leastWorkers,
      maxWorkers: config.mostWorkers,
      scaleUpThreshold: config.waitingRuns,
      scaleDownIdleSeconds: config.workerIdle / 1000,
      monitorIntervalSeconds: config.monitorInterval / 1000,
      scaling: config.scaling,
      processes: config.processes,
      handlerModule: runHandler === undefined ? null : resolve(runHandler),
    },
    {
      leaseTtlSeconds: config.leaseDuration / 1000,
      heartbeatIntervalSeconds: config.heartbeatInterval / 1000,
      pollIntervalSeconds: config.pollInterval / 1000,
      maxConcurrentRuns: config.runsPerWorker,
      retryFailures: config.retryFailures,
      gatewayUrl: gatewayUrl ?? null,
    },
    undefined,
    { durability, log: { info: () => {}, warn: display.warning, error: display.warning } },
  );
}

/** A pool serves one queue. */
function queueOf({ queue }: Config): string {
  const [first = 'runs', ...others] = queue;
  if (others.length === 0) return first;
  throw fault('INVALID_INPUT', { field: '--queue', problem: 'a pool serves one queue; run a pool for each' });
}
