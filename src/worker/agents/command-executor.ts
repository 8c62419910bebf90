import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Timers } from '../../core/world.ts';
import type { Agent } from '../../flow/agent/definition.ts';
import { outputInstruction, promptOf, renderPrompts } from '../../flow/agent/prompt.ts';
import { type AgentResult, totalCost } from '../../flow/agent/result.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { renderTemplate } from '../../flow/template/template.ts';
import { handedOn } from '../handlers/shell.ts';
import { failedResult, runAgentCommand } from './command-agent.ts';
import { PRESETS, type Preset, type PresetCall } from './command-presets.ts';
import type { AgentExecutor, CallOptions } from './executor.ts';
import { heldToOutput } from './held-to-output.ts';

export interface CommandSurroundings {
  readonly folder: string;
  /** Of this process. Programs get only what the shell handler hands on, and what the agent names. */
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  readonly timers: Timers;
}

const CONTINUE = 'Continue working. When fully done, emit <<AGENT_EXIT>> on its own line.';
const SENTINEL = '<<AGENT_EXIT>>';

export const isCommandRuntime = (runtime: string): boolean => Object.hasOwn(PRESETS, runtime);

/** An agent whose profile names a program. It calls its tools itself, so that it has no part in a tool loop. */
export function commandAgent(agent: Agent, around: CommandSurroundings): AgentExecutor {
  const preset = PRESETS[agent.profile.runtime] as Preset;
  return {
    metadata: agent.metadata,
    tools: [],
    execute: async (input, call) => {
      const first = await runOnce(agent, preset, input, call, around);
      return heldToOutput(agent, await continued(agent, preset, first, call, around));
    },
  };
}

/** With `max_continuations` the program is asked to go on until it says that it is done. */
async function continued(
  agent: Agent,
  preset: Preset,
  first: AgentResult,
  call: CallOptions,
  around: CommandSurroundings,
): Promise<AgentResult> {
  const { max_continuations: most, exit_sentinel: end, continuation_prompt: prompt } = agent.profile.config;
  const sentinel = typeof end === 'string' ? end : SENTINEL;
  let result = first;
  for (let count = 0; typeof most === 'number' && count < most; count++) {
    const { error, content = '', session_id: session } = result;
    const turns = result.metadata?.['num_turns'];
    if (error !== undefined || session === undefined || content.includes(sentinel) || turns === 1) break;
    const more = typeof prompt === 'string' ? prompt : CONTINUE;
    const asked: Agent = { ...agent, user: { kind: 'literal', text: more }, suffix: undefined };
    result = summed(result, await runOnce(asked, preset, { resume_session: session }, call, around));
  }
  return result;
}

function summed(before: AgentResult, after: AgentResult): AgentResult {
  const names = [...new Set([...Object.keys(before.usage ?? {}), ...Object.keys(after.usage ?? {})])];
  const count = (usage: AgentResult['usage'], name: string): number =>
    Number((usage as ValueMap | undefined)?.[name] ?? 0);
  const usage = Object.fromEntries(names.map((name) => [name, count(before.usage, name) + count(after.usage, name)]));
  return { ...after, usage, cost: totalCost(before) + totalCost(after) };
}

async function runOnce(
  agent: Agent,
  preset: Preset,
  input: Value,
  call: CallOptions,
  { folder, environment, timers }: CommandSurroundings,
): Promise<AgentResult> {
  const { config, runtime } = agent.profile;
  const given = isMap(input) ? input : {};
  const rendered = renderPrompts(agent, given);
  // An agent without a prompt of its own is asked what its input says.
  const task = [given['task'], given['prompt']].find((one) => typeof one === 'string' && one !== '');
  const own = rendered.user === '' && typeof task === 'string' ? task : rendered.user;
  const instruction = outputInstruction(agent);
  const user = instruction === undefined ? own : `${own}\n\n${instruction}`;
  if (own.trim() === '' && runtime !== 'pi-agent' && runtime !== 'smolagents') {
    const message = `${runtime} needs a prompt: "user" of the agent, or "task" or "prompt" of the input`;
    return failedResult({ code: 'invalid_request', type: 'ValueError', message, retryable: false });
  }
  const asked: PresetCall = {
    config,
    prompts: { ...rendered, user },
    input: given,
    context: call.context,
    resume: sessionOf(given, config, call),
    newSession: randomUUID(),
    folder,
  };
  const output = await runAgentCommand(
    {
      argv: argvOf(preset, asked),
      cwd: resolve(folder, rendering('working_dir', config['working_dir'] ?? config['cwd'], call.context)),
      env: environmentOf(config, environment()),
      stdin: preset.stdin(asked),
      timeoutMs: typeof config['timeout'] === 'number' ? config['timeout'] * 1000 : 0,
    },
    { timers, signal: call.signal, onEvent: call.onEvent, onText: call.onText },
  );
  return 'code' in output ? failedResult(output) : preset.read(output, asked);
}

/** What the input names, else the last one of this agent if the state or its settings say that it goes on. */
function sessionOf(input: ValueMap, config: ValueMap, { sessionId, sessionName }: CallOptions): string | undefined {
  const named = input['resume_session'];
  if (typeof named === 'string' && named !== '') return wordOf(named);
  const goesOn = sessionName !== undefined || config['session'] === 'resume';
  return goesOn && sessionId !== undefined ? wordOf(sessionId) : undefined;
}

/** It becomes an argument, and must not become an option. */
function wordOf(session: string): string {
  if (/^[\w][\w.:-]{0,199}$/.test(session)) return session;
  throw new StateError('ValidationError', `${JSON.stringify(session.slice(0, 50))} is not the id of a session`);
}

function argvOf(preset: Preset, call: PresetCall): readonly string[] {
  const { command } = call.config;
  const own = typeof command === 'string' ? [command] : isList(command) ? command.map(String) : [];
  const argv = [...(own.length > 0 ? own : preset.program(call)), ...preset.args(call)];
  if (argv[0] === undefined || argv[0] === '') {
    throw new StateError('ValidationError', 'the agent has no "command": a list of a program and its arguments');
  }
  if (argv.some((one) => one.includes('\0'))) throw new StateError('ValidationError', 'an argument contains NUL');
  return argv;
}

function rendering(field: string, value: Value, context: ValueMap): string {
  if (typeof value !== 'string') return '.';
  const path = renderTemplate(promptOf(value), { context });
  if (typeof path === 'string') return path;
  throw new StateError('TemplateError', `${field}: expected a path`);
}

/** `pass_env` names variables of this process, `env` gives values. */
function environmentOf(
  { env, pass_env: pass }: ValueMap,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const named = (isList(pass) ? pass : []).flatMap((name) => {
    const value = typeof name === 'string' ? environment[name] : undefined;
    return value === undefined ? [] : [[name as string, value] as const];
  });
  const given = Object.entries(isMap(env) ? env : {}).map(([name, value]) => [name, String(value)] as const);
  const all = [...Object.entries(handedOn(environment)), ...named, ...given];
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
