import { reapNow } from '../../app/fleet/reap.ts';
import { open } from '../../app/open.ts';
import { loadConfig, sourceOf } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';
import { ownFolder } from '../kit/own-folder.ts';

/** A new reaper may have to wait for a term of the last one, and for a lease, in case workers were held up. */
const MORE_MS = 10_000;

/** `leasehold pool reap`: the reaper of FlatMachines, for a cron. */
export const reap: Command = {
  name: 'pool reap',
  doc: 'Mark workers as lost that have fallen silent, and give their tasks back; made for a cron',
  options: ['staleThreshold', 'leaseDuration', ...STORE_OPTIONS],
  examples: [
    { line: 'pool reap', does: 'what nodes and workers do by themselves while one of them lives' },
    { line: 'pool reap --stale-threshold 1m', does: 'workers that were silent for a minute' },
  ],

  async run(args) {
    const config = loadConfig(reap, args);
    const { store, staleThreshold: workerStaleMs, leaseDuration: leaseMs } = config;
    if (sourceOf(config, 'store') === 'default') ownFolder(config);
    const out = outFor(config);
    const app = await open(store, { workerStaleMs, leaseMs, duties: false });
    try {
      const { lost, released, left } = await reapNow(app.engine, leaseMs + MORE_MS);
      if (out.mode === 'json') out.json({ lost, released, left });
      else {
        out.line(`Lost workers: ${lost.length === 0 ? 'none' : lost.join(', ')}. Tasks given back: ${released}.`);
        if (left > 0) out.note(`${left} more are silent or overdue, and the reaper still waits: call this again.`);
      }
      return EXIT.fine;
    } finally {
      await app.close();
    }
  },
};
