/** What an endpoint answers: chat completions as one body or as a stream of pieces, and its errors. */
import { rateLimitOf } from '../../flow/agent/rate-limit.ts';
import {
  type AgentError,
  type AgentErrorCode,
  type AgentResult,
  type CostParts,
  type FinishReason,
  toolCallOf,
  type Usage,
} from '../../flow/agent/result.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { retryAfterMs } from '../handlers/http/http.ts';
import type { HttpResponse } from '../handlers/http/http-exchange.ts';
import type { Prices } from './model-settings.ts';

const FINISH: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries({
    stop: 'stop',
    end_turn: 'stop',
    length: 'length',
    max_tokens: 'length',
    tool_calls: 'tool_use',
    tool_use: 'tool_use',
    function_call: 'tool_use',
    content_filter: 'content_filter',
  }),
);

const textIn = (value: Value): string | undefined => (typeof value === 'string' ? value : undefined);

/** The result of a whole completion, or an error for what is none. */
export function completionResult(body: Value, prices: Prices | undefined): AgentResult {
  const choices = isMap(body) && isList(body['choices']) ? body['choices'] : [];
  const choice = choices.find(isMap);
  const message = isMap(choice?.['message']) ? choice['message'] : undefined;
  if (!isMap(body) || message === undefined) {
    const inner = errorIn(body);
    if (inner !== undefined) return failed({ ...errorOf(200, inner), retryable: true });
    return failed(garbage('it has no choices'));
  }
  const calls = isList(message['tool_calls']) ? message['tool_calls'].flatMap(toolCallOf) : [];
  const content = contentOf(message['content']) ?? textIn(message['refusal']);
  const finish = calls.length > 0 ? 'tool_use' : (FINISH.get(textIn(choice?.['finish_reason']) ?? '') ?? 'stop');
  const usage = usageIn(body['usage']);
  const cost = costIn(body['usage'], usage, prices);
  const { model, id } = body;
  return {
    ...(content === undefined ? {} : { content }),
    usage: { ...usage, api_calls: 1 },
    ...(cost === undefined ? {} : { cost }),
    finish_reason: finish,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    provider_data: {
      ...(typeof model === 'string' ? { model } : {}),
      ...(typeof id === 'string' ? { request_id: id } : {}),
    },
  };
}

/** A text, or parts of which some are texts. */
function contentOf(value: Value): string | undefined {
  if (!isList(value)) return textIn(value);
  return value.map((part) => (isMap(part) ? (textIn(part['text']) ?? '') : '')).join('');
}

