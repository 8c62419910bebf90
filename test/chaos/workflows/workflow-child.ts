/** A worker for runs of a workflow. It dies by SIGKILL right after the commit of a number, if one is given. */
import { appendFileSync } from 'node:fs';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { task } from '../../../src/worker/define/task.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { type MortalPlace, MortalWorker } from '../mortal-worker.ts';

const [which, how, address, effects, dieAt] = process.argv.slice(2) as [
  string,
  MortalPlace['how'],
  string,
  string,
  string,
];

const worker = new MortalWorker(`commit:${dieAt}`);

const double = task('double', { run: (input) => (input as number) * 2 });
const flow = workflow('flow', async (_, wf) => {
  const effect = (name: string): Promise<string> =>
    wf.step(name, () => {
      appendFileSync(effects, `${name}\n`);
      return name;
    });
  await effect('begin');
  const doubled = await wf.map([1, 2, 3], double, { window: 2 });
  await effect('doubled');
  const [word, tried] = await Promise.all([
    wf.signal<string>('word'),
    wf
      .step('broken', () => {
        throw new Error('broken');
      })
      .catch((error: Error) => error.message),
  ]);
  await wf.sleep('50ms');
  return { doubled, word, tried, end: await effect('end') };
});

/** The workflow of this name and what it starts: that of this file, or an example, whose effects are what it prints. */
async function tasksOf(name: string): Promise<readonly AnyTask[]> {
  if (name === 'flow') return [worker.mortal(flow), double];
  console.log = (line: string) => appendFileSync(effects, `${line}\n`);
  const { order, quote } = await import('../../../examples/workflows/order.ts');
  return [worker.mortal(order), quote];
}

await worker.live({ how, address, effects }, await tasksOf(which));
