/** Agents by the names that a machine has for them: from files, from the machine itself, from a registry. */
import { resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Agent } from '../../flow/agent/definition.ts';
import { type Profiles, readProfiles } from '../../flow/agent/profiles.ts';
import { filesOfAgent, readAgent } from '../../flow/agent/read-agent.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { type Problem, Problems, pathText } from '../../flow/machine/problems.ts';
import type { LoopHost } from '../loop/loop-host.ts';
import { phaseAgent } from '../loop/phase-agent.ts';
import type { AgentCall } from '../machine/inline-driver.ts';
import { readMachineFile } from '../machine/load-machine.ts';
import type { MachinePlace, MachineSource, ReadSource } from '../machine/loader-options.ts';
import { a2aAgent } from './a2a/a2a-agent.ts';
import { agentCall } from './agent-call.ts';
import { chatAgent } from './chat-agent.ts';
import { commandAgent, isCommandRuntime } from './command-executor.ts';
import type { AgentExecutor } from './executor.ts';
import { gatewayAgent } from './gateway/gateway-agent.ts';
import { reachOf } from './reach.ts';
import type { AgentRegistry } from './registry.ts';

export interface AgentLoaderOptions {
  readonly registry: AgentRegistry;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  /** Whose profiles are used where a machine within it has none. */
  readonly folder: string;
  /** Reads the files that machines and agents name; default: from the disk. */
  readonly read?: ReadSource;
  /** Where programs run whose agent has this folder. False: none are started. Default: in that folder. */
  readonly programs?: false | ((folder: string) => string);
  /** Undefined: every address that an agent names is reached. */
  readonly allowHttp?: readonly string[];
  /** Variables that an agent may send to any address. Undefined: all of them. */
  readonly sendable?: ReadonlySet<string> | undefined;
  /** What loops may do here; default: nothing. */
  readonly loop?: LoopHost | undefined;
  readonly strict?: boolean;
  readonly onWarning?: (text: string) => void;
}

export const PROFILE_FILES = ['profiles.yml', 'profiles.yaml', 'profiles.json'];
/** Types that are prompts with a model behind an endpoint. `llm`, `openai` and `http` are ours. */
const MODEL_TYPES: ReadonlySet<string> = new Set(['llm', 'openai', 'http']);
const GATEWAY = 'gateway';
const A2A = 'a2a';
/** Asks the agent that a run has brought. */
const LOOP_PHASE = 'loop';

export class AgentLoader {
  readonly #options: AgentLoaderOptions;
  readonly #known = new WeakMap<object, Map<string, Promise<AgentCall>>>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #said = new Set<string>();
  readonly #readFile: ReadSource;

  constructor(options: AgentLoaderOptions) {
    this.#options = options;
    this.#readFile = options.read ?? readMachineFile;
  }

  /** The agent that a machine calls so. Read once. */
  readonly agent = (name: string, place: MachinePlace): Promise<AgentCall> => {
    const ofMachine = this.#known.get(place.machine) ?? new Map<string, Promise<AgentCall>>();
    this.#known.set(place.machine, ofMachine);
    const known = ofMachine.get(name) ?? this.#load(name, place);
    ofMachine.set(name, known);
    return known;
  };

