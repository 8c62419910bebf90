/** Programs that are agents, by the published names of their types: how they are called, and what their answers mean. */
import { isAbsolute, resolve } from 'node:path';
import { jsonIn } from '../../flow/agent/answer-json.ts';
import type { Prompts } from '../../flow/agent/prompt.ts';
import type { AgentResult, ToolCall } from '../../flow/agent/result.ts';
import { resultOf, usageOf } from '../../flow/agent/result.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { type CommandOutput, exitError, failedResult } from './command-agent.ts';

/** What a preset makes a call of. */
export interface PresetCall {
  readonly config: ValueMap;
  readonly prompts: Prompts;
  readonly input: ValueMap;
  readonly context: ValueMap;
  /** The conversation to go on with. */
  readonly resume: string | undefined;
  /** For a conversation that begins. */
  readonly newSession: string;
  readonly folder: string;
}

export interface Preset {
  /** The program, which the setting `command` replaces, with what stands before its options. */
  readonly program: (call: PresetCall) => readonly string[];
  readonly args: (call: PresetCall) => readonly string[];
  readonly stdin: (call: PresetCall) => string | undefined;
  readonly read: (output: CommandOutput, call: PresetCall) => AgentResult;
}

export const PRESETS: Readonly<Record<string, Preset>> = {
  'claude-code': {
    program: ({ config }) => [isText(config['claude_bin']) ? config['claude_bin'] : 'claude'],
    args: ({ config, prompts, resume, newSession }) => {
      const own = config['system_prompt'];
      const append = prompts.system ?? config['append_system_prompt'];
      const tools = texts(config['tools']);
      return [
        '-p',
        '--output-format',
        'stream-json',
        '--verbose',
        ...(resume === undefined ? ['--session-id', newSession] : ['--resume', resume]),
        '--model',
        isText(config['model']) ? config['model'] : 'opus',
        ...flag('--permission-mode', config['permission_mode']),
        ...(config['dangerously_skip_permissions'] === true ? ['--dangerously-skip-permissions'] : []),
        ...texts(config['add_dirs']).flatMap((one) => ['--add-dir', one]),
        ...(isText(own) ? ['--system-prompt', own] : flag('--append-system-prompt', append)),
        ...(tools.length === 0 ? [] : ['--tools', ...tools, '--disallowed-tools', 'LSP']),
        ...flag('--mcp-config', config['mcp_config']),
        ...(positive(config['max_budget_usd']) ? flag('--max-budget-usd', config['max_budget_usd']) : []),
        '--effort',
        isText(config['effort']) ? config['effort'] : 'high',
      ];
    },
    stdin: ({ prompts }) => prompts.user,
    read: readClaude,
  },
  'codex-cli': {
    program: ({ config }) => [isText(config['codex_bin']) ? config['codex_bin'] : 'codex'],
    args: ({ config, resume }) => {
      const isBypassed = config['dangerously_bypass_approvals_and_sandbox'] === true;
      const isResumed = resume !== undefined;
      const sandbox = isText(config['sandbox']) ? config['sandbox'] : 'workspace-write';
      const overrides = isMap(config['config_overrides']) ? Object.entries(config['config_overrides']) : [];
      return [
        ...(isResumed ? ['exec', 'resume'] : ['exec']),
        '--json',
        '--model',
        isText(config['model']) ? config['model'] : 'gpt-5.3-codex',
        ...(isBypassed ? ['--dangerously-bypass-approvals-and-sandbox'] : []),
        ...(isBypassed || isResumed ? [] : ['--sandbox', sandbox]),
        ...(isBypassed ? [] : ['--full-auto']),
        '-c',
        `reasoning_effort="${isText(config['reasoning_effort']) ? config['reasoning_effort'] : 'high'}"`,
        ...flag('--output-schema', config['output_schema']),
        ...texts(config['add_dirs']).flatMap((one) => ['--add-dir', one]),
        ...(config['skip_git_repo_check'] === true ? ['--skip-git-repo-check'] : []),
        ...(config['ephemeral'] === true ? ['--ephemeral'] : []),
        ...(config['search'] === true ? ['-c', 'search=true'] : []),
        ...overrides.flatMap(([key, value]) => ['-c', `${key}=${String(value)}`]),
        ...texts(config['feature_enable']).flatMap((one) => ['--enable', one]),
        ...texts(config['feature_disable']).flatMap((one) => ['--disable', one]),
        ...(isResumed ? [resume] : []),
        // From stdin: an argument would be seen by every user of the host.
        '-',
      ];
    },
    stdin: wholePrompt,
    read: readCodex,
  },
  'pi-agent': {
    args: () => [],
    program: ({ config, folder }) => [
      isText(config['node']) ? config['node'] : 'node',
      isText(config['runner']) ? pathIn(folder, config['runner']) : 'pi_agent_runner.mjs',
    ],
    stdin: bridgeRequest,
    read: readBridge,
  },
  smolagents: {
    args: () => [],
    program: ({ config, folder }) => [
      isText(config['python']) ? config['python'] : 'python3',
      ...(isText(config['runner']) ? [pathIn(folder, config['runner'])] : ['-m', 'smolagents_runner']),
    ],
    stdin: bridgeRequest,
    read: readBridge,
  },
  /** Ours: any program. `command`, `prompt: stdin | argument`, `output: auto | text | json | jsonl`. */
  command: {
    program: () => [],
    args: (call) => (call.config['prompt'] === 'argument' ? [wholePrompt(call)] : []),
    stdin: (call) => (call.config['prompt'] === 'argument' ? undefined : wholePrompt(call)),
    read: readCommand,
  },
};

