import { z } from 'zod';
import { ARTIFACT_KINDS } from '../core/artifact/artifact-content.ts';
import type { ErrorBody } from '../core/errors.ts';
import { AFTER_FAILURE } from '../core/graph/graph.ts';
import { MAX_AMOUNT, UNITS } from '../core/limits/budget.ts';
import { MAX_SCHEMA_BYTES } from '../core/placement/worker.ts';
import { utf8Length } from '../core/task/payload.ts';
import { CredentialAck, type CredentialOrder, VaultReport } from './credential-envelope.ts';
import { Duration } from './shapes/common.ts';
import { LimitUse, PlacementInput } from './shapes/task.ts';

/**
 * The messages between our workers and a node, as JSON over one WebSocket. The words are those of dazflow where it has one.
 * A frame is one message or an array of them. A request has a number `n` and its answer repeats it as `re`. A request may be
 * sent again under the same number after the connection broke. Values of users travel as JSON text.
 *
 * Worker and node may be of different versions. A word that one of them does not know is ignored. The node says at the
 * beginning what it can be asked (`can`), and refuses any other request by itself. A worker sends nothing beside its
 * connect message that a node of the version before would refuse.
 */

/** Proves the lease that a request speaks for. */
export const LeaseProof = z.object({
  task: z.number().int().min(1),
  attempt: z.number().int().min(1),
  token: z.string().max(64),
  /** The earlier start of the same worker that the lease was granted to, when the worker reports what that start left unsent. */
  incarnation: z.string().min(1).max(100).optional(),
});

const n = z.number().int().min(1);
const ref = z.union([z.number().int(), z.string().max(200)]);
const text = z.string();
const names = z.array(z.string().max(200)).max(1000);

/** JSON Schemas of the inputs that the handlers of a worker take. */
export const HandlerSchemas = z
  .array(z.object({ handler: z.string().max(200), schema: z.string().max(MAX_SCHEMA_BYTES) }))
  .max(1000);

/** What a worker says of its program, and of the updater that started it. */
export const ReleaseReport = z.object({
  version: z.string().max(40),
  protocol: z.tuple([z.number().int().min(1).max(10_000), z.number().int().min(1).max(10_000)]).readonly(),
  /** Absent: nothing would upgrade it. */
  updater: z
    .object({
      state: z.string().max(20),
      until: z.number().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
      problem: z.string().max(500).optional(),
    })
    .optional(),
});
export type ReleaseReport = z.infer<typeof ReleaseReport>;

/** The first message. */
export const Connect = z.object({
  type: z.literal('connect'),
  name: z.string().max(200),
  secret: z.string().max(512),
  /** Unique to this start of the process. */
  incarnation: z.string().min(1).max(100),
  slots: z.number().int().min(1).max(10_000),
  tags: names,
  handlers: names,
  schemas: HandlerSchemas.optional(),
  queues: names.optional(),
  priority: z.number().int().optional(),
  /** The ticket that its pool has started it with. */
  ticket: z.string().max(100).optional(),
  version: z.string().max(100).optional(),
  host: z.string().max(255).optional(),
  pid: z.number().int().min(1).optional(),
  /** Where it keeps credentials, and which. */
  vault: VaultReport.optional(),
  release: ReleaseReport.optional(),
  /** The leases that the worker holds. Any other lease that it was granted never reached it and is released. */
  holding: z.array(LeaseProof).max(20_000),
});

/** How a worker without a WebSocket begins a session. Its secret is in a header. */
export const Join = Connect.omit({ type: true, secret: true, holding: true });

/** How such a worker claims: in a request of its own, which waits. */
export const Take = z.object({
  n: n.describe('The number of the claim in its session, so that it can be stopped'),
  max: z.number().int().min(1).max(250),
  waitMs: z.number().int().min(0).max(60_000).describe('How long to wait for the first one'),
  holding: z
    .array(LeaseProof)
    .max(20_000)
    .describe('The leases that it holds; any other lease that it was granted never reached it and is released'),
});