  /** Resolves when no call is under way: nothing of a program is left then. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #load(name: string, place: MachinePlace): Promise<AgentCall> {
    const { registry, world } = this.#options;
    const call = agentCall(await this.#executor(name, place), { world, tools: registry.tools });
    return (command, stop, around) => {
      const running = call(command, stop, around);
      this.#running.add(running);
      const gone = (): boolean => this.#running.delete(running);
      running.then(gone, gone);
      return running;
    };
  }

  /** A function of this name goes before everything: that is how a machine is tried without a model. */
  async #executor(name: string, place: MachinePlace): Promise<AgentExecutor> {
    const { machine } = place;
    const own = this.#options.registry.find(name);
    return own ?? this.#executorOf(name, Object.hasOwn(machine.agents, name) ? machine.agents[name] : undefined, place);
  }

  async #executorOf(name: string, given: Value, place: MachinePlace): Promise<AgentExecutor> {
    const { registry } = this.#options;
    const { folder } = place;
    if (typeof given === 'string') {
      return registry.find(given) ?? this.#fromFile(await this.#readFile(resolve(folder, given)), place);
    }
    if (isMap(given) && given['spec'] === 'flatagent')
      return this.#fromValue(given, sourceIn(place, name, given), place);
    if (isMap(given) && typeof given['type'] === 'string') return this.#typed(name, given['type'], given, place);
    if (isMap(given) && isMap(given['data'])) {
      return this.#fromValue({ spec: 'flatagent', ...given }, sourceIn(place, name, given), place);
    }
    const known = registry.names.length === 0 ? '' : ` Functions: ${registry.names.join(', ')}.`;
    throw fault(
      'NOT_FOUND',
      { kind: 'agent', id: name },
      { hint: `Name it in "agents:" of ${place.name}: a path, a flatagent, or {type, ref, config}.${known}` },
    );
  }

  /** `{type, ref, config}`. */
  async #typed(name: string, type: string, { ref, config }: ValueMap, place: MachinePlace): Promise<AgentExecutor> {
    const { registry } = this.#options;
    if (type === 'function') {
      const id = typeof ref === 'string' ? ref : name;
      const found = registry.find(id);
      if (found !== undefined) return found;
      throw fault('NOT_FOUND', { kind: 'function', id }, { hint: 'Register it as an agent.' });
    }
    if (type === LOOP_PHASE) return this.#phase(name, place);
    const source = sourceIn(place, name, config);
    if (type === 'flatagent') {
      if (typeof ref === 'string') return this.#fromFile(await this.#readFile(resolve(place.folder, ref)), place);
      if (isMap(config)) return this.#fromValue({ spec: 'flatagent', ...config }, source, place);
      throw refusal(place, name, 'a flatagent needs "ref" or "config"');
    }
    if (!isCommandRuntime(type) && !MODEL_TYPES.has(type) && type !== GATEWAY && type !== A2A) {
      const types = 'flatagent, function, command, claude-code, codex-cli, pi-agent, smolagents, gateway, a2a, llm';
      throw refusal(place, name, `there is no type "${type}" of agents: expected ${types}`);
    }
    return this.#fromValue(wrapped(name, type, ref, await this.#settingsOf(type, ref, config, place)), source, place);
  }

  /** The agent of a run is a registered function by its name, or is written out: no file is read for it. */
  #phase(name: string, place: MachinePlace): AgentExecutor {
    const { registry, world, loop, programs } = this.#options;
    if (loop === undefined) throw refusal(place, name, 'this worker runs no loops');
    return phaseAgent({
      host: loop,
      world,
      executor: (agent, folder) => {
        const known = typeof agent === 'string' ? registry.find(agent) : undefined;
        if (known !== undefined) return Promise.resolve(known);
        if (typeof agent === 'string') {
          const hint = `This worker has: ${registry.names.join(', ') || 'none'}.`;
          throw fault('NOT_FOUND', { kind: 'function', id: agent }, { hint });
        }
        if (agent['type'] === LOOP_PHASE) throw refusal(place, name, 'a loop is no agent of a loop');
        const within = new AgentLoader({
          ...this.#options,
          read: (path) => Promise.reject(fault('NOT_FOUND', { kind: 'file', id: path })),
          programs: programs === false ? false : () => folder,
        });
        return within.#executorOf('agent', agent, place);
      },
    });
  }

  /** Some agents keep their settings in the file that `ref` names; for others it is the agent itself. */
  async #settingsOf(type: string, ref: Value, config: Value, { folder }: MachinePlace): Promise<ValueMap> {
    const own = isMap(config) ? config : undefined;
    if (typeof ref !== 'string' || type === 'pi-agent' || type === 'smolagents') return own ?? {};
    const path = resolve(folder, ref);
    // Settings of the machine go over those of the file, one by one, and do without it if it is not there.
    const file = await this.#readFile(path).catch((error: unknown) =>
      own === undefined ? Promise.reject(error) : unlessMissing(error),
    );
    return { ...(isMap(file?.value) ? file.value : {}), ...own };
  }

  #fromFile(source: MachineSource, place: MachinePlace): Promise<AgentExecutor> {
    return this.#fromValue(source.value, source, place);
  }

  async #fromValue(value: Value, source: MachineSource, place: MachinePlace): Promise<AgentExecutor> {
    const { strict = false } = this.#options;
    const files = filesOfAgent(value);
    const read = async (file: string | undefined): Promise<Value> =>
      file === undefined ? undefined : (await this.#readFile(resolve(source.folder, file))).value;
    const { agent, problems } = readAgent(value, {
      profiles: await this.#profiles(source, place),
      prompt: await read(files.prompt),
      profile: await read(files.profile),
      strict,
    });
    this.#tell(problems, source);
    return this.#runs(agent as Agent, source.folder, place);
  }

  #runs(agent: Agent, folder: string, place: MachinePlace): AgentExecutor {
    const { environment, sendable, world, allowHttp, programs = (own: string) => own } = this.#options;
    const { runtime } = agent.profile;
    if (MODEL_TYPES.has(runtime)) {
      const own = programs === false ? false : agent.mcp === undefined ? folder : programs(folder);
      return chatAgent(agent, { environment, sendable, world, reach: reachOf(allowHttp), folder: own });
    }
    if (runtime === GATEWAY || runtime === A2A) {
      const around = { environment, sendable, world, reach: reachOf(allowHttp) };
      return runtime === A2A ? a2aAgent(agent, around) : gatewayAgent(agent, around);
    }
    if (isCommandRuntime(runtime)) {
      if (programs === false) throw refusal(place, agent.name, 'this worker starts no programs (see --allow shell)');
      return commandAgent(agent, { folder: programs(folder), environment, timers: world.timers });
    }
    throw refusal(place, agent.name, `nothing here runs agents of the type "${runtime}"`);
  }

  /** What the machine says, else what lies beside the agent, the machine, or the machine around it. The nearest counts alone. */
  async #profiles(source: MachineSource, { machine, folder, name }: MachinePlace): Promise<Profiles> {
    const said = machine.profiles;
    if (typeof said === 'string') return this.#profilesOf(await this.#readFile(resolve(folder, said)));
    if (isMap(said)) return this.#profilesOf({ value: said, folder, name: `${name}, profiles` });
    for (const near of new Set([source.folder, folder, this.#options.folder])) {
      for (const file of PROFILE_FILES) {
        const found = await this.#readFile(resolve(near, file)).catch(unlessMissing);
        if (found !== undefined) return this.#profilesOf(found);
      }
    }
    return this.#profilesOf({ value: {}, folder, name });
  }

  #profilesOf(source: MachineSource): Profiles {
    const problems = new Problems();
    const profiles = readProfiles(source.value, problems);
    this.#tell(problems.all, source);
    return profiles;
  }

  #tell(problems: readonly Problem[], { name, lineOf }: MachineSource): void {
    const { strict = false, onWarning } = this.#options;
    const say = ({ path, message }: Problem): string => {
      const line = lineOf?.(path);
      return `${line === undefined ? '' : `line ${line}: `}${path.length === 0 ? '' : `${pathText(path)}: `}${message}`;
    };
    const wrong = problems.filter(({ level }) => strict || level === 'error').map(say);
    if (wrong.length === 1) throw fault('INVALID_INPUT', { field: name, problem: wrong[0] });
    if (wrong.length > 1) {
      const problem = `it has ${wrong.length} problems`;
      throw fault('INVALID_INPUT', { field: name, problem }, { hint: wrong.join('\n') });
    }
    for (const problem of problems) {
      const text = `${name}: ${say(problem)}`;
      if (!this.#said.has(text)) onWarning?.(text);
      this.#said.add(text);
    }
  }
}