const isText = (value: Value): value is string => typeof value === 'string' && value !== '';
const textOf = (value: Value): string => (typeof value === 'string' ? value : '');
const positive = (value: Value): boolean => Number(value) > 0;
const pathIn = (folder: string, path: string): string => (isAbsolute(path) ? path : resolve(folder, path));

function texts(value: Value): readonly string[] {
  return isList(value) ? value.map(String) : [];
}

function flag(name: string, value: Value): readonly string[] {
  return isText(value) || typeof value === 'number' ? [name, String(value)] : [];
}

function wholePrompt({ prompts: { system, user } }: PresetCall): string {
  return system === undefined || system === '' ? user : `${system}\n\n${user}`;
}

/** What the published runner of such agents reads from its stdin. */
function bridgeRequest(call: PresetCall): string {
  const { config, input, context, prompts } = call;
  const task = wholePrompt(call);
  return JSON.stringify({
    ref: config['ref'] ?? null,
    config: config['agent_config'] ?? config['config'] ?? {},
    input: prompts.user === '' ? input : { task, prompt: task, ...input },
    context,
  });
}

/** `claude -p --output-format stream-json`: one event a line, of which the last one is the result. */
function readClaude(output: CommandOutput, { newSession, resume }: PresetCall): AgentResult {
  const { events } = output;
  const end = events.findLast((event) => event['type'] === 'result');
  const session =
    sessionIn(end) ?? sessionIn(events.findLast((event) => isText(event['session_id']))) ?? resume ?? newSession;
  if (end === undefined) return { ...failedResult(endedEarly('claude', output)), session_id: session };
  const text = isText(end['result']) ? end['result'] : undefined;
  const usage = isMap(end['usage']) ? end['usage'] : {};
  const calls = events.flatMap(blocksOf('assistant')).flatMap(toolUseOf);
  const structured = calls.findLast(({ name }) => name === 'StructuredOutput')?.arguments;
  const error = {
    code: 'server_error',
    type: 'ClaudeCodeError',
    message: text ?? 'it ended with an error',
    retryable: false,
  };
  const result = resultOf({
    output: isMap(structured)
      ? { ...structured, session_id: session, _raw_result: text ?? null }
      : { result: text ?? null, session_id: session },
    content: text,
    usage: {
      input_tokens: usage['input_tokens'],
      output_tokens: usage['output_tokens'],
      cache_read_tokens: usage['cache_read_input_tokens'],
      cache_write_tokens: usage['cache_creation_input_tokens'],
      api_calls: positive(end['num_turns']) ? end['num_turns'] : 1,
    },
    cost: end['total_cost_usd'],
    finish_reason: end['stop_reason'] === 'max_tokens' ? 'length' : 'stop',
    error: end['is_error'] === true ? error : undefined,
    tool_calls: calls,
    session_id: session,
    metadata: { num_turns: end['num_turns'] ?? null, tool_results: resultsIn(events, calls) },
  });
  return result;
}

