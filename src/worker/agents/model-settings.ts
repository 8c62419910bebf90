/** Where the model of an agent is: address, key, name and parameters, from its profile and the environment. */
import { fault } from '../../core/errors.ts';
import { isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';

export interface ModelSettings {
  /** Of the chat completions. */
  readonly url: URL;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: boolean;
  readonly timeoutMs: number;
  /** Sent as they are, with the name of the model. */
  readonly parameters: ValueMap;
  /** `json_schema` sends the whole schema; most endpoints know `json_object` only. */
  readonly responseFormat: 'json_object' | 'json_schema' | 'none';
  /** Money for a million tokens; undefined: nobody knows. */
  readonly prices: Prices | undefined;
  readonly provider: string | undefined;
}

export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Endpoints that speak the protocol of OpenAI, by the names that profiles use for them. */
const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  fireworks: 'https://api.fireworks.ai/inference/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  groq: 'https://api.groq.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  ollama: 'http://127.0.0.1:11434/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  together: 'https://api.together.xyz/v1',
  xai: 'https://api.x.ai/v1',
};

/** Settings of ours, or of other programs: no endpoint gets them. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'name',
  'provider',
  'base_url',
  'stream',
  'backend',
  'api',
  'oauth',
  'auth',
  'profile',
  'type',
  'description',
  'api_key',
  'api_key_env',
  'headers',
  'timeout',
  'prices',
  'session',
  'response_format',
  'api_base',
]);
const TIMEOUT_MS = 600_000;

/**
 * Throws `INVALID_INPUT` for a profile that leads nowhere. `sendable`: variables that may go to any address, because whoever starts a run on a
 * worker names both; the key of a provider may go to that provider besides. Undefined: all of them.
 */
export function modelSettings(
  config: ValueMap,
  agent: string,
  environment: Environment,
  sendable?: ReadonlySet<string>,
): ModelSettings {
  const full = typeof config['name'] === 'string' ? config['name'] : '';
  const slash = full.indexOf('/');
  const prefix = slash > 0 ? full.slice(0, slash) : undefined;
  // `provider/model` in one word, as other programs write it.
  const isPrefixed = config['provider'] === undefined && prefix !== undefined && Object.hasOwn(PROVIDERS, prefix);
  const provider = typeof config['provider'] === 'string' ? config['provider'] : isPrefixed ? prefix : undefined;
  const name = isPrefixed || (provider !== undefined && prefix === provider) ? full.slice(slash + 1) : full;
  if (name === '')
    throw wrong(agent, 'its model has no name', 'Give the agent "model: {name: …}", or a profile with one.');
  const parameters = Object.entries(config).filter(([key, value]) => !NOT_SENT.has(key) && value !== null);
  const timeout = config['timeout'];
  const format = config['response_format'];
  const url = urlOf(config, provider, agent, environment);
  const isOwn = ownAddresses(provider, environment).some(
    (own) => URL.canParse(own) && new URL(own).origin === url.origin,
  );
  const mayGo = (variable: string): boolean =>
    sendable === undefined || sendable.has(variable) || (isOwn && variable === usualKey(provider));
  return {
    url,
    key: keyOf(config, { provider, agent, environment, url, mayGo }),
    headers: headersOf(config['headers']),
    stream: config['stream'] === true,
    timeoutMs: typeof timeout === 'number' && timeout > 0 ? timeout * 1000 : TIMEOUT_MS,
    parameters: { model: name, ...Object.fromEntries(parameters) },
    responseFormat: format === 'json_schema' || format === 'none' ? format : 'json_object',
    prices: pricesOf(config['prices']),
    provider,
  };
}

function urlOf(config: ValueMap, provider: string | undefined, agent: string, environment: Environment): URL {
  const isOpenAi = provider === undefined || provider === 'openai';
  const given =
    config['base_url'] ?? config['api_base'] ?? (isOpenAi ? environment['OPENAI_BASE_URL'] || undefined : undefined);
  const known = provider ?? 'openai';
  const base = typeof given === 'string' ? given : Object.hasOwn(PROVIDERS, known) ? PROVIDERS[known] : undefined;
  if (base === undefined) {
    throw wrong(agent, `nothing is known of the provider "${provider}"`, 'Give its profile a base_url.');
  }
  const url = URL.canParse(base) ? new URL(base) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw wrong(agent, `its base_url is not an http address without a password`, 'Write it like https://host/v1.');
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`;
  return url;
}

/** Where the key of a provider belongs. Without a provider it is that of OpenAI, which the environment may have elsewhere. */
function ownAddresses(provider: string | undefined, environment: Environment): readonly string[] {
  const known = provider ?? 'openai';
  const address = Object.hasOwn(PROVIDERS, known) ? [PROVIDERS[known] as string] : [];
  return known === 'openai' ? [...address, environment['OPENAI_BASE_URL'] ?? ''] : address;
}

interface KeyPlace {
  readonly provider: string | undefined;
  readonly agent: string;
  readonly environment: Environment;
  readonly url: URL;
  readonly mayGo: (variable: string) => boolean;
}

/** The variable that the profile names, else that of the provider. An address without a provider gets the key of OpenAI. */
function keyOf(config: ValueMap, { provider, agent, environment, url, mayGo }: KeyPlace): string | undefined {
  const { api_key: key, api_key_env: variable } = config;
  if (typeof variable === 'string') {
    if (!mayGo(variable)) throw unsendable(agent, variable, url);
    const value = environment[variable];
    if (value !== undefined && value !== '') return checkedKey(value, agent);
    throw wrong(agent, `the variable ${variable}, which its profile names, is not set`, `Set ${variable}.`);
  }
  if (typeof key === 'string' && key !== '') return checkedKey(key, agent);
  const usual = usualKey(provider);
  const value = mayGo(usual) ? environment[usual] : undefined;
  return value === undefined || value === '' ? undefined : checkedKey(value, agent);
}

const usualKey = (provider = 'openai'): string => `${provider.toUpperCase().replace(/\W/g, '_')}_API_KEY`;

const unsendable = (agent: string, variable: string, { host }: URL): Error =>
  wrong(
    agent,
    `this worker does not send the variable ${variable} to ${host}`,
    `Start it with --allow-env ${variable}, or let machines({ env: ["${variable}"] }) run it.`,
  );

/** A key with a line break in it would end the header. */
function checkedKey(key: string, agent: string): string {
  const trimmed = key.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw wrong(agent, 'its key has characters that a header cannot carry', 'Check the variable that holds it.');
}

function headersOf(value: Value): Readonly<Record<string, string>> {
  const entries = Object.entries(isMap(value) ? value : {}).filter(
    ([name, text]) => /^[\w-]+$/.test(name) && typeof text === 'string' && /^[\t\x20-\x7e]*$/.test(text),
  );
  const reserved = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'expect']);
  return Object.fromEntries(entries.filter(([name]) => !reserved.has(name.toLowerCase()))) as Record<string, string>;
}

function pricesOf(value: Value): Prices | undefined {
  if (!isMap(value)) return undefined;
  const price = (name: string, otherwise = 0): number => {
    const amount = value[name];
    return typeof amount === 'number' && amount >= 0 ? amount : otherwise;
  };
  const input = price('input');
  return {
    input,
    output: price('output'),
    cacheRead: price('cache_read', input),
    cacheWrite: price('cache_write', input),
  };
}

const wrong = (agent: string, problem: string, hint: string): Error =>
  fault('INVALID_INPUT', { field: `agent ${agent}`, problem }, { hint });
