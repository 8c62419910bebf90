/** Connections to MCP servers, and what their tools give. The client is loaded with the first of them. */
import { resolve } from 'node:path';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import type { McpServer } from '../../../flow/agent/mcp.ts';
import { Secrets } from '../../../flow/agent/secrets.ts';
import { isList, isMap, type Value, type ValueMap } from '../../../flow/expression/values.ts';
import { handedOn } from '../../handlers/shell.ts';
import type { Held } from '../../machine/run-scope.ts';
import type { Reach } from '../chat-endpoint.ts';
import type { ToolResult } from '../tool-result.ts';
import { reachingFetch } from './reaching-fetch.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface McpSurroundings {
  /** Where programs of this agent run; false: none are started. */
  readonly folder: string | false;
  readonly environment: () => Readonly<Record<string, string | undefined>>;
  /** Variables that may go to any address. Undefined: all of them. */
  readonly sendable?: ReadonlySet<string> | undefined;
  readonly reach: Reach;
}

export interface McpTool {
  readonly name: string;
  readonly description: string | undefined;
  /** A JSON schema. */
  readonly parameters: ValueMap;
  /** It says that it changes nothing, or nothing more when it is called again. */
  readonly isRepeatable: boolean;
}

export interface McpConnection extends Held {
  readonly tools: readonly McpTool[];
  call(tool: string, args: ValueMap, signal: AbortSignal): Promise<ToolResult>;
}

/** A connection of which nobody knows how long it takes. */
const CONNECT_MS = 60_000;
/** More than this no timer can say. */
const LONG_MS = 2 ** 31 - 1;
const MOST_TOOLS = 500;
const MOST_DEFINITIONS = 1024 * 1024;
const GOODBYE_MS = 1000;

/** Rejects with an `Error` that says which server, and why. */
export async function connectMcp(
  server: McpServer,
  around: McpSurroundings,
  signal: AbortSignal,
): Promise<McpConnection> {
  const { transport, secrets, said } = transportOf(server, around);
  const client = new Client({ name: 'leasehold', version: '1' });
  try {
    const timeout = server.timeoutMs ?? CONNECT_MS;
    await client.connect(transport, { signal, timeout });
    const connection = new Connection(server, client, transport, secrets);
    connection.tools = await toolsOf(client, { signal, timeout });
    return connection;
  } catch (error) {
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    signal.throwIfAborted();
    const words = said?.() ?? '';
    const why = `${error instanceof Error ? error.message : String(error)}${words === '' ? '' : `: ${words.slice(-1000)}`}`;
    throw new Error(`the MCP server "${server.name}" cannot be used: ${secrets.hide(why)}`, { cause: error });
  }
}

function transportOf(
  { name, command, cwd, env, passEnv, url, headers, tokenEnv }: McpServer,
  { folder, environment, sendable, reach }: McpSurroundings,
): { readonly transport: Transport; readonly secrets: Secrets; readonly said?: () => string } {
  const variables = environment();
  if (url === undefined) {
    if (folder === false)
      throw new Error(`the MCP server "${name}" is a program, and this worker starts none (see --allow shell)`);
    const named = passEnv.map((variable) => [variable, variables[variable]] as const);
    const all = [...Object.entries(handedOn(variables)), ...named, ...Object.entries(env)];
    const own = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
    const transport = new StdioTransport({ argv: command, cwd: resolve(folder, cwd ?? '.'), env: own });
    return { transport, secrets: new Secrets([]), said: () => transport.said };
  }
  if (tokenEnv !== undefined && sendable?.has(tokenEnv) === false)
    throw new Error(`this worker does not send the variable ${tokenEnv} (see --allow-env)`);
  const token = tokenEnv === undefined ? undefined : variables[tokenEnv];
  if (tokenEnv !== undefined && token === undefined) throw new Error(`the variable ${tokenEnv} is not set`);
  const all = { ...headers, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
  return {
    // A server may say back what it was sent, and errors go into logs.
    secrets: new Secrets([...Object.values(headers), token]),
    transport: new StreamableHTTPClientTransport(new URL(url), {
      fetch: reachingFetch(reach),
      requestInit: { headers: all },
    }),
  };
}

class Connection implements McpConnection {
  tools: readonly McpTool[] = [];
  readonly #server: McpServer;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #secrets: Secrets;
  #isGone = false;

  constructor(server: McpServer, client: Client, transport: Transport, secrets: Secrets) {
    this.#server = server;
    this.#client = client;
    this.#transport = transport;
    this.#secrets = secrets;
    client.onclose = () => {
      this.#isGone = true;
    };
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  async call(tool: string, args: ValueMap, signal: AbortSignal): Promise<ToolResult> {
    const timeout = this.#server.timeoutMs ?? LONG_MS;
    try {
      const result = await this.#client.callTool({ name: tool, arguments: { ...args } }, { signal, timeout });
      return { content: textOf(result as ValueMap), isError: result.isError === true };
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(this.#secrets.hide(error instanceof Error ? error.message : String(error)), { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#isGone = true;
    const transport = this.#transport;
    if (transport instanceof StreamableHTTPClientTransport) {
      const late = new Promise((go) => setTimeout(go, GOODBYE_MS).unref());
      await Promise.race([transport.terminateSession().catch(() => {}), late]);
    }
    await this.#client.close().catch(() => {});
    // The client does not wait for a program to end.
    await transport.close().catch(() => {});
  }
}

async function toolsOf(
  client: Client,
  options: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<readonly McpTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { tools } = await client.listTools(undefined, options);
  if (tools.length > MOST_TOOLS) throw new Error(`it has more than ${MOST_TOOLS} tools: name those that you need`);
  if (JSON.stringify(tools).length > MOST_DEFINITIONS)
    throw new Error(`what it says of its tools has more than ${MOST_DEFINITIONS} characters`);
  return tools.map(({ name, description, inputSchema, annotations }) => ({
    name,
    description,
    parameters: inputSchema as ValueMap,
    isRepeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
  }));
}

/** A model reads text: of anything else it is told that it was there. */
function textOf({ content, structuredContent }: ValueMap): string {
  const parts = (isList(content) ? content : []).flatMap((part) => (isMap(part) ? [partText(part)] : []));
  if (parts.length > 0) return parts.join('\n');
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent);
}

function partText(part: ValueMap): string {
  const { type, text, data, mimeType, uri, name, resource } = part;
  const named = (value: Value): string => (typeof value === 'string' ? value : '');
  if (type === 'text') return named(text);
  if (type === 'resource_link') return `[${named(name)}](${named(uri)})`;
  if (type === 'resource' && isMap(resource)) {
    return typeof resource['text'] === 'string' ? resource['text'] : `[resource ${named(resource['uri'])}]`;
  }
  const bytes = typeof data === 'string' ? `, ${Math.floor((data.length * 3) / 4)} bytes` : '';
  return `[${named(type)} ${named(mimeType)}${bytes}]`;
}
