/** What an agent gives back, in the words of the published interface. Every field may be missing. */
import { isList, isMap, mapOf, type Value, type ValueMap } from '../expression/values.ts';

export interface AgentResult {
  readonly output?: ValueMap;
  readonly content?: string;
  readonly usage?: Usage;
  readonly cost?: number | CostParts;
  readonly metadata?: ValueMap;
  readonly finish_reason?: FinishReason;
  readonly error?: AgentError;
  readonly rate_limit?: RateLimit;
  readonly provider_data?: ValueMap;
  readonly tool_calls?: readonly ToolCall[];
  /** Of the first call of a tool loop: the first message of its chain. */
  readonly rendered_user_prompt?: string;
  /** By which the agent goes on with this conversation later. */
  readonly session_id?: string;
}

export interface Usage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly cache_read_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly api_calls?: number;
}

export interface CostParts {
  readonly input?: number;
  readonly output?: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly total: number;
}

const FINISH_REASONS = ['stop', 'length', 'tool_use', 'error', 'content_filter', 'aborted'] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

export type AgentErrorCode =
  | 'rate_limit'
  | 'timeout'
  | 'server_error'
  | 'invalid_request'
  | 'auth_error'
  | 'content_filter'
  | 'context_length'
  | 'model_unavailable'
  /** Ours: the answer is not what `output` asks for. */
  | 'invalid_output';

export interface AgentError {
  readonly code: string;
  /** The name of the error where it arose. */
  readonly type: string;
  readonly message: string;
  readonly status_code?: number;
  /** Of a program that ended badly. */
  readonly exit_code?: number;
  readonly retryable: boolean;
}

export interface RateLimit {
  readonly limited: boolean;
  /** Seconds. */
  readonly retry_after?: number;
  readonly windows?: readonly RateLimitWindow[];
}

export interface RateLimitWindow {
  readonly name: string;
  readonly resource: string;
  readonly remaining?: number;
  readonly limit?: number;
  /** Seconds. */
  readonly resets_in?: number;
  /** Seconds since 1970. */
  readonly reset_at?: number;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A map; a text if the model wrote no JSON. */
  readonly arguments: Value;
}

/** In the form of OpenAI. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: ValueMap };
}

/** One of a chain, in the form of OpenAI. */
export type Message = ValueMap;

const FIELDS: ReadonlySet<string> = new Set([
  'output',
  'content',
  'raw',
  'usage',
  'cost',
  'metadata',
  'finish_reason',
  'error',
  'rate_limit',
  'provider_data',
  'tool_calls',
  'rendered_user_prompt',
]);

/** Whatever a function or a program gave, as a result: a text is its content, a map without fields of a result its output. */
export function resultOf(value: Value): AgentResult {
  if (value === undefined || value === null) return {};
  if (!isMap(value)) return { content: typeof value === 'string' ? value : JSON.stringify(value) };
  const { output, content, metadata, provider_data: provider, rendered_user_prompt: prompt } = value;
  const session = textIn(value['session_id']) ?? textIn(isMap(metadata) ? metadata['session_id'] : undefined);
  // A session alone makes no result: published machines read `output.session_id` beside `output.result`.
  if (!Object.keys(value).some((name) => FIELDS.has(name))) {
    return { output: value, ...(session === undefined ? {} : { session_id: session }) };
  }
  const usage = usageOf(value['usage']);
  const cost = costOf(value['cost']) ?? costOf(isMap(value['usage']) ? value['usage']['cost'] : undefined);
  const error = errorOf(value['error']);
  const limit = rateLimitOf(value['rate_limit']);
  const calls = isList(value['tool_calls']) ? value['tool_calls'].flatMap(toolCallOf) : [];
  const reason = FINISH_REASONS.find((one) => one === value['finish_reason']);
  const finish = reason ?? (error === undefined ? undefined : 'error');
  return {
    ...(isMap(output) ? { output } : {}),
    ...(textIn(content) === undefined ? {} : { content: content as string }),
    ...(usage === undefined ? {} : { usage }),
    ...(cost === undefined ? {} : { cost }),
    ...(isMap(metadata) ? { metadata } : {}),
    ...(finish === undefined ? {} : { finish_reason: finish }),
    ...(error === undefined ? {} : { error }),
    ...(limit === undefined ? {} : { rate_limit: limit }),
    ...(isMap(provider) ? { provider_data: provider } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(typeof prompt === 'string' ? { rendered_user_prompt: prompt } : {}),
    ...(session === undefined ? {} : { session_id: session }),
  };
}

/** What `output` of a state sees: the output, else the content, else nothing. */
export function payloadOf({ output, content }: AgentResult): ValueMap {
  return output ?? (content === undefined ? {} : { content });
}

export function totalCost({ cost }: AgentResult): number {
  return cost === undefined ? 0 : typeof cost === 'number' ? cost : cost.total;
}

const textIn = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined);

