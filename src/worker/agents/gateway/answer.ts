/** What a gateway has said of one request, event by event. A gateway may be broken or hostile: nothing is believed to be of a form. */
import type { AgentError, AgentResult } from '../../../flow/agent/result.ts';
import { isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';

/** The answer goes into a context, and from there into prompts. */
const MOST_TEXT = 4 * 1024 * 1024;
const MOST_CALLS = 1_000;
const MOST_PRODUCTS = 100;
const MOST_WORDS = 2_000;

/** Whoever waits for a person waits in vain: nobody sits at this end. */
const ASKS_A_PERSON: ReadonlySet<unknown> = new Set(['input_required', 'auth_required']);

/** How far a request has come. */
export interface GatewayFacts {
  readonly iterations: number;
  readonly calls: number;
  readonly tokens: number;
}

/** How far a request had come when it was cut off, and whether that is counted by now. */
export interface GatewayBefore extends GatewayFacts {
  readonly isCounted: boolean;
}

export class GatewayAnswer {
  readonly #most: number | undefined;
  #counted: Pick<GatewayFacts, 'iterations' | 'tokens'> = { iterations: 0, tokens: 0 };
  readonly #texts: string[] = [];
  #length = 0;
  #calls = 0;
  #iterations = 0;
  #tokens = 0;
  readonly #products: Value[] = [];
  #facts: ValueMap = {};

  /** `most`: so many iterations at most, with those of a request that was cut off. */
  constructor(most: number | undefined, before?: GatewayBefore) {
    this.#most = most;
    this.#calls = before?.calls ?? 0;
    this.#iterations = before?.iterations ?? 0;
    this.#tokens = before?.tokens ?? 0;
    if (before?.isCounted === true) this.#counted = before;
  }

  get facts(): GatewayFacts {
    return { iterations: this.#iterations, calls: this.#calls, tokens: this.#tokens };
  }

  /** Undefined: more will come. An error ends the request. */
  take(event: ValueMap): 'complete' | AgentError | undefined {
    const { type } = event;
    const data = isMap(event['data']) ? event['data'] : event;
    if (ASKS_A_PERSON.has(type)) {
      return broken('InputRequired', `it asks a person: ${wordsOf(data) || String(type)}`, false);
    }
    switch (type) {
      case 'text':
        return this.#text(textOf(data));
      case 'tool_call':
        if (++this.#calls <= MOST_CALLS) return undefined;
        return broken('ToolCalls', `it made more than ${MOST_CALLS} tool calls`, false);
      case 'iteration_end':
        return this.#iteration(data);
      case 'work_product':
        if (this.#products.length < MOST_PRODUCTS) this.#products.push(withoutBody(data));
        return undefined;
      case 'query_complete':
        this.#facts = isMap(event['data']) ? event['data'] : {};
        return 'complete';
      case 'error':
        // One that the gateway recovers from is only told.
        return data['recoverable'] === true ? undefined : broken(codeOf(data), wordsOf(data) || 'it failed', true);
      default:
        return undefined;
    }
  }

  /** After `query_complete`. */
  result(session: string): AgentResult {
    const own = this.#facts['response_text'];
    const content = typeof own === 'string' && this.#length === 0 ? own.slice(0, MOST_TEXT) : this.#texts.join('');
    const metadata = {
      tool_calls: this.#calls,
      iterations: this.#iterations,
      ...(this.#products.length === 0 ? {} : { work_products: this.#products }),
      ...factsOf(this.#facts),
    };
    return { content, metadata, session_id: session, finish_reason: 'stop', ...this.spent };
  }

  /** Also of a request that failed. */
  get spent(): Pick<AgentResult, 'usage'> {
    const { iterations, tokens } = this.#counted;
    return { usage: { total_tokens: this.#tokens - tokens, api_calls: Math.max(1, this.#iterations - iterations) } };
  }

  #text(text: string): AgentError | undefined {
    this.#length += text.length;
    if (this.#length > MOST_TEXT) return broken('TooLong', `its answer has more than ${MOST_TEXT} characters`, false);
    this.#texts.push(text);
    return undefined;
  }

  #iteration(data: ValueMap): AgentError | undefined {
    this.#iterations++;
    const { tokens_used: tokens } = data;
    if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0) {
      this.#tokens = Math.min(this.#tokens + tokens, Number.MAX_SAFE_INTEGER);
    }
    if (this.#most === undefined || this.#iterations <= this.#most) return undefined;
    return broken('MaxIterations', `it went on after max_iterations ${this.#most}`, false);
  }
}

export const broken = (type: string, message: string, retryable: boolean): AgentError => ({
  code: 'server_error',
  type,
  message: `the gateway: ${message}`.slice(0, MOST_WORDS),
  retryable,
});

function textOf(data: ValueMap): string {
  const found = [data['text'], data['content'], data['message']].find((one) => typeof one === 'string');
  return typeof found === 'string' ? found : '';
}

function wordsOf(data: ValueMap): string {
  const found = ['message', 'error', 'detail', 'prompt']
    .map((name) => data[name])
    .filter((one) => typeof one === 'string');
  return [...new Set(found)].join(': ').slice(0, MOST_WORDS);
}

function codeOf({ code }: ValueMap): string {
  return typeof code === 'string' && /^[\w.-]{1,80}$/.test(code) ? code : 'GatewayError';
}

/** Where it is, not what is in it. */
function withoutBody(product: ValueMap): ValueMap {
  const rest = Object.fromEntries(Object.entries(product).filter(([name]) => name !== 'content'));
  return JSON.stringify(rest).length > MOST_WORDS ? {} : rest;
}

const FACTS = ['trace_id', 'execution_time', 'code_execution_used'] as const;

function factsOf(facts: ValueMap): ValueMap {
  const known = FACTS.map((name) => [name, facts[name]] as const).filter(
    ([, value]) =>
      typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length < 200),
  );
  return Object.fromEntries(known);
}
