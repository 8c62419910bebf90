/** Reads an agent from what its file says, in any version, with a list of everything that is wrong with it. */
import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { Fields, sayWrong } from '../machine/fields.ts';
import { type Path, type Problem, Problems } from '../machine/problems.ts';
import type { Template } from '../template/template.ts';
import type { Agent, AgentToolDefinition } from './definition.ts';
import { readMcp } from './mcp.ts';
import { readOutputFields } from './output-fields.ts';
import { NO_PROFILES, type Profile, type Profiles, profileOf, readProfiles, resolveProfile } from './profiles.ts';
import { promptOf } from './prompt.ts';

const TOP_FIELDS = new Set(['spec', 'spec_version', 'data', 'metadata', '$schema']);
const PROMPT_FIELDS = ['system', 'user', 'instruction_suffix', 'output', 'mcp', 'tools'] as const;
const DATA_FIELDS = new Set<string>([...PROMPT_FIELDS, 'name', 'model', 'profile', 'prompt', 'input', 'description']);
const NEWEST_MAJOR = 4;
/** They log in as a person does. */
const LOGIN_BACKENDS: ReadonlySet<Value> = new Set(['codex', 'copilot']);

export interface ReadAgent {
  /** Undefined if a problem keeps it from running. */
  readonly agent: Agent | undefined;
  readonly problems: readonly Problem[];
}

export interface AgentSurroundings {
  readonly profiles?: Profiles;
  /** What the files say that `data.prompt` and `data.profile` name. */
  readonly prompt?: Value;
  readonly profile?: Value;
  readonly strict?: boolean;
}

/** The files that an agent names, which whoever reads it has to bring. */
export function filesOfAgent(value: Value): { readonly prompt?: string; readonly profile?: string } {
  const data = isMap(value) && isMap(value['data']) ? value['data'] : {};
  const { prompt, profile } = data;
  return {
    ...(typeof prompt === 'string' ? { prompt } : {}),
    ...(typeof profile === 'string' && /[/\\]|\.(?:ya?ml|json)$/.test(profile) ? { profile } : {}),
  };
}

/** Strict: every problem keeps the agent from running. */
export function readAgent(value: Value, surroundings: AgentSurroundings = {}): ReadAgent {
  const problems = new Problems();
  const agent = isMap(value) ? readEnvelope(value, surroundings, problems) : undefined;
  if (!isMap(value)) problems.error([], `an agent is a map, not ${kindOf(value)}`);
  const found =
    surroundings.strict === true
      ? problems.all.map((problem) => ({ ...problem, level: 'error' as const }))
      : problems.all;
  return { agent: found.some(({ level }) => level === 'error') ? undefined : agent, problems: found };
}

function readEnvelope(value: ValueMap, surroundings: AgentSurroundings, problems: Problems): Agent | undefined {
  const top = new Fields(value, [], problems);
  top.known(TOP_FIELDS);
  if (value['spec'] !== 'flatagent') problems.error(['spec'], 'this is not an agent: expected "spec: flatagent"');
  const specVersion = top.text('spec_version') ?? '';
  const major = Number.parseInt(specVersion, 10);
  if (major > NEWEST_MAJOR) {
    problems.warning(['spec_version'], `version ${specVersion} is newer than ${NEWEST_MAJOR}.x, which is read here`);
  }
  const { data } = value;
  if (!isMap(data)) {
    problems.error(['data'], data === undefined ? '"data" is missing' : `expected a map, found ${kindOf(data)}`);
    return undefined;
  }
  const fields = new Fields(data, ['data'], problems);
  fields.known(DATA_FIELDS);
  const { prompt, path } = promptIn(data, surroundings.prompt, problems);
  const prompts = new Fields(prompt, path, problems);
  const metadata = top.map('metadata');
  const metaName = metadata['name'];
  const mcp = readMcp(prompts, problems, (inner, name) => template(inner, name, problems));
  const profile = checked(profileIn(data, surroundings, problems), problems);
  if (mcp !== undefined && profile.runtime !== 'llm') {
    const problem = `an agent of the type "${profile.runtime}" has tools of its own: these servers are not connected`;
    problems.warning(prompts.pathOf('mcp'), problem);
  }
  return {
    name: prompts.text('name') ?? fields.text('name') ?? (typeof metaName === 'string' ? metaName : 'unnamed-agent'),
    specVersion,
    profile,
    system: template(prompts, 'system', problems),
    user: template(prompts, 'user', problems) ?? { kind: 'literal', text: '' },
    suffix: template(prompts, 'instruction_suffix', problems),
    output: readOutputFields(prompts.value('output'), prompts.pathOf('output'), problems),
    tools: toolsIn(prompts.value('tools'), prompts.pathOf('tools'), problems),
    mcp,
    metadata,
  };
}