/** An agent within a machine: its paths begin where those of the machine begin. */
const sourceIn = ({ folder, name }: MachinePlace, agent: string, value: Value): MachineSource => ({
  value,
  folder,
  name: `${name}, agent ${agent}`,
});

/** A type with settings, as an agent with a profile. It is asked what its input says, unless its settings have prompts. */
function wrapped(name: string, type: string, ref: Value, settings: ValueMap): ValueMap {
  const { system, user, instruction_suffix: suffix, output, tools, mcp, ...profile } = settings;
  const isModel = MODEL_TYPES.has(type);
  const prompts = {
    ...(system === undefined ? {} : { system }),
    user: user ?? (isModel ? '{{ input.task or input.prompt or input | tojson }}' : ''),
    ...(suffix === undefined ? {} : { instruction_suffix: suffix }),
    // For a program `output` may say in which form it writes, and `tools` which of its own it may use.
    ...(isMap(output) ? { output } : {}),
    ...(isModel && tools !== undefined ? { tools } : {}),
    ...(isModel && mcp !== undefined ? { mcp } : {}),
  };
  const rest = {
    ...(typeof output === 'string' ? { output } : {}),
    ...(!isModel && tools !== undefined ? { tools } : {}),
    ...(!isModel && mcp !== undefined ? { mcp } : {}),
    ...(ref === undefined || isModel ? {} : { ref }),
  };
  const own = isModel
    ? { model: isMap(profile['model']) ? profile['model'] : profile }
    : { profile: { ...profile, ...rest, type } };
  return { spec: 'flatagent', spec_version: '4.0.0', data: { name, prompt: prompts, ...own } };
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'NOT_FOUND') return undefined;
  throw error;
}

const refusal = (place: MachinePlace, agent: string, problem: string): Error =>
  fault('INVALID_INPUT', { field: `${place.name}, agent ${agent}`, problem });
