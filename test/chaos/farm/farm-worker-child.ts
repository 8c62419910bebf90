/** A worker of the farm. SIGTERM drains it; everything else that can happen to it does. */
import { flushCompileCache } from 'node:module';
import { open } from '../../../src/app/open.ts';
import { say } from '../parent.ts';
import { countCalls } from './farm-calls.ts';
import { GRACE_MS } from './farm-kinds.ts';
import { Notes, now } from './farm-notes.ts';
import { APART, INLINE } from './farm-tasks.ts';
import { warningsOf } from './farm-warnings.ts';

const [url, folder, role, duties, leaseMs] = process.argv.slice(2) as [string, string, string, string, string];
const notes = new Notes(folder, 'worker');
const lease = Number(leaseMs);
const calls = await countCalls(url);
const app = await open(url, { leaseMs: lease, dutyMs: lease, duties: duties === 'duties', log: warningsOf(folder) });
const worker = app.worker({
  tasks: role === 'apart' ? [...INLINE, ...APART] : INLINE,
  modules: role === 'shell' ? [new URL('../../../src/worker/handlers/builtin.ts', import.meta.url).href] : [],
  slots: 4,
  abortGrace: GRACE_MS,
  killGrace: GRACE_MS,
  env: { ...process.env, FARM_WORKER: String(process.pid) },
  onSettled: ({ id, attempt }, outcome) =>
    notes.write({ note: 'parted', id, attempt, outcome, worker: process.pid, at: now() }),
});
let before = 0;
process.once('SIGTERM', () => {
  before = worker.stats.settled.released;
  void worker.stop({ drainMs: 100 });
});
await worker.start();
flushCompileCache(); // a killed process would not leave it to its successor
say({ word: 'working' });
await worker.ended;
await app.close();
notes.write({ note: 'exit', pid: process.pid, released: worker.stats.settled.released - before, at: now() });
notes.write({ note: 'calls', ...calls });
process.exit(0);
