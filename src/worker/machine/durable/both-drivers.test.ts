// The same machines within a process and as durable runs: the same output, or the same error.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { ground } from '../../../../test/support/compat-grounds.ts';
import { DurableScene, type DurableSceneOptions, type Elsewhere } from '../../../../test/support/runs/durable-scene.ts';
import { MACHINE_CASES, type MachineCase } from '../../../../test/support/runs/machine-cases.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../../store/conformance/kit/virtual-world.ts';
import { AgentLoader } from '../../agents/load-agent.ts';
import { AgentRegistry } from '../../agents/registry.ts';
import { HooksRegistry } from '../hooks-registry.ts';
import { runInline } from '../inline-driver.ts';
import { loadMachine } from '../load-machine.ts';
import { MachineFailed } from '../machine-failed.ts';
import { LocalSignals } from '../signals.ts';

const sourceOf = ({ data, version = '2.0.0' }: MachineCase) => ({
  value: JSON.parse(JSON.stringify({ spec: 'flatmachine', spec_version: version, data })) as unknown,
  folder: '/',
  name: 'test',
});

/** What a case says of an error. */
function failureOf(error: unknown, { gives }: MachineCase): object {
  assert.ok(error instanceof MachineFailed, String(error));
  const { type, message, state } = error;
  return {
    failed: type,
    ...(gives !== null && typeof gives === 'object' && 'message' in gives ? { message } : {}),
    state,
  };
}

function registryOf({ named }: MachineCase): HooksRegistry {
  const registry = new HooksRegistry({ onLog: () => {} });
  return named === undefined ? registry : registry.register('named', named);
}

async function inline(one: MachineCase): Promise<unknown> {
  const world = new VirtualWorld();
  const registry = new AgentRegistry();
  for (const [name, run] of Object.entries(one.agents?.() ?? {})) registry.agent(name, run);
  for (const [name, run] of Object.entries(one.tools?.() ?? {})) registry.tool(name, run);
  const loader = new AgentLoader({ registry, environment: () => ({}), world, folder: '/' });
  const loaded = await loadMachine(sourceOf(one), {
    hooks: registryOf(one),
    agent: loader.agent,
    ...(one.hooks === undefined ? {} : { own: [one.hooks()] }),
  });
  const signals = new LocalSignals();
  for (const [channel, data] of one.signals ?? []) signals.send(channel, data);
  const running = runInline(
    loaded,
    { executionId: 'run', input: one.input ?? {}, stop: new AbortController().signal },
    { world, signals },
  );
  let over = false;
  const ended = (): void => void (over = true);
  running.then(ended, ended);
  await world.settle();
  if (one.broadcast !== undefined) signals.send(...one.broadcast);
  for (let n = 0; !over && n < 1000; n++) {
    await world.settle();
    if (!over) await world.advance(1000);
  }
  return running.catch((error: unknown) => failureOf(error, one));
}

async function durable(t: TestContext, one: MachineCase, where: DurableSceneOptions): Promise<unknown> {
  const scene = await DurableScene.open(t, {
    ...where,
    ...(one.hooks === undefined ? {} : { hooks: [one.hooks()] }),
    registry: registryOf(one),
    ...(one.agents === undefined ? {} : { agents: one.agents() }),
    ...(one.tools === undefined ? {} : { tools: one.tools() }),
  });
  for (const [channel, data] of one.signals ?? []) await scene.engine.waits.signal(channel, data);
  const task = await scene.start(sourceOf(one), one.input);
  await scene.work();
  if (one.broadcast !== undefined) {
    await scene.engine.waits.signal(...one.broadcast, { broadcast: true });
    await scene.work();
  }
  const { state, output } = await scene.end(task);
  if (state === 'completed') return output;
  assert.equal(state, 'failed');
  const {
    name,
    message,
    state: at,
  } = output as { readonly name: string; readonly message: string; readonly state: string };
  return failureOf(new MachineFailed(name, message, at), one);
}

describe('within a process and as a durable run', () => {
  const folder = tempFolder('both');
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  let files = 0;
  /** One for all: what a case leaves there is over. */
  let postgres: Promise<Elsewhere> | undefined;
  const stores: Readonly<Record<string, (t: TestContext) => Promise<DurableSceneOptions>>> = {
    memory: async () => ({}),
    sqlite: async () => ({ url: `sqlite:${join(folder, `${files++}.db`)}` }),
    postgres: async () => ({
      elsewhere: await (postgres ??= ground({ after: (end) => ends.push(end) }, 'postgres', folder)),
    }),
  };
  for (const [name, one] of Object.entries(MACHINE_CASES)) {
    test(name, async (t) => {
      assert.deepEqual(await inline(one), one.gives, 'within a process');
      for (const [store, where] of Object.entries(stores)) {
        assert.deepEqual(await durable(t, one, await where(t)), one.gives, `as a durable run, ${store}`);
      }
    });
  }
});
