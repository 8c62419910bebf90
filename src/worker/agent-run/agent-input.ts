import type { WorkspaceSpec } from '../../core/workspace/workspace.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { either, type Field, list, map, object, oneOf, optional, type Shape, text, whole } from '../handlers/schema.ts';
import { workspaceField } from '../handlers/workspace-field.ts';

/** An agent works for long, and a crash in each hour of it is no reason to end. A wait gives its try back. */
export const AGENT_TRIES = 25;

/** Agents that run on the host of the worker, in a folder. */
const PROGRAMS: ReadonlySet<string> = new Set(['command', 'claude-code', 'codex-cli', 'pi-agent', 'smolagents']);
const POLICIES: ReadonlySet<Value> = new Set(['repeat', 'exact', 'relaunch']);
const TYPE = /^[a-z0-9][a-z0-9-]{0,40}$/;
const DEFAULT_ITERATIONS = 25;
const MOST_ITERATIONS = 10_000;
const MOST_PROMPT = 512 * 1024;
const MOST_NAME = 1_000;

/** What comes with a key is kept with the task, where everybody who may read tasks reads it. */
const KEYS: ReadonlySet<string> = new Set(['api_key', 'token', 'password', 'secret', 'bearer']);
const KEY_HEADERS = /^(authorization|proxy-authorization|cookie|x-api-key|api-key|x-ua-.*-token)$/i;

/** A worker announces its schemas before it is let in, and its first message is short: so the form has few words, and the reference has the rest. */
const fields = {
  gateway: checked(
    either(
      text(),
      map(),
      'the name of an agent, an address or settings',
      'An agent of the worker, an address, or {type, …}.',
    ),
    gatewayProblems,
  ),
  prompt: text({ minLength: 1, check: shorter(MOST_PROMPT) }),
  system: optional(text({ check: shorter(MOST_PROMPT) })),
  max_iterations: optional(whole({ min: 1, max: MOST_ITERATIONS })),
  on_max_iterations: optional(oneOf(['fail', 'complete'])),
  workspace: optional(folderOrWorkspace()),
  commit: optional(text({ minLength: 1, check: shorter(MOST_NAME) })),
  session: optional(text({ minLength: 1, check: shorter(200) })),
  context: optional(map()),
  output: optional(map()),
  allowed_tools: optional(list(text({ minLength: 1 }))),
  denied_tools: optional(list(text({ minLength: 1 }))),
  policies: optional(checked(map(), policyProblems)),
  on_uncertain: optional(oneOf(['ask', 'fail'])),
  tool_timeout: optional(whole({ min: 1, max: 604_800 })),
  draw: optional(map()),
  backoffs: optional(list(whole({ min: 0, max: 3_600 }))),
};

export const agentInput = object(fields, {
  check({ workspace, commit, gateway }, report) {
    const prepared = typeof workspace === 'object' ? workspace : undefined;
    if (commit !== undefined && prepared?.source !== 'git') report(['commit'], 'needs a workspace of git');
    if (prepared !== undefined && 'keep' in prepared && prepared.keep === 'archive')
      report(['workspace', 'keep'], 'of an agent is delete, keep or on-failure');
    if (prepared !== undefined && !PROGRAMS.has(gatewayOf(gateway as Value).type))
      report(['workspace'], `is prepared for agents that are programs: ${[...PROGRAMS].join(', ')}`);
  },
});

export type AgentInput = Shape<typeof fields>;

export const iterationsOf = ({ max_iterations: most = DEFAULT_ITERATIONS }: AgentInput): number => most;

/** Where the agent is, by settings. `agent`: one that the worker has by this name. */
export function gatewayOf(gateway: Value): { readonly type: string; readonly config: ValueMap } {
  if (typeof gateway === 'string') {
    const isAddress = /^https?:\/\//i.test(gateway);
    return isAddress ? { type: 'gateway', config: { url: gateway } } : { type: 'function', config: { ref: gateway } };
  }
  const { type, ...config } = gateway as ValueMap;
  return { type: String(type), config };
}

type Problems = Iterable<readonly [readonly string[], string]>;

/** A field whose value is checked by more than its form. */
function checked<T>(field: Field<T, false>, problems: (value: Value) => Problems): Field<T, false> {
  return {
    ...field,
    read(value, path, report) {
      let isWrong = false;
      const read = field.read(value, path, (...told) => {
        isWrong = true;
        report(...told);
      });
      if (!isWrong) for (const [below, problem] of problems(value as Value)) report([...path, ...below], problem);
      return read;
    },
  };
}

/** The path of a folder of the worker, or the words of one that it prepares. */
function folderOrWorkspace(): Field<string | WorkspaceSpec, false> {
  const path = text({ minLength: 1, check: shorter(MOST_NAME) });
  return {
    optional: false,
    jsonSchema: { anyOf: [path.jsonSchema, map().jsonSchema] },
    read: (value, at, report) =>
      typeof value === 'object' && value !== null
        ? workspaceField.read(value, at, report)
        : path.read(value, at, report),
  };
}

function* policyProblems(policies: Value): Problems {
  for (const [tool, word] of Object.entries(policies as ValueMap)) {
    if (!POLICIES.has(word)) yield [[tool], 'must be one of repeat, exact, relaunch'];
  }
}

function* gatewayProblems(gateway: Value): Problems {
  if (typeof gateway === 'string') {
    if (gateway === '' || gateway.length > MOST_NAME) yield [[], `must be a text of 1 to ${MOST_NAME} characters`];
    return;
  }
  const { type, headers, ref } = gateway as ValueMap;
  if (typeof type !== 'string' || !TYPE.test(type)) {
    yield [
      ['type'],
      'must be one of a2a, gateway, llm, command, claude-code, codex-cli, pi-agent, smolagents, function',
    ];
  }
  if (type === 'function' && (typeof ref !== 'string' || ref === ''))
    yield [['ref'], 'must name an agent of the worker'];
  for (const name of Object.keys(gateway as ValueMap)) {
    if (KEYS.has(name)) {
      yield [[name], 'is kept with the task: name the variable that holds it (api_key_env, token_env)'];
    }
  }
  for (const name of isMap(headers) ? Object.keys(headers) : []) {
    if (KEY_HEADERS.test(name)) {
      yield [['headers', name], 'is kept with the task: name the variable that holds it (api_key_env, token_env)'];
    }
  }
}

function shorter(most: number): (given: string) => string | undefined {
  return (given) => (given.length > most ? `must not be longer than ${most} characters` : undefined);
}
