/** MCP servers of an agent: `mcp` of its prompt. */
import { isList, isMap, type Value } from '../expression/values.ts';
import { Fields } from '../machine/fields.ts';
import type { Problems } from '../machine/problems.ts';
import type { Template } from '../template/template.ts';

export interface McpServer {
  readonly name: string;
  /** A program that speaks on stdin and stdout, with its arguments. Empty: it has an address. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Ours: names of variables that are handed on. */
  readonly passEnv: readonly string[];
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Ours: the variable whose value is the bearer token. */
  readonly tokenEnv: string | undefined;
  /** Of a connection, and of each request; undefined: as long as the state allows. */
  readonly timeoutMs: number | undefined;
}

export interface McpConfig {
  readonly servers: readonly McpServer[];
  /** Undefined: all. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  /** Renders `tools_prompt`; it sees `tools`. */
  readonly prompt: Template | undefined;
}

const FIELDS = new Set(['servers', 'tool_filter', 'tool_prompt']);
const SERVER_FIELDS = new Set([
  'command',
  'args',
  'env',
  'pass_env',
  'cwd',
  'working_dir',
  'server_url',
  'url',
  'headers',
  'token_env',
  'timeout',
  'type',
  'transport',
  'description',
]);

export function readMcp(
  fields: Fields,
  problems: Problems,
  template: (fields: Fields, name: string) => Template | undefined,
): McpConfig | undefined {
  const value = fields.value('mcp');
  if (value === undefined) return undefined;
  const path = fields.pathOf('mcp');
  if (!isMap(value)) {
    problems.error(path, 'expected a map with "servers"');
    return undefined;
  }
  const inner = new Fields(value, path, problems);
  inner.known(FIELDS);
  const filter = new Fields(inner.map('tool_filter'), inner.pathOf('tool_filter'), problems);
  filter.known(new Set(['allow', 'deny']));
  const allow = filter.texts('allow');
  const servers = Object.entries(inner.map('servers')).flatMap(
    ([name, one]) => readServer(name, one, [...inner.pathOf('servers'), name], problems) ?? [],
  );
  if (servers.length === 0) problems.warning(inner.pathOf('servers'), 'there is no server');
  return {
    servers,
    allow: allow.length === 0 ? undefined : allow,
    deny: filter.texts('deny'),
    prompt: template(inner, 'tool_prompt'),
  };
}

function readServer(
  name: string,
  value: Value,
  path: readonly (string | number)[],
  problems: Problems,
): McpServer | undefined {
  if (!isMap(value)) {
    problems.error(path, 'expected a map with "command" or "server_url"');
    return undefined;
  }
  const fields = new Fields(value, path, problems);
  fields.known(SERVER_FIELDS);
  const command = [...fields.texts('command'), ...words(fields, 'args', problems)];
  const given = fields.name('server_url') ?? fields.name('url');
  if ((command.length === 0) === (given === undefined)) {
    problems.error(path, 'a server has either "command", a program, or "server_url", an address');
    return undefined;
  }
  if (given !== undefined && !/^https?:\/\//.test(given)) {
    problems.error([...path, 'server_url'], 'expected an address that begins with http:// or https://');
    return undefined;
  }
  const timeout = fields.number('timeout');
  return {
    name,
    command,
    env: textMap(fields, 'env', problems),
    passEnv: fields.texts('pass_env'),
    cwd: fields.name('cwd') ?? fields.name('working_dir'),
    url: given,
    headers: textMap(fields, 'headers', problems),
    tokenEnv: fields.name('token_env'),
    timeoutMs: timeout === undefined || timeout <= 0 ? undefined : timeout * 1000,
  };
}

/** Numbers are words too: `args: [--port, 8080]`. */
function words(fields: Fields, name: string, problems: Problems): readonly string[] {
  const value = fields.value(name);
  if (value === undefined) return [];
  if (isList(value) && value.every((one) => typeof one === 'string' || typeof one === 'number'))
    return value.map(String);
  problems.error(fields.pathOf(name), 'expected a list of words');
  return [];
}

function textMap(fields: Fields, name: string, problems: Problems): Readonly<Record<string, string>> {
  const entries = Object.entries(fields.map(name)).flatMap(([key, one]) => {
    if (['string', 'number', 'boolean'].includes(typeof one)) return [[key, String(one)] as const];
    if (one !== null) problems.error([...fields.pathOf(name), key], 'expected a text');
    return [];
  });
  return Object.fromEntries(entries);
}

/** Whether the agent may have a tool: `server:tool`, `server:*`, any `*`, or the name of a tool of any server. Deny goes first. */
export function passesFilter(
  { allow, deny }: Pick<McpConfig, 'allow' | 'deny'>,
  server: string,
  tool: string,
): boolean {
  const matches = (pattern: string): boolean => {
    const name = pattern.includes(':') ? `${server}:${tool}` : tool;
    return matchesGlob(name, pattern);
  };
  if (deny.some(matches)) return false;
  return allow === undefined || allow.some(matches);
}

/** Without a regular expression: the file may come from anybody. */
function matchesGlob(name: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const [i, part] of rest.entries()) {
    const isLast = i === rest.length - 1;
    const found = isLast ? name.length - part.length : name.indexOf(part, at);
    if (found < at || !name.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return true;
}