/** Since version 4 the prompt may stand apart: in a file, or within `prompt`. */
function promptIn(data: ValueMap, file: Value, problems: Problems): { readonly prompt: ValueMap; readonly path: Path } {
  const given = typeof data['prompt'] === 'string' ? file : data['prompt'];
  if (data['prompt'] === undefined || data['prompt'] === null) return { prompt: data, path: ['data'] };
  const path = ['data', 'prompt'];
  if (!isMap(given)) {
    problems.error(path, 'expected a prompt, or the path of a file with one');
    return { prompt: {}, path };
  }
  const inner = isMap(given['data']) ? given['data'] : given;
  return { prompt: inner, path };
}

function profileIn(
  data: ValueMap,
  { profiles = NO_PROFILES, profile: file }: AgentSurroundings,
  problems: Problems,
): Profile {
  const path = ['data', 'profile'];
  const own = data['profile'] ?? undefined;
  if (own === undefined) return resolveProfile(profiles, data['model'] ?? undefined, problems, ['data', 'model']);
  const given = typeof own === 'string' && file !== undefined ? file : own;
  if (!isMap(given)) return resolveProfile(profiles, given, problems, path);
  if (typeof given['type'] === 'string' && given['spec'] === undefined) {
    return resolveProfile(profiles, given, problems, path);
  }
  const catalogue = readProfiles(given, problems, path);
  if (catalogue.default === undefined && catalogue.override === undefined && catalogue.named.size === 1) {
    return [...catalogue.named.values()][0] as Profile;
  }
  if (catalogue.named.size === 0) return profileOf(given);
  return resolveProfile(catalogue, undefined, problems, path);
}

function checked(profile: Profile, problems: Problems): Profile {
  const { backend, api_key: key } = profile.config;
  if (profile.runtime !== 'llm') return profile;
  if (LOGIN_BACKENDS.has(backend)) {
    problems.error(
      ['data', 'model', 'backend'],
      `the backend "${String(backend)}" needs a login that is not kept here: use the profile type codex-cli, or base_url and api_key_env`,
    );
  }
  if (typeof key === 'string') {
    problems.warning(
      ['data', 'model', 'api_key'],
      'a key in a file is seen by all who read it: name a variable in api_key_env',
    );
  }
  return profile;
}

function template(fields: Fields, name: string, problems: Problems): Template | undefined {
  const source = fields.text(name);
  if (source === undefined) return undefined;
  try {
    return promptOf(source);
  } catch (error) {
    problems.error(fields.pathOf(name), sayWrong(source, error));
    return undefined;
  }
}

function toolsIn(value: Value, path: Path, problems: Problems): readonly AgentToolDefinition[] {
  if (value === undefined || value === null) return [];
  if (!isList(value)) {
    problems.error(path, `expected a list of tools, found ${kindOf(value)}`);
    return [];
  }
  return value.flatMap((one, i) => {
    const tool = toolDefinitionOf(one);
    if (tool === undefined) problems.error([...path, i], 'a tool is {type: function, function: {name, …}}');
    return tool === undefined ? [] : [tool];
  });
}

/** The form of OpenAI; the bare `{name, description, parameters}` is taken as well. */
export function toolDefinitionOf(value: Value): AgentToolDefinition | undefined {
  if (!isMap(value)) return undefined;
  const inner = isMap(value['function']) ? value['function'] : value;
  const { name, description, parameters } = inner;
  if (typeof name !== 'string' || name === '') return undefined;
  const replay = value['replay'] ?? inner['replay'];
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      ...(isMap(parameters) ? { parameters } : {}),
    },
    ...(typeof replay === 'string' ? { replay } : {}),
  };
}
