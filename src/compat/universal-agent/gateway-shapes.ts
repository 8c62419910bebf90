/** Requests and results of gateways, in both of the shapes that programs know. */
import { isMap, type ValueMap } from '../../app/library/gateways.ts';
import { refuse } from '../refuse.ts';
import { eitherOf } from '../spellings.ts';

export interface GatewaySession {
  readonly session_id: string;
  readonly user_id: string;
  readonly workspace_dir: string;
  readonly metadata: ValueMap;
}

export interface GatewayEvent {
  readonly type: string;
  readonly data?: ValueMap;
}

export interface GatewayRequestFields {
  readonly user_input?: string;
  readonly userInput?: string;
  readonly force_complex?: boolean;
  readonly forceComplex?: boolean;
  readonly metadata?: ValueMap;
  readonly context?: ValueMap | null;
  readonly max_iterations?: number | null;
  readonly maxIterations?: number | null;
  readonly stream?: boolean;
}

/** `{user_input, force_complex, metadata}`, or `{user_input, context, max_iterations, stream}`. */
export class GatewayRequest {
  readonly user_input: string;
  readonly force_complex: boolean;
  readonly metadata: ValueMap;
  readonly context: ValueMap | null;
  readonly max_iterations: number | null;
  readonly stream: boolean;

  constructor(fields: GatewayRequestFields) {
    const input = eitherOf(['user_input', fields.user_input], ['userInput', fields.userInput]);
    if (typeof input !== 'string' || input === '') throw refuse('user_input', 'it is what the agent is asked');
    const most = eitherOf(['max_iterations', fields.max_iterations], ['maxIterations', fields.maxIterations]);
    if (most !== undefined && !(Number.isSafeInteger(most) && most > 0)) {
      throw refuse('max_iterations', 'it is a whole number from 1');
    }
    this.user_input = input;
    this.force_complex =
      eitherOf(['force_complex', fields.force_complex], ['forceComplex', fields.forceComplex]) ?? false;
    this.metadata = fields.metadata ?? {};
    this.context = fields.context ?? null;
    this.max_iterations = most ?? null;
    this.stream = fields.stream ?? true;
  }
}

/** `{response_text, tool_calls, execution_time, …}` and `{session_id, success, output, error, events}` in one. */
export interface GatewayResult {
  readonly session_id: string;
  readonly success: boolean;
  readonly response_text: string;
  /** The same text. */
  readonly output: string;
  /** How many there were. */
  readonly tool_calls: number;
  readonly execution_time: number;
  readonly code_execution_used: boolean;
  readonly trace_id: string | null;
  readonly metadata: ValueMap;
  readonly error: string | null;
  /** The first 1,000 of them. */
  readonly events: readonly GatewayEvent[];
}

const MOST_EVENTS = 1_000;
const MOST_TEXT = 4 * 1024 * 1024;

/** Puts events together to what they come to. */
export class ResultOfEvents {
  readonly #session: string;
  readonly #began = performance.now();
  readonly #events: GatewayEvent[] = [];
  readonly #texts: string[] = [];
  #length = 0;
  #calls = 0;
  #facts: ValueMap = {};
  #isDone = false;
  #error: string | undefined;

  constructor(session: string) {
    this.#session = session;
  }

  take(event: GatewayEvent): void {
    if (this.#events.length < MOST_EVENTS) this.#events.push(event);
    const data = isMap(event.data) ? event.data : {};
    if (event.type === 'text') {
      const text = [data['text'], data['content']].find((one) => typeof one === 'string');
      if (typeof text !== 'string' || this.#length + text.length > MOST_TEXT) return;
      this.#length += text.length;
      this.#texts.push(text);
    } else if (event.type === 'tool_call') this.#calls++;
    else if (event.type === 'error' && data['recoverable'] !== true) this.fail(wordsOf(data));
    else if (event.type === 'query_complete') {
      this.#isDone = true;
      this.#facts = data;
      if (data['success'] === false) this.fail(wordsOf(data));
    }
  }

  fail(why: string): void {
    this.#error ??= why;
  }

  /** A stream that ends before it says that it is done is an error. */
  end(): GatewayResult {
    const facts = this.#facts;
    const said = [facts['response_text'], facts['output']].find((one) => typeof one === 'string');
    const text = this.#length === 0 && typeof said === 'string' ? said : this.#texts.join('');
    const { tool_calls: calls, execution_time: seconds, trace_id: trace } = facts;
    const error = this.#error ?? (this.#isDone ? undefined : 'it ended before the request was done');
    return {
      session_id: this.#session,
      success: error === undefined,
      response_text: text,
      output: text,
      tool_calls: typeof calls === 'number' ? calls : Array.isArray(calls) ? calls.length : this.#calls,
      execution_time: typeof seconds === 'number' ? seconds : (performance.now() - this.#began) / 1_000,
      code_execution_used: facts['code_execution_used'] === true,
      trace_id: typeof trace === 'string' ? trace : null,
      metadata: isMap(facts['metadata']) ? facts['metadata'] : {},
      error: error ?? null,
      events: this.#events,
    };
  }
}

function wordsOf(data: ValueMap): string {
  const found = ['message', 'error', 'detail'].map((name) => data[name]).filter((one) => typeof one === 'string');
  return found.join(': ') || 'it failed';
}
