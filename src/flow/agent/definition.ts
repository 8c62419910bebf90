/** An agent as it is run: every field read, its profile resolved, its prompts parsed. */
import type { ValueMap } from '../expression/values.ts';
import type { Template } from '../template/template.ts';
import type { McpConfig } from './mcp.ts';
import type { OutputFields } from './output-fields.ts';
import type { Profile } from './profiles.ts';
import type { ToolDefinition } from './result.ts';

/** What runs an agent as a task of its own. */
export const AGENT_HANDLER = 'agent';

export interface Agent {
  readonly name: string;
  readonly specVersion: string;
  readonly profile: Profile;
  /** Undefined: the file has none. */
  readonly system: Template | undefined;
  readonly user: Template;
  readonly suffix: Template | undefined;
  /** Empty: any text is an answer. */
  readonly output: OutputFields;
  readonly tools: readonly AgentToolDefinition[];
  /** Servers that have more of them. */
  readonly mcp: McpConfig | undefined;
  readonly metadata: ValueMap;
}

/** As the file has it; `replay` is ours. */
export type AgentToolDefinition = ToolDefinition & { readonly replay?: string };
