/** `Machine` and `launchMachine` of FlatMachines: machines from a program. */
import { randomUUID } from 'node:crypto';
import { checkOptions, fault } from '../../app/library/manual.ts';
import {
  type ExecutionLock,
  MemoryBackend,
  type PersistenceBackend,
  type ResultBackend,
  type SignalBackend,
} from '../../app/machines/backends.ts';
import { HooksRegistry, type MachineHooks, newSignals } from '../../app/machines/parts.ts';
import type { LaunchMachineOptions, MachineSource, MachineStep, RunMachineOptions } from '../../app/machines.ts';
import { eitherOf } from '../spellings.ts';

type Input = Readonly<Record<string, unknown>>;

/** A machine: a file, the name of one that comes with leasehold, or what a file would say. */
export type MachineConfig = string | Input;

/** Names of FlatMachines in camelCase; `config_file` and the like are taken as well. */
export interface MachineOptions {
  /** What the file would say. */
  readonly config?: Input;
  /** The file, or the name of a machine that comes with leasehold. */
  readonly file?: string;
  readonly configFile?: string;
  readonly config_file?: string;
  /** What relative paths of a `config` start from; this folder by default. */
  readonly workingDir?: string;
  readonly working_dir?: string;
  /** In place of the hooks that the machine names. */
  readonly hooks?: MachineHooks | readonly MachineHooks[];
  /** Hooks by the names that machines have for them. */
  readonly registry?: HooksRegistry;
  readonly hooksRegistry?: HooksRegistry;
  readonly hooks_registry?: HooksRegistry;
  /** Machines by the names that others have for them. */
  readonly machines?: Readonly<Record<string, MachineConfig>>;
  /** Agents that are functions. */
  readonly agents?: NonNullable<RunMachineOptions['agents']>;
  /** Tools for agents in tool loops. */
  readonly tools?: NonNullable<RunMachineOptions['tools']>;
  readonly executionId?: string;
  readonly execution_id?: string;
  readonly parentExecutionId?: string;
  readonly parent_execution_id?: string;
  /** Instead of `settings.max_steps`. */
  readonly maxSteps?: number;
  readonly max_steps?: number;
  /** Where the run is written down, in place of what the machine says. */
  readonly persistence?: PersistenceBackend;
  readonly lock?: ExecutionLock;
  readonly resultBackend?: ResultBackend;
  readonly result_backend?: ResultBackend;
  readonly signalBackend?: SignalBackend;
  readonly signal_backend?: SignalBackend;
  /** Warnings are errors. */
  readonly strict?: boolean;
  readonly onStep?: (step: MachineStep) => void;
  readonly onWarning?: (text: string) => void;
}

const MACHINE_OPTIONS: ReadonlySet<string> = new Set([
  'config',
  'file',
  'configFile',
  'config_file',
  'workingDir',
  'working_dir',
  'hooks',
  'registry',
  'hooksRegistry',
  'hooks_registry',
  'machines',
  'agents',
  'tools',
  'executionId',
  'execution_id',
  'parentExecutionId',
  'parent_execution_id',
  'maxSteps',
  'max_steps',
  'persistence',
  'lock',
  'resultBackend',
  'result_backend',
  'signalBackend',
  'signal_backend',
  'strict',
  'onStep',
  'onWarning',
] satisfies (keyof MachineOptions)[]);

export interface ExecuteOptions {
  /** Stops the run, with all machines and agents in it. */
  readonly signal?: AbortSignal;
  readonly maxSteps?: number;
  readonly max_steps?: number;
  /** Go on with the run of this name from its latest checkpoint, if it has one. */
  readonly resumeFrom?: string;
  readonly resume_from?: string;
  /** Where a run that is written down would wait for a signal, resolve to `{_waiting: true, _channel}`. */
  readonly leave?: boolean;
}

const EXECUTE_OPTIONS: ReadonlySet<string> = new Set([
  'resumeFrom',
  'resume_from',
  'leave',
  'signal',
  'maxSteps',
  'max_steps',
] satisfies (keyof ExecuteOptions)[]);

/** Runs of this process, by name: one name runs once at a time. */
const running = new Set<string>();

/** One run of a machine, within this process. It is written down if the machine has `persistence`, or a place is given. */
export class Machine {
  readonly executionId: string;
  readonly #options: MachineOptions;
  readonly #isNamed: boolean;
  readonly #signals = newSignals();
  /** For a machine that says `memory`: each has its own. */
  readonly #memory = new MemoryBackend();

  constructor(options: MachineOptions) {
    checkOptions('machine options', options, MACHINE_OPTIONS);
    this.#options = options;
    const { executionId, execution_id } = options;
    const named = eitherOf(['executionId', executionId], ['execution_id', execution_id]);
    this.#isNamed = named !== undefined;
    this.executionId = named ?? randomUUID();
    fileOf(options);
  }

  /** As FlatMachines spells it. */
  get execution_id(): string {
    return this.executionId;
  }