/** A claimed task with the proof of its lease: the answer to a claim. */
export const Granted = z
  .object({
    ...LeaseProof.omit({ incarnation: true }).shape,
    id: z.string(),
    queue: z.string(),
    handler: z.string(),
    payload: z.string().describe('JSON text'),
    tries: z.number(),
    maxTries: z.number(),
    createdAt: z.number(),
    suspect: z.boolean().describe('The lease of an earlier attempt ran out: it may be what killed its worker'),
    timeoutMs: z.number().optional(),
    reuses: z.boolean().optional(),
    credentials: z.array(z.string()).readonly().optional().describe('Those that its placement names'),
  })
  .meta({ id: 'Granted' });

/** Strict, because a handler says it: what a user asks for must not be left out in silence. */
const Child = z.strictObject({
  queue: text,
  handler: text,
  input: text.optional(),
  priority: z.number().optional(),
  delay: Duration.optional(),
  runAt: z.number().optional(),
  maxAttempts: z.number().optional(),
  retry: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  timeout: Duration.optional(),
  waitTimeout: Duration.optional(),
  unique: z.union([text, z.object({ key: text, window: Duration.optional() })]).optional(),
  placement: PlacementInput.optional(),
  limits: z.array(z.union([text, LimitUse])).optional(),
  fairness: z.union([text, z.object({ key: text, weight: z.number().optional() })]).optional(),
  reuse: z.union([z.boolean(), Duration, z.object({ key: text.optional(), maxAge: Duration.optional() })]).optional(),
});

const ChildKey = z.object({ child: text });
const key = text;
const Entry = z.discriminatedUnion('kind', [
  z.object({
    key,
    kind: z.enum(['value', 'element', 'mark', 'wait']),
    value: text,
    began: z.number().optional(),
    usage: text.optional(),
  }),
  z.object({
    key,
    kind: z.literal('child'),
    child: Child,
    after: z
      .array(z.object({ on: z.union([ref, ChildKey]), optional: z.boolean().optional() }))
      .max(1000)
      .optional(),
    afterFailure: z.enum(AFTER_FAILURE).optional(),
  }),
  z.object({ key, kind: z.literal('signal'), channel: text, body: text, broadcast: z.boolean().optional() }),
]);

const Waiting = z.object({
  key: text,
  nth: z.number().int().optional(),
  channel: text.optional(),
  form: text.optional(),
  others: z
    .array(z.object({ key: text, channel: text.optional(), form: text.optional() }))
    .max(100)
    .optional(),
  children: z.array(z.union([ref, ChildKey])).optional(),
  need: z.number().int().optional(),
  timeoutMs: z.number().optional(),
  until: z.number().optional(),
});

const Failing = { giveUp: z.boolean().optional(), retryAfterMs: z.number().optional(), limit: text.optional() };

const Then = z.discriminatedUnion('go', [
  z.object({ go: z.literal('on') }),
  z.object({ go: z.literal('park'), ...Waiting.shape }),
  z.object({ go: z.literal('complete'), result: text.optional() }),
  z.object({ go: z.literal('fail'), error: text, ...Failing }),
]);

const amount = z.number().int().min(0).max(MAX_AMOUNT);
const Drawn = { unit: z.enum(UNITS), amount };

const LogEntries = z.array(
  z.object({
    seq: z.number(),
    at: z.number(),
    stream: z.enum(['stdout', 'stderr', 'log', 'progress', 'system']),
    text,
  }),
);

const artifact = z.string().regex(/^art_[0-9a-f]{32}$/);
/** What a worker says of bytes before they travel. */
const AnnouncedFile = {
  name: z.string().min(1).max(1024),
  media: z.string().min(1).max(255),
  kind: z.enum(ARTIFACT_KINDS).optional(),
  size: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
};

/** Ends that a worker may report together: as many as the engine puts into one commit. */
export const MOST_ENDS = 250;
/** A lease of an earlier start reports its end by itself. */
const PlainEnd = z.object({ lease: LeaseProof.omit({ incarnation: true }), result: text.optional() });

