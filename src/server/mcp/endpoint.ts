import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { fault, isEngineError } from '../../core/errors.ts';
import { mayCall, type Role } from '../../protocol/route.ts';
import type { Auditor } from '../auth/audit.ts';
import { TOOLS, type Tool, type ToolContext } from './tools.ts';

export interface EndpointOptions extends ToolContext {
  readonly version: string;
  readonly role: Role;
  /** Whether this node is an observer: of the tools that write only a dry run is performed. */
  readonly observes: () => boolean;
  readonly audited: Auditor;
  readonly onError: (error: Error) => void;
}

const INSTRUCTIONS =
  'Leasehold hands tasks to workers and gets each finished. Ask explain_task why one waits, tail_log what it said. ' +
  'Every tool that changes something takes dry_run: look first.';

/** Answers one request of an MCP client: Streamable HTTP without sessions, so that any node can answer the next one. */
export async function handleMcp(request: Request, body: unknown, options: EndpointOptions): Promise<Response> {
  const handler = createMcpHandler(() => serverFor(options), {
    maxSubscriptions: 0,
    onerror: options.onError,
  });
  return handler.fetch(request, { parsedBody: body });
}

/** A caller with the role read sees no tool that writes. */
function serverFor(options: EndpointOptions): McpServer {
  const server = new McpServer({ name: 'leasehold', version: options.version }, { instructions: INSTRUCTIONS });
  for (const [name, tool] of Object.entries(TOOLS)) {
    if (!mayCall(options.role, tool.writes ? 'operator' : 'read')) continue;
    const { title, does: description, input: inputSchema, writes } = tool;
    const annotations = { readOnlyHint: !writes, destructiveHint: writes, openWorldHint: false };
    server.registerTool(name, { title, description, inputSchema, annotations }, (input: unknown) =>
      answerOf(tool, options, input),
    );
  }
  return server;
}

interface ToolAnswer {
  readonly [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** Refusals are shown to the model, which may do better. */
async function answerOf(tool: Tool, options: EndpointOptions, input: unknown): Promise<ToolAnswer> {
  try {
    const answer = (await runTool(tool, options, input as ToolInput)) as Record<string, unknown>;
    const plain = JSON.parse(JSON.stringify(answer)) as Record<string, unknown>;
    return { content: [{ type: 'text', text: JSON.stringify(plain) }], structuredContent: plain };
  } catch (error) {
    if (!isEngineError(error) || error.status >= 500) throw error;
    const { code, message, hint } = error;
    return {
      content: [{ type: 'text', text: [`${code}: ${message}`, hint].filter(Boolean).join('\n') }],
      isError: true,
    };
  }
}

interface ToolInput {
  readonly id?: string;
  readonly queue?: string;
  readonly dry_run?: boolean;
}

/** A dry run changes nothing and is not audited. */
function runTool(tool: Tool, options: EndpointOptions, input: ToolInput): Promise<object> {
  if (tool.writes && input.dry_run !== true && options.observes()) return Promise.reject(fault('READ_ONLY'));
  const work = (): Promise<object> => tool.run(options, input as never);
  if (tool.audits === undefined || input.dry_run === true) return work();
  return options.audited(tool.audits, input.id ?? input.queue ?? '', work);
}
