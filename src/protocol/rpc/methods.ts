import { z } from 'zod';
import { mayCall, type Role } from '../route.ts';
import { WebhookConfig } from './webhook-config.ts';

/** Every method that may be called by JSON-RPC. A test holds the reference page to this table. */

/** No store has a text with this character in it. */
const withoutNul = [(text: string): boolean => !text.includes('\0'), 'it has a NUL character'] as const;
const id = z
  .string()
  .min(1)
  .max(200)
  .refine(...withoutNul);
const user = z
  .string()
  .max(255)
  .refine(...withoutNul);

/** A task by its id; both spellings are accepted. */
const one = { task_id: id.optional(), id: id.optional() };
const task = z.strictObject(one);
const node = z.string().min(1).max(63);
const token = z.string().min(1).max(300);
const lease = z.union([
  token.transform((lease_token) => ({ lease_token })),
  z.strictObject({ task_id: z.string().max(200).optional(), lease_token: token }),
]);
const page = {
  limit: z.number().int().min(1).max(500).default(100),
  offset: z.number().int().min(0).max(10_000).default(0),
};

const ids = z.array(id).min(1).max(100);
/** Tasks by their ids; both spellings are accepted. */
const several = z
  .strictObject({ task_ids: ids.optional(), context_ids: ids.optional() })
  .refine(({ task_ids, context_ids }) => (task_ids === undefined) !== (context_ids === undefined), 'it has task_ids')
  .transform(({ task_ids, context_ids }) => ({ task_ids: (task_ids ?? context_ids) as readonly string[] }));