/** Every other request of a worker. */
export const WorkerRequest = z.discriminatedUnion('type', [
  z.object({ type: z.literal('task_claim'), n, max: z.number().int(), waitMs: z.number() }),
  z.object({ type: z.literal('claim_stop'), n, claim: n }),
  z.object({ type: z.literal('task_complete'), n, lease: LeaseProof, result: text.optional() }),
  z.object({ type: z.literal('tasks_complete'), n, ends: z.array(PlainEnd).max(MOST_ENDS) }),
  z.object({
    type: z.literal('task_failed'),
    n,
    lease: LeaseProof,
    error: text,
    ...Failing,
  }),
  z.object({
    type: z.literal('task_release'),
    n,
    lease: LeaseProof,
    bounced: z.boolean().optional(),
    delayMs: z.number().optional(),
  }),
  z.object({ type: z.literal('task_cancelled'), n, lease: LeaseProof }),
  z.object({ type: z.literal('task_progress'), n, lease: LeaseProof, logs: LogEntries }),
  z.object({ type: z.literal('journal'), n, lease: LeaseProof }),
  z.object({
    type: z.literal('task_turn'),
    n,
    lease: LeaseProof,
    entries: z.array(Entry).max(1000),
    draw: z.array(z.object(Drawn)).max(UNITS.length).optional(),
    spend: z
      .array(z.object({ ...Drawn, drawn: amount.optional() }))
      .max(UNITS.length)
      .optional(),
    then: Then,
  }),
  z.object({ type: z.literal('waited'), n, lease: LeaseProof }),
  z.object({ type: z.literal('results'), n, lease: LeaseProof, tasks: z.array(ref) }),
  z.object({ type: z.literal('dependencies'), n, lease: LeaseProof }),
  z.object({ type: z.literal('cancel_children'), n, lease: LeaseProof, tasks: z.array(ref).max(10_000) }),
  z.object({ type: z.literal('definition'), n, lease: LeaseProof, hash: z.string().max(128) }),
  z.object({ type: z.literal('reusable'), n, lease: LeaseProof }),
  z.object({ type: z.literal('keep'), n, lease: LeaseProof, result: text.optional() }),
  z.object({ type: z.literal('artifact_begin'), n, lease: LeaseProof, ...AnnouncedFile, again: artifact.optional() }),
  z.object({ type: z.literal('artifact_end'), n, lease: LeaseProof, artifact }),
  z.object({
    type: z.literal('artifact_find'),
    n,
    lease: LeaseProof,
    artifact: artifact.optional(),
    name: z.string().max(1024).optional(),
    task: z.string().max(200).optional(),
    run: z.literal(true).optional(),
  }),
  z.object({ type: z.literal('artifact_list'), n, lease: LeaseProof, task: z.string().max(200).optional() }),
  z.object({ type: z.literal('artifact_fetch'), n, lease: LeaseProof, artifact }),
  z.object({ type: z.literal('lease_renew'), n, leases: z.array(LeaseProof) }),
  z.object({ type: z.literal('cancels'), n }),
  z.object({ type: z.literal('credential_ack'), n, ...CredentialAck.shape }),
  z.object({ type: z.literal('heartbeat'), n, state: z.enum(['online', 'draining', 'offline']) }),
]);

/** What a node can be asked. */
export const REQUEST_TYPES: readonly string[] = WorkerRequest.options.map(({ shape }) => shape.type.value);

/**
 * A worker says that it is alive and that its state has not changed. There is no answer. The bytes are fixed, so that a node
 * with thousands of idle workers need not parse them as JSON.
 */
export const ALIVE = '{"type":"alive"}';

export type Connect = z.infer<typeof Connect>;
export type Granted = z.infer<typeof Granted>;
export type WorkerRequest = z.infer<typeof WorkerRequest>;
export type LeaseProof = z.infer<typeof LeaseProof>;
export type PlainEnd = z.infer<typeof PlainEnd>;
/** A request before it has its number. */
export type NewRequest = WorkerRequest extends infer A ? (A extends { n: number } ? Omit<A, 'n'> : never) : never;

