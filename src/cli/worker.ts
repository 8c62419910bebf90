import { builtinWorker } from '../app/builtin-worker.ts';
import { open } from '../app/open.ts';
import { storeName } from '../app/store-name.ts';
import { loadConfig } from '../config/load.ts';
import type { Command } from './command.ts';
import { type Parted, WorkerDisplay } from './display/worker.ts';
import { EXIT, exitCodeOfSignal } from './exit.ts';
import { onStopSignals } from './signals.ts';
import { WORKER_OPTIONS, workerOptions } from './worker-options.ts';

const FORCED_MS = 1000;
const AT_ONCE = { abortMs: 0, termMs: 0 };

/** `leasehold worker`: a worker directly on a store, as long-lived as one wants. */
export const worker: Command = {
  name: 'worker',
  doc: 'Run a worker directly on a store: many at once share the work',
  options: [
    'store',
    'dataDir',
    'durability',
    'leaseDuration',
    ...WORKER_OPTIONS,
    'once',
    'idleExit',
    'drainTimeout',
    'json',
  ],
  examples: [
    { line: 'worker --store sqlite:./work.db --slots 8', does: 'until Ctrl-C, which lets running tasks finish' },
    { line: 'worker --once', does: 'claim one task, run it, end; the status says how it went' },
    { line: 'worker --handlers ./tasks.ts --idle-exit 30s', does: 'with own tasks, until there is nothing to do' },
  ],

  async run(args) {
    const config = loadConfig(worker, args);
    const { store, durability, leaseDuration, once, idleExit, drainTimeout } = config;
    const display = new WorkerDisplay({ json: config.json, stream: process.stdout });
    const parted: Parted[] = [];
    const app = await open(store, {
      durability,
      leaseMs: leaseDuration,
      // A thread for checkpoints is not worth starting for one task.
      housekeeping: !once,
      log: { info: () => {}, warn: display.warning, error: display.warning },
    });
    const options = workerOptions(config);
    const running = builtinWorker(app, {
      ...options,
      once,
      idleExitMs: idleExit,
      onSettled: ({ id, queue, handler }, parting, ranMs) => {
        const one = { id, queue, handler, parting, ranMs };
        if (once) parted.push(one);
        display.parted(one);
      },
    });
    let forced: number | undefined;
    const unlisten = onStopSignals({
      stop: () => {
        display.stopping();
        void running.stop({ drainMs: drainTimeout });
      },
      forceable: () => display.stillStopping(),
      force: (signal) => {
        forced = exitCodeOfSignal(signal);
        setTimeout(() => process.exit(forced), FORCED_MS).unref();
        void running.stop({ drain: false, ladder: AT_ONCE });
      },
    });
    try {
      await running.start();
      display.started({
        name: options.name,
        handlers: running.handlers,
        slots: options.slots,
        store: storeName(store),
      });
      await running.ended;
    } finally {
      await app.close();
      unlisten();
    }
    display.stopped(running.stats.settled);
    return forced ?? (once ? statusOf(parted[0]) : EXIT.fine);
  },
};

function statusOf(parted: Parted | undefined): number {
  if (parted?.parting === 'lost') return EXIT.leaseLost;
  return parted?.parting === 'failed' || parted?.parting === 'retried' ? EXIT.failed : EXIT.fine;
}
