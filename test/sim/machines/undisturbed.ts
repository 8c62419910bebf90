import { VirtualWorld } from '../../../src/store/conformance/kit/virtual-world.ts';
import { AgentLoader } from '../../../src/worker/agents/load-agent.ts';
import { AgentRegistry } from '../../../src/worker/agents/registry.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import { runInline } from '../../../src/worker/machine/inline-driver.ts';
import { loadMachine } from '../../../src/worker/machine/load-machine.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';
import { LocalSignals } from '../../../src/worker/machine/signals.ts';
import type { DrawnRun } from './drawn-machine.ts';
import { actionOf, answerOf, type Context } from './effects.ts';

const HOOKS: MachineHooks = {
  onAction: (...given: readonly unknown[]) => actionOf(given[0] as string, given.at(-1) as Context),
};

/** What the run gives within one process that nothing befalls, by the other driver. */
export async function undisturbed({ source, input, signals }: DrawnRun): Promise<unknown> {
  const world = new VirtualWorld();
  const registry = new AgentRegistry().agent('writer', ({ about }) => answerOf(about));
  const loader = new AgentLoader({ registry, environment: () => ({}), world, folder: '/' });
  const hooks = new HooksRegistry();
  const loaded = await loadMachine(source, { hooks, agent: loader.agent, own: [HOOKS] });
  const kept = new LocalSignals();
  for (const { channel, data } of signals) kept.send(channel, data);
  const stop = new AbortController().signal;
  const running = runInline(loaded, { executionId: 'undisturbed', input, stop }, { world, signals: kept });
  let over = false;
  const ended = (): void => void (over = true);
  running.then(ended, ended);
  for (let n = 0; !over && n < 1000; n++) {
    await world.settle();
    if (!over) await world.advance(200);
  }
  return JSON.parse(JSON.stringify(await running)) as unknown;
}
