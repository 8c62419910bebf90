/** A worker for workflows in code and graphs that wait for a decision. It tells what it keeps and does. */
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { graphs } from '../../../src/app/graphs/graph-handler.ts';
import { open } from '../../../src/app/open.ts';
import { task } from '../../../src/worker/define/task.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { say } from '../parent.ts';

const [url] = process.argv.slice(2) as [string];
const WINDOW_MS = 1000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const ask = workflow('ask', async (n: number, wf) => {
  const [decision, word] = await Promise.all([
    wf.approval('pay', { title: `Pay ${n}?` }),
    wf.step('word', () => `for ${n}`),
  ]);
  return { action: decision?.action, word };
});

const gate = task('gate', {
  queue: 'gate',
  run: async ({ n }: { readonly n: number }, ctx) => {
    const { value } = await ctx.wait('pay', { approval: { title: `Pay ${n}?` } });
    return { action: value?.action, word: `for ${n}` };
  },
});

const app = await open(url as 'sqlite:', { leaseMs: 4000 });
const worker = app.worker({ tasks: [ask, gate, graphs()], slots: 8 });
await worker.start();
process.on('message', ({ word }: { readonly word: string }) => void look(word));
say({ word: 'working' });

/** A length of time is what is measured, and nothing waits for it. The best of three: it may still tidy up. */
async function look(word: string): Promise<void> {
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3; n++) {
    const before = process.cpuUsage();
    await pause(WINDOW_MS);
    const { user, system } = process.cpuUsage(before);
    cpuMs = Math.min(cpuMs, (user + system) / 1000);
  }
  collect();
  collect();
  say({ word, heap: process.memoryUsage().heapUsed / 1024 / 1024, cpuMs });
}
