/** The handler `machine`: runs a machine as a durable run. */
import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { fault, isEngineError } from '../../../core/errors.ts';
import type { World } from '../../../core/world.ts';
import type { Value } from '../../../flow/expression/values.ts';
import { LOOP } from '../../../flow/loop/demand.ts';
import { BrokenHistory } from '../../../flow/machine/history/checked.ts';
import {
  MACHINE_HANDLER,
  MACHINE_QUEUE,
  MACHINE_TRIES,
  type MachinePayload,
  readPayload,
} from '../../../flow/machine/machine-run.ts';
import type { ChildRequest } from '../../../protocol/link.ts';
import { AgentLoader } from '../../agents/load-agent.ts';
import type { AgentRegistry } from '../../agents/registry.ts';
import type { AnyTask, DrivenAttempt } from '../../define/definition.ts';
import { task } from '../../define/task.ts';
import { LoopHooks } from '../../loop/loop-hooks.ts';
import type { LoopHost } from '../../loop/loop-host.ts';
import type { AttemptSession, RunOutcome } from '../../runner/runner.ts';
import type { HooksRegistry } from '../hooks-registry.ts';
import { type RunnableMachine, withHooks } from '../inline-driver.ts';
import { loadMachine } from '../load-machine.ts';
import type { LoaderOptions, MachineSource } from '../loader-options.ts';
import { MachineFailed } from '../machine-failed.ts';
import type { MachineHooks, RunFiles } from '../machine-hooks.ts';
import { openBundle } from './bundle.ts';
import { type DurableDeps, driveMachine } from './durable-driver.ts';

export interface MachineTaskOptions {
  readonly world: World;
  readonly hooks: HooksRegistry;
  readonly agents: AgentRegistry;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  /** Variables that agents may send to any address: who starts a run names both. A key goes to its provider besides. Undefined: all of them. */
  readonly sendable?: ReadonlySet<string> | undefined;
  /** In place of those that machines name. */
  readonly own?: readonly MachineHooks[];
  /** Machines that a task may name, and that machines may name as their peers. */
  readonly machines?: ReadonlyMap<string, MachineSource>;
  /** Undefined: every address that an agent names is reached. */
  readonly allowHttp?: readonly string[];
  /** Machines may start programs as their agents; default true. */
  readonly programs?: boolean;
  /** Folders in which loops may work, by their names; default: none. */
  readonly loopRoots?: LoopHost['roots'] | undefined;
  /** The folder that stands for that of the machine; default: the one in which the process runs. */
  readonly folder?: string;
  /** Imports a module with hooks: a path below the folder of the machine, or a package. Default: no modules. */
  readonly importHooks?: (place: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Definitions that need not be asked for. */
  readonly bundles?: ReadonlyMap<string, string>;
  readonly onWarning?: (text: string) => void;
  readonly onStep?: DurableDeps['onStep'];
}

/** A worker keeps the machines that it ran last. */
const MOST_KEPT = 100;

export function machineTask(options: MachineTaskOptions): AnyTask {
  const loop = loopHostOf(options);
  if (!options.hooks.has(LOOP)) options.hooks.register(LOOP, () => new LoopHooks(loop));
  const loader = new DefinitionLoader(options, loop);
  const definition = task(MACHINE_HANDLER, {
    queue: MACHINE_QUEUE,
    maxAttempts: MACHINE_TRIES,
    run: () => {
      throw fault('CONFLICT', { problem: 'a machine needs a worker' });
    },
  });
  const drive = (input: unknown, attempt: DrivenAttempt): Promise<RunOutcome> =>
    driveTask(input, attempt, loader, options);
  return Object.freeze({ ...definition, drive });
}

function loopHostOf({ loopRoots = new Map(), programs = true, environment, world }: MachineTaskOptions): LoopHost {
  return { roots: loopRoots, shell: programs, environment, timers: world.timers };
}

async function driveTask(
  given: unknown,
  { request, session, signal, log, artifacts, credentials, workspaces }: DrivenAttempt,
  loader: DefinitionLoader,
  { world, onStep }: MachineTaskOptions,
): Promise<RunOutcome> {
  let payload: MachinePayload;
  let runnable: RunnableMachine;
  try {
    payload = checkPayload(given);
    runnable = await loader.load(payload, session);
    for (const peer of payload.peers ?? []) runnable = await runnable.peer(peer);
    runnable = await withHooks(runnable, payload.input ?? {});
  } catch (error) {
    // It is not known what there is to read: whoever has the lease next finds out.
    if (isEngineError(error, 'LEASE_LOST')) throw error;
    // Another try would read the same.
    if (!(error instanceof MachineFailed)) return { kind: 'giveUp', error };
    const { type: name, message, state } = error;
    await session.turn({ entries: [], then: { go: 'fail', error: { name, message, state }, giveUp: true } });
    return { kind: 'parked' };
  }
  const { input = {}, executionId = request.id, from, peers = [], requires = [], parent, depth, maxDepth } = payload;
  const childTask = (
    peer: string,
    childInput: Value,
    of: { readonly depth: number; readonly maxDepth: number },
  ): ChildRequest => ({
    queue: request.queue,
    handler: request.handler,
    maxAttempts: MACHINE_TRIES,
    // A worker that cannot run this machine cannot run what belongs to it: hooks of files would be passed by in silence.
    ...(requires.length === 0 ? {} : { placement: { requires } }),
    input: {
      ...(payload.definition === undefined ? { name: payload.name } : { definition: payload.definition }),
      peers: [...peers, peer],
      ...(requires.length === 0 ? {} : { requires }),
      input: childInput,
      parent: executionId,
      depth: of.depth + 1,
      maxDepth: of.maxDepth,
    },
  });
  const { attempt, tries } = request;
  try {
    return await driveMachine(
      runnable,
      {
        task: request.id,
        executionId,
        parentExecutionId: parent,
        depth,
        maxDepth,
        input,
        from,
        attempt,
        tries,
        stop: signal,
      },
      { world, session, childTask, onStep, log, workspaces, files: filesOf({ artifacts, credentials }, world) },
    );
  } catch (error) {
    // Another try would read the same.
    if (error instanceof BrokenHistory) return { kind: 'giveUp', error };
    throw error;
  }
}

/** What a run has read is hidden in its log by its worker, which sees none of its files: where they cannot be hidden here there are none. */
function filesOf(
  { artifacts, credentials }: Pick<DrivenAttempt, 'artifacts' | 'credentials'>,
  { clock }: Pick<World, 'clock'>,
): RunFiles | undefined {
  const now = (): number => clock.wall();
  if (credentials === undefined) return { artifacts, hide: (text) => text, now };
  if (credentials.hide === undefined) return undefined;
  return { artifacts, hide: (text) => credentials.hide?.(text) ?? '', now };
}

/** A definition that was read, and its agents. */
interface Definition {
  readonly source: MachineSource;
  readonly options: LoaderOptions;
}

/** Machines by their definitions, each read once. Hooks are made anew for each attempt: they may count what they see. */
class DefinitionLoader {
  readonly #options: MachineTaskOptions;
  readonly #loop: LoopHost;
  readonly #known = new Map<string, Promise<Definition>>();

