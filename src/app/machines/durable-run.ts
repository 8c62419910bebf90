/** A machine as a durable run on a store, with a worker of this process: `leasehold run FILE --store URL`. */
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { fault } from '../../core/errors.ts';
import { isFinal, type TaskState } from '../../core/task/task.ts';
import { sourceTag } from '../../core/workspace/worker-tag.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import { readBundle } from '../../flow/machine/bundle/bundle.ts';
import { channelsOf } from '../../flow/machine/bundle/channels.ts';
import { runPermissions } from '../../flow/machine/bundle/run-permissions.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../flow/machine/machine-run.ts';
import { type LoopTerms, loopTerms } from '../../operate/loops/loop-terms.ts';
import { bundleMachine } from '../../worker/machine/durable/bundle.ts';
import type { MachineSource } from '../../worker/machine/loader-options.ts';
import { MachineFailed } from '../../worker/machine/machine-failed.ts';
import type { RunMachineOptions } from '../machines.ts';
import { type App, type OpenOptions, open } from '../open.ts';
import { machineHandler } from './machine-handler.ts';
import { shippedMachines } from './shipped.ts';
import { StepReporter } from './steps.ts';

export interface DurableRunOptions
  extends Pick<
    RunMachineOptions,
    'input' | 'executionId' | 'hooks' | 'registry' | 'stop' | 'onStep' | 'onWarning' | 'loopRoots'
  > {
  readonly store: string;
  readonly open?: OpenOptions;
  /** Files of the hooks: workers without them leave the run alone. */
  readonly hookFiles?: readonly string[];
  readonly signals?: readonly { readonly channel: string; readonly data: unknown }[];
  readonly slots?: number;
  readonly onStarted?: (run: StartedMachine) => void;
}

export interface StartedMachine {
  readonly id: string;
  readonly name: string;
  readonly state: TaskState;
  /** False: it was there already, and goes on. */
  readonly fresh: boolean;
  readonly send: (channel: string, data: unknown) => void;
}

/** Starts the run, or goes on with the one of this name, and resolves to its output. Rejects with `MachineFailed`. */
export async function runOnStore(source: MachineSource, options: DurableRunOptions): Promise<unknown> {
  const {
    store,
    input = {},
    executionId = randomUUID(),
    stop,
    signals = [],
    onStarted,
    hookFiles = [],
    slots = 8,
  } = options;
  const { hash, text, machine } = await bundleMachine(source, { machines: await shippedMachines() });
  const tags = hookFiles.map((file) => `hooks=${basename(file)}`);
  const queue = tags.length === 0 ? MACHINE_QUEUE : HOOKED_QUEUE;
  const bundle = readBundle(text);
  const waits = bundle === undefined ? [] : channelsOf(bundle);
  const app = await open(store, options.open);
  try {
    const loop = await loopTerms(app.engine, machine, input as Value);
    if (loop?.placement.requires?.includes(sourceTag('git')))
      options.onWarning?.(
        'the repository of this loop lives elsewhere: a worker with --git-host for its host must serve the store',
      );
    const { run, fresh } = await app.engine.runs.start({
      request: {
        queue,
        handler: MACHINE_HANDLER,
        input: { definition: hash, input, executionId, ...(tags.length === 0 ? {} : { requires: tags }) },
        maxAttempts: MACHINE_TRIES,
        permissions: runPermissions(queue, waits),
        ...demandOf(tags, loop),
      },
      run: {
        kind: loop?.kind ?? 'machine',
        title: machine.name,
        name: executionId,
        ...(loop === undefined ? {} : { labels: loop.labels }),
      },
      definition: { hash, kind: 'machine', body: text },
    });
    const send = (channel: string, data: unknown): void =>
      void app.signal(channel, data).catch((error: Error) => options.onWarning?.(error.message));
    onStarted?.({ id: run.id, name: executionId, state: run.state, fresh, send });
    for (const { channel, data } of signals) await app.signal(channel, data);
    if (!isFinal(run.state)) {
      const worker = app.worker({ tasks: [handlerOf(source, options)], tags, queues: [queue], slots });
      await worker.start();
    }
    return await app.handle(run.id).result(stop === undefined ? {} : { signal: stop });
  } catch (error) {
    throw failureOf(error) ?? (await cancelOf(app, executionId, error)) ?? error;
  } finally {
    await app.close({ drainMs: 0 });
  }
}

/** A loop asks for a worker with its root, and hooks of files for one that has them. */
function demandOf(tags: readonly string[], loop: LoopTerms | undefined) {
  const requires = [...tags, ...(loop?.placement.requires ?? [])];
  if (loop === undefined) return tags.length === 0 ? {} : { placement: { requires } };
  return { placement: { ...loop.placement, requires }, limits: loop.limits, priority: loop.priority };
}

/** The text of a machine with all that it names, for a node. */
export async function bundleOf(source: MachineSource): Promise<string> {
  return (await bundleMachine(source, { machines: await shippedMachines() })).text;
}

/** Runs whose hooks are files: each asks for a worker that has them, which leaves others alone. */
const HOOKED_QUEUE = 'machines-with-hooks';

function handlerOf(
  { folder }: MachineSource,
  { hooks = [], registry, onStep, onWarning, loopRoots }: DurableRunOptions,
): ReturnType<typeof machineHandler> {
  return machineHandler({
    folder,
    modules: folder,
    ...(hooks.length === 0 ? {} : { own: hooks }),
    ...(registry === undefined ? {} : { hooks: registry }),
    ...(loopRoots === undefined ? {} : { loopRoots }),
    ...(onStep === undefined ? {} : { onStep: new StepReporter(onStep).onStep }),
    ...(onWarning === undefined ? {} : { onWarning }),
  });
}

/** By whom the run was cancelled and why, where it was. */
async function cancelOf(app: App, name: string, error: unknown): Promise<Error | undefined> {
  const { details } = error as { readonly details?: { readonly state?: unknown } };
  if (details?.state !== 'cancelled') return undefined;
  const run = await app.engine.runs.get(name);
  if (run === undefined) return undefined;
  const { by, why } = run.cancelNote ?? {};
  const problem = `it was cancelled${by === undefined || by === '' ? '' : ` by ${by}`}${why === undefined ? '' : `: ${why}`}`;
  return fault('TASK_FAILED', { task: run.id, problem, state: run.state });
}

/** The error of the machine, where the task says one. */
function failureOf(error: unknown): MachineFailed | undefined {
  const { details } = error as { readonly details?: { readonly error?: unknown } };
  const said = details?.error;
  if (!isMap(said) || typeof said['state'] !== 'string') return undefined;
  return new MachineFailed(String(said['name']), String(said['message']), said['state']);
}
