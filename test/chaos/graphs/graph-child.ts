/** A worker for runs of graphs. It dies by SIGKILL right after the commit of a number, if one is given. */
import { dirname, join } from 'node:path';
import { graphs } from '../../../src/app/graphs/graph-handler.ts';
import { open } from '../../../src/app/open.ts';
import { makeWorker } from '../../../src/app/worker.ts';
import { realWorld } from '../../../src/app/world.ts';
import { SILENT } from '../../../src/engine/log.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import { WsLink } from '../../../src/worker/links/ws-link.ts';
import type { AttemptSession } from '../../../src/worker/runner/runner.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { hear, leave, say } from '../parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

const [how, address, effects, dieAt] = process.argv.slice(2) as ['store' | 'join', string, string, string];

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

const graph = graphs();
const { drive } = graph;
const mortalGraph: AnyTask = {
  ...graph,
  drive: (input, attempt) => (drive as NonNullable<typeof drive>)(input, mortal(attempt)),
};
const tasks = [mortalGraph];

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
