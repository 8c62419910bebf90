/** Hooks that ask an HTTP endpoint. What does not answer as it should changes nothing. */
import { fault } from '../../core/errors.ts';
import { depthOf, MOST_DEPTH } from '../../flow/machine/text/depth.ts';
import type { Reach } from '../agents/chat-endpoint.ts';
import { reachOf } from '../agents/reach.ts';
import { exchange } from '../handlers/http/http-exchange.ts';
import type { MachineHooks } from './machine-hooks.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface WebhookOptions {
  /** The destinations that `--allow-http` names. Undefined: the address that the author of the machine wrote is reached, whatever it is. */
  readonly allow?: readonly string[] | undefined;
  /** A call that failed, and why. */
  readonly onFailure?: ((text: string) => void) | undefined;
}

const DEFAULT_TIMEOUT_SECONDS = 5;
const MOST_SECONDS = 3600;

/** `url` (also `endpoint`), `timeout` in seconds, `api_key`. */
export function webhookHooks(args: Fields, options: WebhookOptions = {}): MachineHooks {
  const webhook = new Webhook(args, options);
  const contextOf = (event: string, about: Fields, context: Fields): Promise<unknown> =>
    webhook.ask(event, { ...about, context }, ({ context: answer }) => (isMap(answer) ? answer : undefined));
  return {
    onMachineStart: (context) => contextOf('machine_start', {}, context),
    onMachineEnd: (context, output) => webhook.ask('machine_end', { context, output }, (answer) => answer['output']),
    onStateEnter: (state, context) => contextOf('state_enter', { state }, context),
    onStateExit: (state, context, output) =>
      webhook.ask('state_exit', { state, context, output }, (answer) => answer['output']),
    onTransition: (from, to, context) =>
      webhook.ask('transition', { from, to, context }, ({ to_state: to }) => name(to)),
    onError: (state, error, context) =>
      webhook.ask(
        'error',
        { state, error: error.message, error_type: error.name, context },
        ({ recovery_state: state }) => name(state),
      ),
    onAction: (...given: readonly unknown[]) => {
      const context = given.at(-1) as Fields;
      const [state, action] = given.length === 3 ? [given[0], given[1]] : [undefined, given[0]];
      return contextOf('action', state === undefined ? { action } : { state, action }, context);
    },
    onToolCalls: (state, calls, context) => contextOf('tool_calls', { state, tool_calls: calls }, context),
    onToolResult: (state, result, context) => contextOf('tool_result', { state, tool_result: result }, context),
    onAgentStreamEvent: (state, event) =>
      webhook.ask('agent_stream_event', { state, stream_event: event }, () => undefined),
  };
}

const name = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

class Webhook {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #reach: Reach;
  readonly #onFailure: (text: string) => void;

  constructor({ url, endpoint, timeout, api_key: key }: Fields, { allow, onFailure }: WebhookOptions) {
    this.#url = urlOf(url ?? endpoint);
    this.#headers = {
      'Content-Type': 'application/json',
      ...(typeof key === 'string' && key !== '' ? { Authorization: `Bearer ${key}` } : {}),
    };
    this.#timeoutMs = secondsOf(timeout) * 1000;
    this.#reach = reachOf(allow);
    this.#onFailure = onFailure ?? (() => {});
  }

  /** What the endpoint answers; undefined for nothing, and for whatever goes wrong. */
  async ask<T>(event: string, fields: Fields, answer: (body: Fields) => T | undefined): Promise<T | undefined> {
    try {
      const body = await this.#post(JSON.stringify({ event, ...fields }));
      return body === undefined ? undefined : answer(body);
    } catch (error) {
      this.#onFailure(
        `webhook ${this.#url.origin}, ${event}: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
  }

  async #post(body: string): Promise<Fields | undefined> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const addresses = await this.#reach(this.#url, signal);
    const response = await exchange({
      method: 'POST',
      url: this.#url,
      headers: this.#headers,
      body,
      addresses,
      signal,
    });
    if (response.status === 204) return undefined;
    // A redirect too: nobody but the author of the machine says where the context goes.
    if (response.status < 200 || response.status > 299) throw new Error(`it answered with status ${response.status}`);
    if (response.cut) throw new Error(`its answer is longer than ${response.body.length} bytes`);
    if (response.body.length === 0) return undefined;
    const answer: unknown = JSON.parse(response.body.toString('utf8'));
    if (depthOf(answer) > MOST_DEPTH) throw new Error(`its answer is nested more than ${MOST_DEPTH} deep`);
    if (!isMap(answer)) throw new Error('its answer is not a map');
    return answer;
  }
}

function urlOf(value: unknown): URL {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw fault(
    'INVALID_INPUT',
    { field: 'url', problem: 'webhook hooks need an http or https address' },
    { hint: 'Write: hooks: {name: webhook, args: {url: "https://…"}}.' },
  );
}

function secondsOf(value: unknown): number {
  const seconds = value === undefined || value === null ? DEFAULT_TIMEOUT_SECONDS : Number(value);
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds;
  throw fault('INVALID_INPUT', { field: 'timeout', problem: `expected seconds, at most ${MOST_SECONDS}` });
}
