/** One of the eight: claims in batches and completes, until every task is done. Notes what it was told, and nothing else. */
import { randomUUID } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { openNode } from '../../src/app/node.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import { hear, leave, say } from './parent.ts';
import { startStopwatch } from './stopwatch.ts';

const [url, history, total, batch] = process.argv.slice(2) as [string, string, string, string];
const watch = startStopwatch();
const node = await openNode(url);
const { engine } = node;
const worker = await engine.workers.register({ name: 'racer', incarnation: randomUUID(), slots: Number(batch) });
const notes = openSync(history, 'a');
// On a file it is answered by the housekeeping thread: that one is up, and its start is no part of the race.
const own = await engine.store.dutyTake({ name: `warming up ${worker}`, holder: `${worker}`, ttlMs: 60_000 });
if (own !== undefined) await engine.store.statsAudit({ duty: own });

say({ word: 'ready' });
await hear('go');
const before = process.cpuUsage();

for (;;) {
  const claimed = await engine.claim({ worker, max: Number(batch), queues: ['race'], waitMs: 50 });
  if (claimed.length === 0) {
    if ((await engine.stats('race')).completed >= Number(total)) break;
    continue;
  }
  const lines = claimed.map(({ task, attempt }) => JSON.stringify({ granted: task, attempt }));
  const settled = await Promise.all(
    claimed.map(async (lease) => {
      const { task, attempt } = lease;
      // Every fiftieth fails once, so that there are second attempts to race for, and tasks for the stager to bring back.
      const fails = attempt === 1 && task % 50 === 0;
      const answer = await (fails ? engine.fail(lease, 'once') : engine.complete(lease, { task, attempt })).then(
        () => (fails ? 'failed' : 'completed'),
        (error: Error & { code?: string }) => error.code ?? error.message,
      );
      return JSON.stringify({ settled: task, attempt, answer });
    }),
  );
  writeSync(notes, `${[...lines, ...settled].join('\n')}\n`);
}
const { user, system } = process.cpuUsage(before);
const { longestWriteMs } = engine.store as Partial<SqliteStore>;
await node.close();
leave({ word: 'done', cpuMs: (user + system) / 1000, longestWriteMs, watch });
