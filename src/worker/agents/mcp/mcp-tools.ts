/** The tools of the MCP servers of an agent, connected for a run. */
import type { AgentToolDefinition } from '../../../flow/agent/definition.ts';
import { type McpConfig, passesFilter } from '../../../flow/agent/mcp.ts';
import type { Value, ValueMap } from '../../../flow/expression/values.ts';
import type { RunScope } from '../../machine/run-scope.ts';
import type { ToolResult } from '../tool-result.ts';
import type { McpConnection, McpSurroundings } from './connect.ts';

export interface ConnectedTools {
  readonly definitions: readonly AgentToolDefinition[];
  /** As templates see them. */
  readonly listed: readonly Value[];
  /** `server:tool` of a tool that the model knows by this name. */
  qualified(name: string): string | undefined;
  run(name: string, args: ValueMap, signal: AbortSignal): Promise<ToolResult>;
}

interface Tool {
  readonly server: string;
  readonly tool: McpConnection['tools'][number];
  readonly connection: McpConnection;
}

/** Connects all of them, or takes the connections that the run has. */
export async function connectedTools(
  config: McpConfig,
  around: McpSurroundings,
  scope: RunScope,
  signal: AbortSignal,
): Promise<ConnectedTools> {
  const { connectMcp } = await import('./connect.ts');
  const connections = await Promise.all(
    config.servers.map(async (server) => ({
      server: server.name,
      connection: await scope.hold(`mcp ${JSON.stringify([around.folder, server])}`, () =>
        connectMcp(server, around, signal),
      ),
    })),
  );
  const tools = connections.flatMap(({ server, connection }): readonly Tool[] =>
    connection.tools
      .filter(({ name }) => passesFilter(config, server, name))
      .map((tool) => ({ server, tool, connection })),
  );
  return toolsByName(tools);
}

function toolsByName(tools: readonly Tool[]): ConnectedTools {
  const counts = new Map<string, number>();
  for (const { tool } of tools) counts.set(tool.name, (counts.get(tool.name) ?? 0) + 1);
  // Endpoints refuse names with a colon.
  const named = new Map(
    tools.map((one) => [counts.get(one.tool.name) === 1 ? one.tool.name : `${one.server}__${one.tool.name}`, one]),
  );
  return {
    definitions: [...named].map(
      ([
        name,
        {
          tool: { description, parameters, isRepeatable },
        },
      ]) => ({
        type: 'function',
        function: { name, ...(description === undefined ? {} : { description }), parameters },
        ...(isRepeatable ? { replay: 'repeat' } : {}),
      }),
    ),
    listed: [...named].map(([name, { server, tool }]) => ({
      name,
      description: tool.description ?? '',
      inputSchema: tool.parameters,
      server,
      qualified_name: `${server}:${tool.name}`,
    })),
    qualified: (name) => {
      const found = named.get(name);
      return found === undefined ? undefined : `${found.server}:${found.tool.name}`;
    },
    run: async (name, args, signal) => {
      const found = named.get(name);
      if (found === undefined) return { content: `There is no tool '${name}'`, isError: true };
      return found.connection.call(found.tool.name, args, signal);
    },
  };
}