const sessionIn = (event: ValueMap | undefined): string | undefined =>
  isText(event?.['session_id']) ? event['session_id'] : undefined;

function blocksOf(type: string): (event: ValueMap) => readonly ValueMap[] {
  return (event) => {
    const message = event['type'] === type && isMap(event['message']) ? event['message'] : {};
    return isList(message['content']) ? message['content'].filter(isMap) : [];
  };
}

function toolUseOf(block: ValueMap): readonly ToolCall[] {
  if (block['type'] !== 'tool_use') return [];
  return [{ id: textOf(block['id']), name: textOf(block['name']), arguments: block['input'] ?? {} }];
}

function resultsIn(events: readonly ValueMap[], calls: readonly ToolCall[]): readonly ValueMap[] {
  return events.flatMap(blocksOf('user')).flatMap((block) => {
    if (block['type'] !== 'tool_result') return [];
    const call = calls.find(({ id }) => id === block['tool_use_id']);
    return [
      {
        tool_call_id: block['tool_use_id'] ?? '',
        name: call?.name ?? '',
        arguments: call?.arguments ?? {},
        content: block['content'] ?? '',
        is_error: block['is_error'] === true,
      },
    ];
  });
}

/** `codex exec --json`. */
function readCodex(output: CommandOutput, { resume }: PresetCall): AgentResult {
  const { events } = output;
  const thread = events.findLast(({ type }) => type === 'thread.started')?.['thread_id'];
  const session = isText(thread) ? thread : resume;
  const failed = events.findLast(({ type }) => type === 'turn.failed' || type === 'error');
  const items = events.flatMap((event) =>
    event['type'] === 'item.completed' && isMap(event['item']) ? [event['item']] : [],
  );
  const said = items.findLast(({ type }) => type === 'agent_message')?.['text'];
  const text = isText(said) ? said : undefined;
  const known = session === undefined ? {} : { session_id: session };
  if (failed !== undefined) {
    const inner = isMap(failed['error']) ? failed['error']['message'] : failed['message'];
    const message = isText(inner) ? inner : 'it ended with an error';
    return { ...failedResult({ code: 'server_error', type: 'CodexCliError', message, retryable: false }), ...known };
  }
  if (text === undefined) {
    return { ...failedResult(endedEarly('codex', output)), ...known };
  }
  const usage = usageOf(events.findLast(({ type }) => type === 'turn.completed')?.['usage']);
  return {
    output: { result: text, thread_id: session ?? null },
    content: text,
    usage: { ...usage, api_calls: 1 },
    finish_reason: 'stop',
    ...known,
  };
}

function endedEarly(program: string, output: CommandOutput) {
  if (output.exitCode !== 0) return exitError(program, output);
  return { code: 'server_error', type: 'NoResult', message: `${program} gave no result`, retryable: false };
}

/** One JSON object with fields of a result. */
function readBridge(output: CommandOutput): AgentResult {
  if (output.exitCode !== 0) return failedResult(exitError('the runner', output));
  const text = output.text.trim();
  if (text === '') return {};
  const value = jsonIn(text);
  if (!isMap(value)) {
    return failedResult({
      code: 'server_error',
      type: 'ValueError',
      message: 'the runner gave no JSON object',
      retryable: false,
    });
  }
  return resultOf(value);
}

/** The last JSON line that looks like a result counts; without one, all of the text. */
function readCommand(output: CommandOutput, { config }: PresetCall): AgentResult {
  if (output.exitCode !== 0) return failedResult(exitError('the command', output));
  const form = isText(config['output']) ? config['output'] : 'auto';
  const text = output.text.trim();
  if (form === 'text') return { content: text };
  const value =
    form === 'jsonl'
      ? output.events.at(-1)
      : (jsonIn(text) ?? (form === 'auto' ? jsonIn(text.slice(text.lastIndexOf('\n') + 1)) : undefined));
  if (isMap(value)) return resultOf(value);
  if (form === 'auto') return { content: text };
  return failedResult({ code: 'invalid_output', type: 'AgentError', message: `it gave no ${form}`, retryable: true });
}
