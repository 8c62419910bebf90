/** A worker for runs of a workflow. It dies by SIGKILL right after the commit of a number, if one is given. */
import { appendFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { open } from '../../../src/app/open.ts';
import { makeWorker } from '../../../src/app/worker.ts';
import { realWorld } from '../../../src/app/world.ts';
import { SILENT } from '../../../src/engine/log.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import { task } from '../../../src/worker/define/task.ts';
import { WsLink } from '../../../src/worker/links/ws-link.ts';
import type { AttemptSession } from '../../../src/worker/runner/runner.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { workflow } from '../../../src/worker/workflow/workflow.ts';
import { hear, leave, say } from '../parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

const [which, how, address, effects, dieAt] = process.argv.slice(2) as [
  string,
  'store' | 'join',
  string,
  string,
  string,
];

let commits = 0;

function mortal(attempt: DrivenAttempt): DrivenAttempt {
  const { session } = attempt;
  const dying: AttemptSession = {
    journal: () => session.journal(),
    waited: () => session.waited(),
    results: (tasks) => session.results(tasks),
    dependencies: () => session.dependencies(),
    definition: (hash) => session.definition(hash),
    cancelChildren: (tasks) => session.cancelChildren(tasks),
    turn: async (request) => {
      const turned = await session.turn(request);
      commits++;
      if (commits === Number(dieAt)) process.kill(process.pid, 'SIGKILL');
      return turned;
    },
  };
  return { ...attempt, session: dying };
}

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
  if (name === 'flow') return [withMortal(flow), double];
  console.log = (line: string) => appendFileSync(effects, `${line}\n`);
  const { order, quote } = await import('../../../examples/workflows/order.ts');
  return [withMortal(order), quote];
}

function withMortal(workflow: AnyTask): AnyTask {
  const { drive } = workflow;
  return { ...workflow, drive: (input, attempt) => (drive as NonNullable<typeof drive>)(input, mortal(attempt)) };
}

const tasks = await tasksOf(which);
const worker = how === 'store' ? await onStore() : joined();
await worker.start();
say({ word: 'working' });
await hear('stop');
await worker.stop({ drain: true });
leave({ word: 'commits', commits });

async function onStore(): Promise<Worker> {
  const app = await open(address, { leaseMs: LEASE_MS });
  return app.worker({ tasks, slots: 2 });
}

function joined(): Worker {
  const [url, secret] = address.split(' ') as [string, string];
  const [world, log, name] = [realWorld(), SILENT, 'joined'];
  const link = new WsLink({ url, others: [], secret, world, log, spool: join(dirname(effects), 'spool') });
  return makeWorker({ tasks, slots: 2, name }, { link, world, log, name });
}
