import type { TestContext } from 'node:test';
import type { Leasehold } from '../../../src/app/library/leasehold.ts';
import { type App, open } from '../../../src/app/open.ts';
import { realWorld } from '../../../src/app/world.ts';
import { EngineOperator } from '../../../src/operate/engine-operator.ts';
import type { RunDetailView, RunView } from '../../../src/protocol/views.ts';
import { AgentRegistry } from '../../../src/worker/agents/registry.ts';
import { machineTask } from '../../../src/worker/machine/durable/machine-task.ts';
import { HooksRegistry } from '../../../src/worker/machine/hooks-registry.ts';
import type { MachineHooks } from '../../../src/worker/machine/machine-hooks.ts';

/** Runs on a real engine in memory, with a real worker, in real time. */
export interface RunScene {
  readonly app: App;
  readonly operator: EngineOperator;
  readonly start: (data: object, more?: object) => Promise<RunView & { readonly fresh: boolean }>;
  readonly detail: (id: string) => Promise<RunDetailView>;
  /** When the run is in this state. */
  readonly until: (id: string, state: RunView['state']) => Promise<RunDetailView>;
}

export async function runScene(
  t: TestContext,
  hooks: MachineHooks = {},
  agents: Readonly<Record<string, () => unknown>> = {},
): Promise<RunScene> {
  const app = await open('memory:');
  t.after(() => app.close({ drainMs: 0 }));
  await machineWorker(t, app, hooks, agents);
  const operator = new EngineOperator(app.engine);
  const detail = (id: string) => operator.call('getRun', { params: { id } });
  return {
    app,
    operator,
    detail,
    start: (data, more = {}) => operator.call('startRun', { body: { machine: machine(data), ...more } }),
    async until(id, state) {
      for (;;) {
        const found = await detail(id);
        if (found.state === state) return found;
        if (found.state === 'failed') throw new Error(JSON.stringify(found.error));
        await new Promise((go) => setTimeout(go, 5));
      }
    },
  };
}

export const machine = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });

/** Counts in the context by one. */
export const counting: MachineHooks = {
  onAction: (...given: readonly unknown[]) => {
    const context = given.at(-1) as Record<string, number>;
    return { count: (context['count'] ?? 0) + 1 };
  },
};

/** A worker that runs machines. */
export async function machineWorker(
  t: TestContext,
  app: Pick<Leasehold, 'worker'>,
  hooks: MachineHooks = {},
  agents: Readonly<Record<string, () => unknown>> = {},
): Promise<void> {
  const registry = new AgentRegistry();
  for (const [name, run] of Object.entries(agents)) registry.agent(name, run as never);
  const task = machineTask({
    world: realWorld(),
    hooks: new HooksRegistry(),
    agents: registry,
    environment: () => ({}),
    own: [hooks],
  });
  const worker = app.worker({ tasks: [task], slots: 4 });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
}
