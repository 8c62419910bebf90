/** A worker for runs of machines. It dies by SIGKILL right after the commit of a number, if one is given. */
import { appendFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadHooksModule } from '../../../src/app/machines/hooks-module.ts';
import { machineHandler } from '../../../src/app/machines/machine-handler.ts';
import { open } from '../../../src/app/open.ts';
import { makeWorker } from '../../../src/app/worker.ts';
import { realWorld } from '../../../src/app/world.ts';
import { SILENT } from '../../../src/engine/log.ts';
import type { AnyTask, DrivenAttempt } from '../../../src/worker/define/definition.ts';
import { WsLink } from '../../../src/worker/links/ws-link.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';
import type { AttemptSession } from '../../../src/worker/runner/runner.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { hear, leave, say } from '../parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

const [how, address, folder, hookFile, effects, dieAt] = process.argv.slice(2) as [
  'store' | 'join',
  string,
  string,
  string,
  string,
  string,
];

let commits = 0;

/** Every turn counts, of whichever task. */
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

/** Notes each action on the disk before it is done, and each result of a tool. */
const noting: MachineHooks = {
  onAction: (...given: readonly unknown[]) => {
    const context = given.at(-1) as { readonly machine?: { readonly execution_id: string; readonly step: number } };
    const { machine } = context;
    const place = machine?.execution_id === 'run' ? 'run' : 'child';
    appendFileSync(effects, `${place} ${machine?.step} ${String(given.at(-2))}\n`);
    return context;
  },
  onToolResult: (...given: readonly unknown[]) => {
    const [result, context] = given.slice(-2) as [{ readonly content: string }, object];
    appendFileSync(effects, `tool: ${result.content}\n`);
    return context;
  },
};

const registry = new HooksRegistry({ onLog: () => {} });
const handler = await handlerOf(hookFile);
const { drive } = handler;
const mortalHandler: AnyTask = {
  ...handler,
  drive: (input, attempt) => (drive as NonNullable<typeof drive>)(input, mortal(attempt)),
};

const worker = how === 'store' ? await onStore() : joined();
await worker.start();
say({ word: 'working' });
await hear('stop');
await worker.stop({ drain: true });
leave({ word: 'commits', commits });

/** `loop=FOLDER`: the hooks of loops, whose effects are in that folder. */
async function handlerOf(hooks: string): Promise<AnyTask> {
  const [, root] = /^loop=(.*)$/.exec(hooks) ?? [];
  if (root !== undefined) return machineHandler({ loopRoots: { main: root }, programs: true });
  const own = hooks === '' ? [] : await loadHooksModule(hooks, registry);
  return machineHandler({ folder, hooks: registry, own: [noting, ...own] });
}

async function onStore(): Promise<Worker> {
  const app = await open(address, { leaseMs: LEASE_MS });
  return app.worker({ tasks: [mortalHandler], slots: 2 });
}

function joined(): Worker {
  const [url, secret] = address.split(' ') as [string, string];
  const [world, log, name] = [realWorld(), SILENT, 'joined'];
  const link = new WsLink({ url, others: [], secret, world, log, spool: join(dirname(effects), 'spool') });
  return makeWorker({ tasks: [mortalHandler], slots: 2, name }, { link, world, log, name });
}