function usageIn(value: Value): Usage {
  if (!isMap(value)) return {};
  const whole = (amount: Value): number | undefined =>
    typeof amount === 'number' && Number.isInteger(amount) && amount >= 0 ? amount : undefined;
  const details = isMap(value['prompt_tokens_details']) ? value['prompt_tokens_details'] : {};
  const cached = whole(details['cached_tokens']);
  const written = whole(details['cache_write_tokens'] ?? value['cache_creation_input_tokens']);
  const [input, output, total] = [value['prompt_tokens'], value['completion_tokens'], value['total_tokens']].map(whole);
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(input === undefined && output === undefined && total === undefined
      ? {}
      : { total_tokens: total ?? (input ?? 0) + (output ?? 0) }),
    ...(cached === undefined ? {} : { cache_read_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
  };
}

/** What the endpoint says, else what the prices say. */
function costIn(said: Value, usage: Usage, prices: Prices | undefined): CostParts | number | undefined {
  const own = isMap(said) ? said['cost'] : undefined;
  if (typeof own === 'number' && Number.isFinite(own) && own >= 0) return own;
  if (prices === undefined) return undefined;
  const {
    input_tokens: all = 0,
    output_tokens: out = 0,
    cache_read_tokens: read = 0,
    cache_write_tokens: write = 0,
  } = usage;
  const part = (tokens: number, price: number): number => (tokens * price) / 1_000_000;
  const parts = {
    input: part(Math.max(0, all - read - write), prices.input),
    output: part(out, prices.output),
    cache_read: part(read, prices.cacheRead),
    cache_write: part(write, prices.cacheWrite),
  };
  return { ...parts, total: parts.input + parts.output + parts.cache_read + parts.cache_write };
}

/** The pieces of a stream, put together to what one body would have been. */
export class CompletionPieces {
  readonly #texts: string[] = [];
  readonly #calls = new Map<number, { id: string; name: string; args: string[] }>();
  #finish: string | undefined;
  #usage: Value;
  #about: { model?: unknown; id?: unknown } = {};
  #error: ValueMap | undefined;

  take(piece: Value): void {
    if (!isMap(piece)) return;
    this.#error ??= errorIn(piece);
    if (isMap(piece['usage'])) this.#usage = piece['usage'];
    const { model, id } = piece;
    this.#about = { ...(model === undefined ? {} : { model }), ...(id === undefined ? {} : { id }) };
    const choice = (isList(piece['choices']) ? piece['choices'] : []).find(
      (one) => isMap(one) && (one['index'] ?? 0) === 0,
    );
    if (!isMap(choice)) return;
    this.#finish = textIn(choice['finish_reason']) ?? this.#finish;
    const delta = isMap(choice['delta']) ? choice['delta'] : {};
    const text = textIn(delta['content']);
    if (text !== undefined) this.#texts.push(text);
    for (const call of isList(delta['tool_calls']) ? delta['tool_calls'] : []) if (isMap(call)) this.#takeCall(call);
  }

  #takeCall(call: ValueMap): void {
    const place = typeof call['index'] === 'number' ? call['index'] : this.#calls.size;
    const held = this.#calls.get(place) ?? { id: '', name: '', args: [] };
    const inner = isMap(call['function']) ? call['function'] : {};
    held.id ||= textIn(call['id']) ?? '';
    held.name ||= textIn(inner['name']) ?? '';
    held.args.push(textIn(inner['arguments']) ?? '');
    this.#calls.set(place, held);
  }

  /** `isWhole`: the stream said that it had ended. One that breaks off is no answer. */
  result(isWhole: boolean, prices: Prices | undefined): AgentResult {
    if (this.#error !== undefined) return failed({ ...errorOf(200, this.#error), retryable: true });
    if (!isWhole && this.#finish === undefined) return failed(garbage('the stream broke off'));
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    const message = {
      content: this.#texts.length === 0 ? null : this.#texts.join(''),
      tool_calls: calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args.join('') } })),
    };
    const choice = { message, finish_reason: this.#finish };
    return completionResult({ ...this.#about, choices: [choice], usage: this.#usage }, prices);
  }
}

/** The result of an answer that is an error by its status. */
export function refusedResult(status: number, body: Value, headers: HttpResponse['headers'], now: number): AgentResult {
  const limit = rateLimitOf(headers, retryAfterOf(headers, now));
  const inner = errorIn(body) ?? {};
  return { ...failed(errorOf(status, inner)), ...(limit === undefined ? {} : { rate_limit: limit }) };
}

/** Seconds. */
export function retryAfterOf(headers: HttpResponse['headers'], now: number): number | undefined {
  const precise = headers['retry-after-ms'];
  if (typeof precise === 'string' && /^\d{1,9}$/.test(precise)) return Number(precise) / 1000;
  const ms = retryAfterMs(headers['retry-after'], now);
  return ms === undefined ? undefined : ms / 1000;
}

function errorIn(body: Value): ValueMap | undefined {
  if (!isMap(body)) return undefined;
  const { error } = body;
  if (isMap(error)) return error;
  return typeof error === 'string' ? { message: error } : undefined;
}

function errorOf(status: number, { message, code, type }: ValueMap): AgentError {
  const words = [code, type, message]
    .filter((one) => typeof one === 'string')
    .join(' ')
    .toLowerCase();
  const [known, retryable] = codeOf(status, words);
  return {
    code: known,
    type: textIn(type) ?? textIn(code) ?? 'HttpError',
    message: (textIn(message) ?? `the endpoint answered with status ${status}`).slice(0, 2000),
    ...(status === 200 ? {} : { status_code: status }),
    retryable,
  };
}

function codeOf(status: number, words: string): readonly [AgentErrorCode, boolean] {
  // Nothing is left to spend: waiting does not help.
  if (words.includes('insufficient_quota')) return ['rate_limit', false];
  if (status === 429 || words.includes('rate_limit')) return ['rate_limit', true];
  if (status === 401 || status === 403) return ['auth_error', false];
  if (/context.?length|maximum context/.test(words)) return ['context_length', false];
  if (/content.?(?:filter|policy)/.test(words)) return ['content_filter', false];
  if (status === 404 || /model.?not.?found/.test(words)) return ['model_unavailable', false];
  if (status === 408 || status === 504) return ['timeout', true];
  if (status === 503 || status === 529) return ['model_unavailable', true];
  return status >= 500 || status === 200 ? ['server_error', true] : ['invalid_request', false];
}

export const garbage = (what: string): AgentError => ({
  code: 'server_error',
  type: 'InvalidResponse',
  message: `the answer of the endpoint is no chat completion: ${what}`,
  retryable: true,
});

const failed = (error: AgentError): AgentResult => ({ error, finish_reason: 'error' });