/** A count or an amount that makes sense; what an agent says is not believed blindly. */
const amountIn = (value: Value): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

const USAGE_FIELDS = [
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'api_calls',
] as const;

/** Usage with its names as they are published; calls have three. */
export function usageOf(value: Value): Usage | undefined {
  if (!isMap(value)) return undefined;
  const calls = amountIn(value['api_calls']) ?? amountIn(value['requests']) ?? amountIn(value['calls']);
  const named = { ...value, cache_read_tokens: value['cache_read_tokens'] ?? value['cached_input_tokens'] } as ValueMap;
  const entries = USAGE_FIELDS.flatMap((name) => {
    const amount = name === 'api_calls' ? calls : amountIn(named[name]);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return entries.length === 0 ? undefined : (mapOf(entries) as Usage);
}

function costOf(value: Value): number | CostParts | undefined {
  if (!isMap(value)) return amountIn(value);
  const parts = (['input', 'output', 'cache_read', 'cache_write'] as const).flatMap((name) => {
    const amount = amountIn(value[name]);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  // An agent may leave the sum to us.
  const total =
    amountIn(value['total']) ?? (parts.length === 0 ? undefined : parts.reduce((sum, [, one]) => sum + one, 0));
  return total === undefined ? undefined : { ...(mapOf(parts) as Partial<CostParts>), total };
}

function errorOf(value: Value): AgentError | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (!isMap(value)) {
    return { code: 'server_error', type: 'AgentError', message: textIn(value) ?? 'unknown', retryable: false };
  }
  const status = amountIn(value['status_code']);
  return {
    code: textIn(value['code']) ?? 'server_error',
    type: textIn(value['type']) ?? 'AgentError',
    message: textIn(value['message']) ?? 'unknown',
    ...(status === undefined ? {} : { status_code: status }),
    retryable: value['retryable'] === true,
  };
}

function rateLimitOf(value: Value): RateLimit | undefined {
  if (!isMap(value)) return undefined;
  const after = amountIn(value['retry_after']);
  const windows = isList(value['windows']) ? value['windows'].flatMap(windowOf) : [];
  return {
    limited: value['limited'] === true,
    ...(after === undefined ? {} : { retry_after: after }),
    ...(windows.length === 0 ? {} : { windows }),
  };
}

function windowOf(value: Value): readonly RateLimitWindow[] {
  if (!isMap(value)) return [];
  const resource = textIn(value['resource']) ?? 'requests';
  const amounts = (['remaining', 'limit', 'resets_in', 'reset_at'] as const).flatMap((name) => {
    const amount = amountIn(value[name]);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return [{ name: textIn(value['name']) ?? resource, resource, ...(mapOf(amounts) as Partial<RateLimitWindow>) }];
}

/** `{id, name, arguments}`, or the nested form of OpenAI. */
export function toolCallOf(value: Value): readonly ToolCall[] {
  if (!isMap(value)) return [];
  const inner = isMap(value['function']) ? value['function'] : value;
  const name = textIn(inner['name']) ?? textIn(inner['tool']);
  if (name === undefined) return [];
  return [{ id: textIn(value['id']) ?? '', name, arguments: argumentsOf(inner['arguments']) }];
}

function argumentsOf(value: Value): Value {
  if (typeof value !== 'string') return value ?? {};
  if (value.trim() === '') return {};
  try {
    return JSON.parse(value) as Value;
  } catch {
    return value;
  }
}
