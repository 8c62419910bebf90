/** A worker for runs of machines. It dies by SIGKILL right after the commit of a number, if one is given. */
import { appendFileSync } from 'node:fs';
import { loadHooksModule } from '../../../src/app/machines/hooks-module.ts';
import { machineHandler } from '../../../src/app/machines/machine-handler.ts';
import type { AnyTask } from '../../../src/worker/define/definition.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';
import { type MortalPlace, MortalWorker } from '../mortal-worker.ts';

const [how, address, folder, hookFile, effects, dieAt] = process.argv.slice(2) as [
  MortalPlace['how'],
  string,
  string,
  string,
  string,
  string,
];

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
const worker = new MortalWorker(`commit:${dieAt}`);
await worker.live({ how, address, effects }, [worker.mortal(await handlerOf(hookFile))]);

/** `loop=FOLDER`: the hooks of loops, whose effects are in that folder. */
async function handlerOf(hooks: string): Promise<AnyTask> {
  const [, root] = /^loop=(.*)$/.exec(hooks) ?? [];
  if (root !== undefined) return machineHandler({ loopRoots: { main: root }, programs: true });
  const own = hooks === '' ? [] : await loadHooksModule(hooks, registry);
  return machineHandler({ folder, hooks: registry, own: [noting, ...own] });
}
