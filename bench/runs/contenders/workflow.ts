/** A workflow in code, with a worker in the process of the caller. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { effect, effects } from '../effects.ts';
import { type Output, type Place, type Runner, STEPS } from '../part.ts';

type Library = typeof import('../../../src/index.ts');

export async function openWorkflow({ store, at, dist, atOnce }: Place): Promise<Runner> {
  const { open, workflow } = (await import(pathToFileURL(join(dist, 'index.js')).href)) as Library;
  const app = await open(store === 'postgres' ? at : `sqlite:${at}`);
  const steps = workflow('steps', async (run: number, wf): Promise<Output> => {
    let last = '';
    for (let n = 1; n <= STEPS; n++) last = await wf.step('step', () => effect(run, n));
    return { n: STEPS, last };
  });
  const worker = app.worker({ tasks: [steps], slots: atOnce });
  await worker.start();
  return {
    run: async (run) => (await app.run(steps, run)).result(),
    async close() {
      await app.close();
      return effects();
    },
  };
}
