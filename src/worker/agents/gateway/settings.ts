import { fault } from '../../../core/errors.ts';
import { isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';

/** Where a gateway is, who asks, and what it is asked besides the prompt. */
export interface GatewaySettings {
  /** Ends with a slash. */
  readonly base: URL;
  readonly token: string | undefined;
  readonly userId: string;
  readonly workspace: string | undefined;
  readonly maxIterations: number | undefined;
  readonly forceComplex: boolean;
  readonly metadata: ValueMap;
  readonly timeoutMs: number;
  /** Asked in place of the prompt when a request was cut off: the session knows what it was about. */
  readonly resumePrompt: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A kind of gateway: what its settings may have, and the variables that it reads unless one is named. */
export interface GatewayKind {
  readonly name: string;
  readonly known: readonly string[];
  readonly tokens: readonly string[];
}

const KNOWN = [
  'url',
  'base_url',
  'token_env',
  'user_id',
  'workspace_dir',
  'max_iterations',
  'force_complex',
  'metadata',
  'timeout',
  'session',
  'type',
  'name',
  'resume_prompt',
];
/** The variables are those that the gateway itself reads. */
export const UNIVERSAL_AGENT: GatewayKind = {
  name: 'a gateway',
  known: KNOWN,
  tokens: ['UA_INTERNAL_API_TOKEN', 'UA_OPS_TOKEN'],
};
const TIMEOUT_MS = 3_600_000;
const MOST_ITERATIONS = 10_000;

/** Throws `INVALID_INPUT` for settings that lead nowhere. `sendable`: variables that may go to any address; undefined: all of them. */
export function gatewaySettings(
  config: ValueMap,
  agent: string,
  environment: Environment,
  sendable: ReadonlySet<string> | undefined,
  { name: kind, known, tokens }: GatewayKind = UNIVERSAL_AGENT,
): GatewaySettings {
  const wrong = (problem: string, hint: string): Error =>
    fault('INVALID_INPUT', { field: `agent ${agent}`, problem }, { hint });
  const unknown = Object.keys(config).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw wrong(`${kind} has no setting ${JSON.stringify(unknown.slice(0, 80))}`, `There are: ${known.join(', ')}.`);
  }
  const text = (name: string): string | undefined => {
    const value = config[name] ?? undefined;
    if (value === undefined || (typeof value === 'string' && value !== '' && value.length <= 1_000)) return value;
    throw wrong(`its ${name} is not a text of up to 1000 characters`, `Give ${name} a text, or leave it out.`);
  };
  const number = (name: string, most: number): number | undefined => {
    const value = config[name] ?? undefined;
    if (value === undefined || (typeof value === 'number' && value > 0 && value <= most)) return value;
    throw wrong(`its ${name} is not a number from 1 to ${most}`, `Give ${name} such a number, or leave it out.`);
  };
  const base = baseOf(text('url') ?? text('base_url'));
  if (base === undefined) {
    throw wrong('its url is not an http address without a password', 'Write it like https://host:8002.');
  }
  const variable = text('token_env');
  if (variable !== undefined && sendable?.has(variable) === false) {
    throw wrong(
      `this worker does not send the variable ${variable} to ${base.host}`,
      `Start it with --allow-env ${variable}, or let machines({ env: ["${variable}"] }) run it.`,
    );
  }
  const token = tokenOf(
    variable === undefined ? tokens.filter((name) => sendable?.has(name) !== false) : [variable],
    environment,
  );
  if (variable !== undefined && token === undefined) {
    throw wrong(`the variable ${variable}, which it names, is not set`, `Set ${variable}.`);
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw wrong('its token has characters that a header cannot carry', 'Check the variable that holds it.');
  }
  const most = number('max_iterations', MOST_ITERATIONS);
  const seconds = number('timeout', 7 * 24 * 3_600);
  const metadata = config['metadata'] ?? {};
  if (!isMap(metadata as Value)) throw wrong('its metadata is not a map', 'Give metadata a map, or leave it out.');
  return {
    base,
    token,
    userId: text('user_id') ?? 'leasehold',
    workspace: text('workspace_dir'),
    maxIterations: most === undefined ? undefined : Math.floor(most),
    forceComplex: config['force_complex'] === true,
    metadata: metadata as ValueMap,
    resumePrompt: text('resume_prompt'),
    timeoutMs: seconds === undefined ? TIMEOUT_MS : seconds * 1_000,
  };
}

function baseOf(address: string | undefined): URL | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  url.search = '';
  url.hash = '';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/`;
  return url;
}

function tokenOf(names: readonly string[], environment: Environment): string | undefined {
  return names.map((name) => environment[name]?.trim()).find((value) => value !== undefined && value !== '');
}