  /** Runs the machine to its end and resolves to its output. Rejects with `MachineFailed` when an error of a state leads nowhere. */
  async execute(input: Input = {}, options: ExecuteOptions = {}): Promise<unknown> {
    checkOptions('execute options', options, EXECUTE_OPTIONS);
    const resumeFrom = eitherOf(['resumeFrom', options.resumeFrom], ['resume_from', options.resume_from]);
    const executionId = resumeFrom ?? this.executionId;
    if (running.has(executionId)) throw fault('CONFLICT', { problem: `the run ${executionId} is already running` });
    running.add(executionId);
    try {
      const { problemsOf, refuseProblems, runMachine } = await machines();
      const source = await this.#source();
      const { strict = false } = this.#options;
      refuseProblems(source.name, await problemsOf(source, { strict }));
      const given = await this.#runOptions(options);
      // A name that nobody gave has no run to go on with.
      const named = this.#isNamed || resumeFrom !== undefined;
      return await runMachine(source, {
        ...given,
        input,
        ...(named ? { executionId } : { newId: executionId }),
        resumeFrom,
        strict,
      });
    } finally {
      running.delete(executionId);
    }
  }

  /** Sends a signal to this run and to the machines within it. One that nobody waits for is kept. */
  signal(channel: string, data: unknown = null): void {
    this.#signals.send(channel, data);
  }

  async #source(): Promise<MachineSource> {
    const { config, workingDir, working_dir } = this.#options;
    const folder = eitherOf(['workingDir', workingDir], ['working_dir', working_dir]);
    const file = fileOf(this.#options);
    return sourceOf(file ?? (config as Input), 'machine', folder);
  }

  async #runOptions({ signal, maxSteps, max_steps, leave = false }: ExecuteOptions): Promise<RunMachineOptions> {
    const given = this.#options;
    const { hooks = [], agents, tools, onStep, onWarning } = given;
    const steps = eitherOf(['maxSteps', maxSteps], ['max_steps', max_steps]);
    const peers = Object.entries(given.machines ?? {}).map(
      async ([name, one]) => [name, await sourceOf(one, name)] as const,
    );
    return {
      parentId: eitherOf(
        ['parentExecutionId', given.parentExecutionId],
        ['parent_execution_id', given.parent_execution_id],
      ),
      maxSteps: steps ?? eitherOf(['maxSteps', given.maxSteps], ['max_steps', given.max_steps]),
      hooks: Array.isArray(hooks) ? (hooks as readonly MachineHooks[]) : [hooks as MachineHooks],
      registry: registryOf(given),
      machines: new Map(await Promise.all(peers)),
      signals: this.#signals,
      memory: this.#memory,
      leave,
      parts: {
        persistence: given.persistence,
        lock: given.lock,
        results: eitherOf(['resultBackend', given.resultBackend], ['result_backend', given.result_backend]),
        signals: eitherOf(['signalBackend', given.signalBackend], ['signal_backend', given.signal_backend]),
      },
      ...(agents === undefined ? {} : { agents }),
      ...(tools === undefined ? {} : { tools }),
      ...(signal === undefined ? {} : { stop: signal }),
      ...(onStep === undefined ? {} : { onStep }),
      ...(onWarning === undefined ? {} : { onWarning }),
    };
  }
}

/** The one place that the machine comes from; undefined: it is the `config`. */
function fileOf({ config, file, configFile, config_file }: MachineOptions): string | undefined {
  const spelled = eitherOf(['configFile', configFile], ['config_file', config_file]);
  const found = eitherOf(['file', file], ['configFile', spelled]);
  if ((found === undefined) !== (config === undefined)) return found;
  const problem = found === undefined ? 'give a config or a file' : 'give a config or a file, not both';
  throw fault('INVALID_INPUT', { field: 'machine options', problem });
}

function registryOf({ registry, hooksRegistry, hooks_registry }: MachineOptions): HooksRegistry {
  const spelled = eitherOf(['hooksRegistry', hooksRegistry], ['hooks_registry', hooks_registry]);
  return eitherOf(['registry', registry], ['hooksRegistry', spelled]) ?? new HooksRegistry();
}

async function sourceOf(config: MachineConfig, name: string, folder = '.'): Promise<MachineSource> {
  if (typeof config === 'string') return (await machines()).findMachine(config, folder);
  return { value: config, folder, name };
}

const machines = (): Promise<typeof import('../../app/machines.ts')> => import('../../app/machines.ts');

export interface LaunchOptions {
  readonly executionId?: string;
  readonly execution_id?: string;
  readonly parentId?: string;
  readonly parent_id?: string;
  readonly workingDir?: string;
  readonly working_dir?: string;
  /** Modules with hooks, as `leasehold run --hooks` takes them. */
  readonly hooks?: readonly string[];
}

const LAUNCH_OPTIONS: ReadonlySet<string> = new Set([
  'executionId',
  'execution_id',
  'parentId',
  'parent_id',
  'workingDir',
  'working_dir',
  'hooks',
] satisfies (keyof LaunchOptions)[]);

/** Starts a machine in a process of its own, which nobody waits for, and resolves to the name of the run. */
export async function launchMachine(name: string, input: Input = {}, options: LaunchOptions = {}): Promise<string> {
  checkOptions('launch options', options, LAUNCH_OPTIONS);
  const { executionId, execution_id, parentId, parent_id, workingDir, working_dir, hooks } = options;
  const given: LaunchMachineOptions = {
    executionId: eitherOf(['executionId', executionId], ['execution_id', execution_id]),
    parentId: eitherOf(['parentId', parentId], ['parent_id', parent_id]),
    workingDir: eitherOf(['workingDir', workingDir], ['working_dir', working_dir]),
    hooks,
  };
  return (await machines()).launchMachine(name, input, given);
}