/** The messages of the node. */
export type NodeMessage =
  | ConnectOk
  /** `reason` repeats the message of the error, for clients that do not know our errors. */
  | { readonly type: 'connect_rejected'; readonly reason: string; readonly error: ErrorBody }
  | { readonly type: 'ok'; readonly re: number; readonly value?: unknown }
  | { readonly type: 'refused'; readonly re: number; readonly error: ErrorBody }
  /** A hint: somebody has asked a task to stop. */
  | { readonly type: 'kill_task'; readonly task: number }
  /** A hint: a queue was paused, and what was claimed ahead from it goes back. */
  | { readonly type: 'queue_paused'; readonly queue: string }
  | CredentialMessage
  | ({ readonly type: 'upgrade_required' } & UpgradeOrder)
  /** The settings of the worker have changed. The engine goes by them whether the worker does or not. */
  | ConfigUpdate;

/** What is to be kept or removed. An order that got lost is sent again. */
type CredentialMessage =
  | ({ readonly type: 'credential_push' } & Exclude<CredentialOrder, { readonly removed: true }>)
  | { readonly type: 'credential_remove'; readonly name: string; readonly version: number };

export interface ConnectOk {
  readonly type: 'connect_ok';
  readonly leaseMs: number;
  /** How often the worker should send a heartbeat. */
  readonly heartbeatMs?: number | undefined;
  /** How long a handler may run when neither it nor the task sets a timeout. */
  readonly runTimeoutMs?: number | undefined;
  /** What the node can be asked; a node before 0.2 does not say. */
  readonly can?: readonly string[] | undefined;
  /** Handlers that the worker offers and gets no tasks of: they were not granted to its name. */
  readonly leftOut?: readonly string[] | undefined;
  /** The Ed25519 public key by which the cluster signs credentials, base64url. */
  readonly signer?: string | undefined;
}

/** The worker is to finish what it runs and come back as another release. */
export interface UpgradeOrder {
  readonly current_version: string;
  /** Empty: any other. */
  readonly required_version: string;
  /** It gets no work as it is. */
  readonly must?: boolean | undefined;
}

export interface ConfigUpdate {
  readonly type: 'config_update';
  /** False: the worker gets no more work and finishes what it has. */
  readonly enabled: boolean;
  readonly priority: number;
  /** The tags that its name was given. */
  readonly tags: readonly string[];
}

/** The bound of one frame that a worker sends. Values of users have a bound of their own, and a batch may hold several. */
export const MAX_FRAME_BYTES = 4 * 1024 * 1024;
/** The bound of one answer. It is larger, because a worker may read more of children or steps than it ever sends. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** The nesting of the frame itself. Values of users are text in it. */
export const MAX_FRAME_DEPTH = 12;
export const WORKER_PATH = '/ws/agent';

/** A frame with more messages would hold up what comes behind it; a node refuses it. */
export const MOST_PER_FRAME = 500;
/** In UTF-16 units, each of which is at most three bytes. */
const FULL_FRAME = MAX_FRAME_BYTES / 4;

/** Packs messages into as few frames as their bounds allow. A message larger than the bound goes alone. */
export function* framesOf(texts: readonly string[]): Generator<string> {
  let part: string[] = [];
  let size = 0;
  for (const text of texts) {
    if (part.length > 0 && (part.length >= MOST_PER_FRAME || size + text.length > FULL_FRAME)) {
      yield join(part);
      part = [];
      size = 0;
    }
    part.push(text);
    size += text.length;
  }
  if (part.length > 0) yield join(part);
}

const join = (texts: readonly string[]): string => (texts.length === 1 ? (texts[0] as string) : `[${texts.join(',')}]`);

/** Whether a text has more than so many bytes. Short texts need no count. */
export function exceeds(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && utf8Length(text) > maxBytes;
}