  constructor(options: MachineTaskOptions, loop: LoopHost) {
    this.#options = options;
    this.#loop = loop;
  }

  async load({ definition, name }: MachinePayload, session: AttemptSession): Promise<RunnableMachine> {
    const { source, options } = await this.#definition(definition, name, session);
    return loadMachine(source, options);
  }

  async #definition(
    definition: string | undefined,
    name: string | undefined,
    session: AttemptSession,
  ): Promise<Definition> {
    const key = definition ?? `name ${name}`;
    const others = this.#known.get(key);
    const known = others ?? this.#read(definition, name, session);
    // The one that was used last is the last to go.
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
    try {
      return await known;
    } catch (error) {
      if (this.#known.get(key) === known) this.#known.delete(key);
      // Another attempt was reading it, and has lost its lease over that.
      if (others === undefined || !isEngineError(error, 'LEASE_LOST')) throw error;
      return this.#definition(definition, name, session);
    }
  }

  async #read(definition: string | undefined, name: string | undefined, session: AttemptSession): Promise<Definition> {
    const { hooks, agents, environment, sendable, world, own, machines, allowHttp, onWarning } = this.#options;
    const opened =
      definition === undefined ? this.#named(name ?? '') : openBundle(await this.#text(definition, session));
    const { source, read } = opened;
    const warn = onWarning === undefined ? {} : { onWarning };
    const reading = read === undefined ? {} : { read };
    const loader = new AgentLoader({
      registry: agents,
      environment,
      sendable,
      world,
      folder: source.folder,
      programs: this.#programs(source.folder),
      loop: this.#loop,
      ...reading,
      ...(allowHttp === undefined ? {} : { allowHttp }),
      ...warn,
    });
    const options: LoaderOptions = {
      hooks,
      agent: loader.agent,
      machines: new Map([...(machines ?? []), ...opened.machines]),
      importHooks: (place) => this.#import(place, source.folder),
      ...(own === undefined || own.length === 0 ? {} : { own }),
      ...reading,
      ...warn,
    };
    return { source, options };
  }

  /** The folders of a bundle are nowhere on the disk. */
  #programs(root: string): false | ((folder: string) => string) {
    const { programs = true, folder = process.cwd() } = this.#options;
    if (!programs) return false;
    return (own) => {
      const place = resolve(folder, relative(root, own));
      return existsSync(place) ? place : folder;
    };
  }

  #import(place: string, root: string): Promise<Readonly<Record<string, unknown>>> {
    const { importHooks } = this.#options;
    if (importHooks !== undefined) return importHooks(isAbsolute(place) ? relative(root, place) : place);
    throw fault(
      'FORBIDDEN',
      { problem: 'this worker runs hooks by name only, not from modules' },
      { hint: 'Register the hooks by a name, or run the machine with a worker that allows modules.' },
    );
  }

  #named(name: string): {
    readonly source: MachineSource;
    readonly read?: undefined;
    readonly machines: ReadonlyMap<string, MachineSource>;
  } {
    const source = this.#options.machines?.get(name);
    if (source === undefined) {
      const known = [...(this.#options.machines?.keys() ?? [])].sort().join(', ');
      throw fault('NOT_FOUND', { kind: 'machine', id: name }, { hint: `This worker knows: ${known || 'none'}.` });
    }
    return { source, machines: new Map() };
  }

  async #text(hash: string, session: AttemptSession): Promise<string> {
    const text = this.#options.bundles?.get(hash) ?? (await session.definition(hash));
    if (text === undefined) throw fault('NOT_FOUND', { kind: 'definition', id: hash });
    return text;
  }
}

function checkPayload(given: unknown): MachinePayload {
  const payload = readPayload(given as Value);
  if (typeof payload === 'string') throw refuse(payload);
  return payload;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'input of a machine', problem });
}