/** apflow's words for the state of a task. */
export const STATUSES = ['pending', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type Status = (typeof STATUSES)[number];

/** apflow's words for when a schedule fires. */
export const SCHEDULE_TYPES = ['once', 'interval', 'cron', 'daily', 'weekly', 'monthly'] as const;
export type ScheduleType = (typeof SCHEDULE_TYPES)[number];

export interface RpcMethod {
  /** The least role. `worker`: workers, and operators too. */
  readonly access: Exclude<Role, 'admin'>;
  readonly does: string;
  readonly params: z.ZodType;
}

const method = <const M extends RpcMethod>(given: M): M => given;

export const METHODS = {
  register_node: method({
    access: 'worker',
    does: 'Registers a node with its handlers and capabilities; a repeat changes nothing',
    params: z.strictObject({
      node_id: node,
      executor_types: z.array(z.string()).min(1).max(500),
      capabilities: z.union([z.array(z.string()).max(200), z.record(z.string(), z.unknown())]).nullish(),
      max_parallel_tasks: z.number().int().min(1).max(10_000).default(4),
      version: z.string().max(100).nullish(),
    }),
  }),
  heartbeat: method({
    access: 'worker',
    does: 'A heartbeat that renews the leases it names; the answer names those that are lost or to be cancelled',
    params: z.strictObject({ node_id: node, leases: z.array(lease).max(1000).default([]) }),
  }),
  deregister_node: method({
    access: 'worker',
    does: 'Deregisters a node; what it has leased comes back when the leases run out',
    params: z.strictObject({ node_id: node }),
  }),
  find_executable_tasks: method({
    access: 'worker',
    does: 'Ready tasks that this node may run now, in the order of a claim. Reads only',
    params: z.strictObject({ node_id: node, limit: z.number().int().min(1).max(100).default(10) }),
  }),
  acquire_lease: method({
    access: 'worker',
    does: 'Leases one task to a node; of many callers one gets it',
    params: z.strictObject({ task_id: id, node_id: node }),
  }),
  renew_lease: method({
    access: 'worker',
    does: 'Renews a lease. One that has run out can be renewed until its task was taken back',
    params: z.strictObject({ lease_token: token }),
  }),
  release_lease: method({
    access: 'worker',
    does: 'Gives a task back, and its try with it; a wrong token has no effect',
    params: z.strictObject({ task_id: id, lease_token: token }),
  }),
  report_completion: method({
    access: 'worker',
    does: 'Reports how a task has ended. A repeat gets the first answer; a caller without the lease is refused',
    params: z
      .strictObject({
        task_id: id,
        node_id: node,
        lease_token: token,
        result: z.unknown().optional(),
        error: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
        /** The task is retried by its policy; otherwise an error ends it. */
        retryable: z.boolean().default(false),
        idempotency_key: z.string().min(1).max(255).nullish(),
      })
      .refine(({ result, error }) => (error ?? undefined) === undefined || (result ?? undefined) === undefined, {
        message: 'it has a result, or an error',
      }),
  }),
  recover_stale_leases: method({
    access: 'operator',
    does: 'Takes back the tasks whose leases have run out, and lists them',
    params: z.strictObject({}),
  }),

  'tasks.create': method({
    access: 'operator',
    does: 'Writes a task down, or several that form a tree. They are pending until they are executed',
    params: z.union([
      z.array(z.unknown()).min(1).max(1000),
      z.strictObject({ tasks: z.array(z.unknown()).min(1).max(1000) }),
      z.looseObject({}),
    ]),
  }),
  'tasks.get': method({ access: 'read', does: 'A task', params: task }),
  'tasks.detail': method({
    access: 'read',
    does: 'A task with its attempts, and why it does not run',
    params: task,
  }),
  'tasks.tree': method({ access: 'read', does: 'The tree that a task is in', params: task }),
  'tasks.list': method({
    access: 'read',
    does: 'Tasks, the newest first; without parents, unless root_only is false',
    params: z.strictObject({
      user_id: user.nullish(),
      status: z.enum(STATUSES).nullish(),
      root_only: z.boolean().default(true),
      ...page,
    }),
  }),
  'tasks.children': method({
    access: 'read',
    does: 'The tasks right below one',
    params: z.strictObject({ ...one, parent_id: id.optional() }),
  }),
  'tasks.count': method({
    access: 'read',
    does: 'How many tasks there are, by status',
    params: z.strictObject({ user_id: user.nullish(), root_only: z.boolean().default(false) }),
  }),
  'tasks.update': method({
    access: 'operator',
    does: 'Changes a pending task; with a version, only if it has that one',
    params: z.looseObject({ ...one, version: z.number().int().min(1).optional() }),
  }),
  'tasks.delete': method({
    access: 'operator',
    does: 'Deletes a task and all below it, if all of them are pending and nothing else depends on them',
    params: task,
  }),
  'tasks.clone': method({
    access: 'operator',
    does: 'Makes a copy that can be executed, a link to the result of a completed task, or an archive of it',
    params: z.strictObject({ ...one, origin_type: z.enum(['copy', 'link', 'archive']).default('copy') }),
  }),
  'tasks.execute': method({
    access: 'operator',
    does: 'Starts a tree, or one task of it with its dependencies',
    params: z.strictObject({
      ...one,
      tasks: z.array(z.unknown()).min(1).max(1000).optional(),
      use_streaming: z.boolean().default(false),
      use_demo: z.boolean().default(false),
      webhook_config: WebhookConfig.nullish(),
    }),
  }),
  'tasks.cancel': method({
    access: 'operator',
    does: 'Cancels a task and all below it; running ones are asked to stop',
    params: z.strictObject({ ...one, task_ids: ids.optional() }),
  }),
  'tasks.running.list': method({
    access: 'read',
    does: 'The tasks that a node has now, the newest first, each with its lease',
    params: z.strictObject({ user_id: user.nullish(), root_only: z.boolean().default(false), ...page }),
  }),
  'tasks.running.status': method({
    access: 'read',
    does: 'How each of these tasks stands, and which node has it',
    params: several,
  }),
  'tasks.running.count': method({
    access: 'read',
    does: 'How many tasks a node has now',
    params: z.strictObject({ user_id: user.nullish(), root_only: z.boolean().default(false) }),
  }),
  'tasks.running.cancel': method({
    access: 'operator',
    does: 'Cancels each of these tasks and all below it, as `tasks.cancel` does',
    params: several,
  }),
  'tasks.scheduled.list': method({
    access: 'read',
    does: 'Schedules, by name; only those that fire, unless enabled_only is false',
    params: z.strictObject({
      enabled_only: z.boolean().default(true),
      schedule_type: z.enum(SCHEDULE_TYPES).nullish(),
      ...page,
    }),
  }),
  'tasks.scheduled.due': method({
    access: 'read',
    does: 'Schedules whose next fire time is before a time, the earliest first; without one those that are due now',
    params: z.strictObject({ before: z.iso.datetime({ offset: true }).nullish(), limit: page.limit }),
  }),
  'tasks.scheduled.init': method({
    access: 'operator',
    does: 'Puts the work of a task on a schedule of its id, or changes that schedule',
    params: z.strictObject({
      ...one,
      schedule_type: z.enum(SCHEDULE_TYPES),
      schedule_expression: z.string().min(1).max(200),
      schedule_enabled: z.boolean().default(true),
      timezone: z.string().max(100).nullish(),
    }),
  }),
  'tasks.scheduled.complete': method({
    access: 'read',
    does: 'How a schedule stands: the node fires and counts by itself, so nothing is left to be said',
    params: task,
  }),

  'system.health': method({ access: 'read', does: 'Whether work can be handed out', params: z.strictObject({}) }),
  'system.executors': method({
    access: 'read',
    does: 'The handlers of the workers that are online, with the schema of their input where it is known',
    params: z.strictObject({}),
  }),
} as const satisfies Record<string, RpcMethod>;

export type MethodName = keyof typeof METHODS;
export type ParamsOf<N extends MethodName> = z.output<(typeof METHODS)[N]['params']>;

/** The methods of the leader are also known with this prefix. */
const LEADER = 'distributed.';

/** The method of that name; undefined when there is none. */
export function methodNamed(name: string): MethodName | undefined {
  const own = name.startsWith(LEADER) ? name.slice(LEADER.length) : name;
  if (!Object.hasOwn(METHODS, own) || (own !== name && own.includes('.'))) return undefined;
  return own as MethodName;
}

export function mayCallMethod(role: Role, { access }: RpcMethod): boolean {
  return access === 'worker' ? role === 'worker' || mayCall(role, 'operator') : mayCall(role, access);
}
