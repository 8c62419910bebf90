import { z } from 'zod';
import type { ConfigUpdate } from './frames.ts';

/**
 * The messages between dazflow agents and a node: one JSON object each, in dazflow's own words. Agents know no request
 * numbers, lease proofs or batches. Fields that are not named here are ignored.
 */

const text = z.string().max(200);
const taskId = z.string().min(1).max(200);
const credentials = z.array(text).max(1000).nullish();

/** The first message, unless the address carries the same. */
export const DazflowConnect = z.object({
  type: z.literal('connect'),
  name: text,
  secret: z.string().max(512),
  version: text.nullish(),
  credentials,
});

/** A line of text, with or without its time. */
const Line = z.union([
  z.string(),
  z.object({
    line: z.string(),
    /** Calendar time: milliseconds, seconds, or ISO 8601. */
    timestamp: z.union([z.number(), z.string()]).nullish(),
  }),
]);

/** Every other message that an agent may send. */
export const DazflowRequest = z.discriminatedUnion('type', [
  z.object({ type: z.literal('heartbeat') }),
  z.object({ type: z.literal('task_claim'), task_id: taskId }),
  z.object({ type: z.literal('task_progress'), task_id: taskId, logs: z.array(Line).max(20_000).nullish() }),
  z.object({ type: z.literal('task_complete'), task_id: taskId, result: z.unknown().optional() }),
  z.object({
    type: z.literal('task_failed'),
    task_id: taskId,
    error: z.unknown().optional(),
    error_details: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('credential_ack'),
    name: text,
    /** Without one it was stored. */
    status: text.nullish(),
    error: z.string().max(2000).nullish(),
  }),
  // Agents that come with their secret in the address send these apart.
  z.object({ type: z.literal('version'), version: text.nullish() }),
  z.object({ type: z.literal('credentials_report'), credentials }),
]);

export type DazflowConnect = z.infer<typeof DazflowConnect>;
export type DazflowRequest = z.infer<typeof DazflowRequest>;
export type DazflowLine = z.infer<typeof Line>;

export const DAZFLOW_TYPES: ReadonlySet<unknown> = new Set(DazflowRequest.options.map(({ shape }) => shape.type.value));

/** Where a task stands, and what it asks of an agent. */
export interface DazflowPlace {
  /** The name of its run, or the id of its root task. */
  readonly execution_id: string | null;
  readonly workflow_name?: string;
  readonly node_id?: string;
  readonly agent_config: {
    readonly agents: readonly string[];
    readonly requiredTags: readonly string[];
    readonly concurrencyGroup: string | null;
  };
  readonly required_credential: string | null;
}

/** A task as it is offered. */
export interface DazflowTask
  extends Partial<Pick<DazflowPlace, 'execution_id' | 'agent_config' | 'required_credential'>> {
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  readonly input: unknown;
  readonly workflow_name: string;
  readonly node_id: string;
  readonly execution_snapshot: unknown;
  readonly queued_at: string;
  /** The agent, once it has claimed it. */
  readonly claimed_by: string | null;
  readonly claimed_at: string | null;
  readonly attempt: number;
  readonly tries: number;
  readonly max_attempts: number;
  readonly timeout_ms: number | null;
}

/** The messages of the node. */
export type DazflowNotice =
  | { readonly type: 'connect_ok' | 'heartbeat_ack' }
  | { readonly type: 'connect_rejected'; readonly reason: string }
  | { readonly type: 'task_available'; readonly task: DazflowTask }
  /** For an agent that came with its secret in the address. */
  | ({ readonly type: 'task_available'; readonly task_id: string } & Pick<
      DazflowTask,
      'workflow_name' | 'node_id' | 'execution_snapshot'
    >)
  | { readonly type: 'task_claimed_ok'; readonly task_id: string; readonly task: DazflowTask }
  | { readonly type: 'task_claimed_fail'; readonly task_id: string; readonly reason: string }
  | { readonly type: 'kill_task'; readonly task_id: string }
  | {
      readonly type: 'credential_push';
      readonly name: string;
      readonly credential: { readonly type: string; readonly data: Readonly<Record<string, string>> };
      readonly data: Readonly<Record<string, string>>;
    }
  | ConfigUpdate;
