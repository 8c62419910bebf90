import { z } from 'zod';
import { ARTIFACT_KINDS } from '../core/artifact/artifact-content.ts';
import { CATALOGUE, type ErrorCode } from '../core/errors.ts';
import { MAX_ID } from '../core/ids.ts';
import { STATES } from '../core/task/task.ts';
import type { CredentialOrder, Envelope } from './credential-envelope.ts';
import { MAX_ANSWER_BYTES, MOST_ENDS, type NewRequest } from './frames.ts';

/**
 * What a worker believes of its node. A node may be malicious, broken or newer than the worker: ids are numbers and short
 * texts without control characters, times are within what a timer can wait, lists are no longer than was asked for.
 * Unknown words are ignored, so that a newer node can say more.
 */

/** The longest time that a timer can wait; a longer one would fire at once. */
const MAX_MS = 2 ** 31 - 1;
/** The shortest lease and the shortest pause between two heartbeats that make sense. */
const MIN_LEASE_MS = 10;
const MIN_HEARTBEAT_MS = 10;
/** Names and ids are far shorter. */
const MAX_WORD = 255;
const MAX_MESSAGE = 4000;
const MAX_DETAILS = 50;
/** A claim asks for fewer, a renewal for no more. */
const MAX_LEASES = 20_000;
/** Entries of a journal or results of tasks; the bytes are bounded before. */
const MAX_ROWS = 1_000_000;
const MOST_ARTIFACTS = 1000;

const number = z.number().int().min(1).max(MAX_ID);
const attempt = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const word = z
  .string()
  .min(1)
  .max(MAX_WORD)
  .regex(/^\P{Cc}+$/u);
const text = z.string().max(MAX_ANSWER_BYTES);
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const ms = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const state = z.enum(STATES);

const Terms = {
  leaseMs: z.number().min(MIN_LEASE_MS).max(MAX_MS),
  heartbeatMs: z.number().min(MIN_HEARTBEAT_MS).max(MAX_MS).optional(),
  runTimeoutMs: z.number().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
};

/** Handlers that the worker offered and was not granted. */
const LeftOut = z.array(word).max(1000).optional();

/** What the node can be asked. A node before 0.2 does not say. */
const Can = z.array(word).max(1000).optional();

/** The key by which the cluster signs credentials: 32 bytes, base64url. */
const Signer = z
  .string()
  .regex(/^[\w-]{43}$/)
  .optional();

const Credential = {
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/),
  version: attempt,
};
/** Whoever opens it looks at it more closely: what is wrong with it is no reason to leave the node. */
const Sealed = z.object({ ...Credential, envelope: z.unknown().transform((given) => given as Envelope) });
const Removed = z.object({ ...Credential, removed: z.literal(true) });

/** The worker is to come back as another release. */
const Upgrade = {
  current_version: z.string().max(MAX_WORD),
  required_version: z.string().max(MAX_WORD),
  must: z.boolean().optional(),
};
/** What a node says to a heartbeat, where it cannot call the worker. What is not known says nothing. */
const HeartbeatAnswer = z
  .object({ upgrade_required: z.object(Upgrade).optional() })
  .optional()
  .catch(undefined);

/** What comes with the answer to a heartbeat over HTTP; the rest of it is for others. */
export const BeatAnswer = z.object({
  credentials: z
    .array(z.union([Removed, Sealed]))
    .max(50)
    .readonly()
    .optional(),
}) satisfies z.ZodType<{ readonly credentials?: readonly CredentialOrder[] | undefined }>;

/** The error of a refusal. A code that this version does not know counts as a defect of the node. */
export const WireError = z.object({
  code: z
    .string()
    .max(MAX_WORD)
    .transform((code): ErrorCode => (Object.hasOwn(CATALOGUE, code) ? (code as ErrorCode) : 'INTERNAL')),
  message: z.string().transform((message) => message.slice(0, MAX_MESSAGE)),
  hint: z
    .string()
    .transform((hint) => hint.slice(0, MAX_MESSAGE))
    .optional(),
  details: z
    .record(z.string().max(MAX_WORD), z.unknown())
    .refine((details) => Object.keys(details).length <= MAX_DETAILS)
    .optional(),
});

/** A message of the node with its envelope checked; the value of an answer is checked by what was asked. */
export const NodeFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connect_ok'), ...Terms, can: Can, leftOut: LeftOut, signer: Signer }),
  z.object({ type: z.literal('connect_rejected'), error: WireError }),
  z.object({ type: z.literal('ok'), re: count, value: z.unknown().optional() }),
  z.object({ type: z.literal('refused'), re: count, error: WireError }),
  z.object({ type: z.literal('kill_task'), task: number }),
  z.object({ type: z.literal('queue_paused'), queue: word }),
  z.object({ type: z.literal('credential_push'), ...Sealed.shape }),
  z.object({ type: z.literal('credential_remove'), ...Credential }),
  z.object({ type: z.literal('upgrade_required'), ...Upgrade }),
]);
export type NodeFrame = z.infer<typeof NodeFrame>;

/** A frame with more messages would hold up the loop; a node packs at most 500. */
const MAX_MESSAGES = 5000;

/** The messages of one frame, without those that a newer node says and this version does not know. Throws where it is no frame. */
export function framesIn(data: string): readonly NodeFrame[] {
  const given: unknown = JSON.parse(data);
  const messages: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (messages.length > MAX_MESSAGES) throw new Error(`a frame of ${messages.length} messages`);
  return messages.map(frameOf).filter((frame) => frame !== undefined);
}

const KNOWN: ReadonlySet<unknown> = new Set(NodeFrame.options.map(({ shape }) => shape.type.value));

/** The message; undefined where a newer node says what this version does not know. Throws where it is none. */
export function frameOf(given: unknown): NodeFrame | undefined {
  const type = (given as { readonly type?: unknown } | null)?.type;
  if (typeof type === 'string' && !KNOWN.has(type)) return undefined;
  return NodeFrame.parse(given);
}

/** The answer that begins a session over HTTP. Both texts go into the next requests. */
export const JoinedAnswer = z.object({
  worker: word,
  // It has the handlers of the worker in it.
  session: z.string().regex(/^[\x21-\x7e]{1,12000}$/),
  leaseMs: Terms.leaseMs,
  can: Can,
  leftOut: LeftOut,
  signer: Signer,
});

export const AskedAnswers = z.object({ answers: z.array(z.unknown()).max(MAX_LEASES) });

/** The name and the secret that a code was exchanged for. They are written to the disk of the worker. */
export const EnrolledAnswer = z.object({ name: word, secret: z.string().regex(/^[\x21-\x7e]{1,512}$/) });

const Grant = z.object({
  task: number,
  attempt,
  token: z.string().max(64),
  id: word,
  queue: word,
  handler: word,
  payload: text,
  tries: count,
  maxTries: count,
  createdAt: z.number(),
  suspect: z.boolean(),
  timeoutMs: z.number().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
  reuses: z.boolean().optional(),
  credentials: z.array(word).max(100).readonly().optional(),
});

/** Tasks that were granted: no more than the claim asked for, none of them twice. */
export function grantsOf(given: unknown, max: number): readonly z.infer<typeof Grant>[] {
  const grants = z
    .array(Grant)
    .max(max)
    .parse(given ?? []);
  const tasks = new Set(grants.map(({ task }) => task));
  if (tasks.size < grants.length) throw new Error('the same task is granted twice');
  return grants;
}

const TaskResult = z.object({
  task: z.number().int().min(0).max(MAX_ID),
  id: word.optional(),
  state: z.enum([...STATES, 'gone']),
  result: text.optional(),
});

const ArtifactAnswer = z.object({
  id: z.string().regex(/^art_[0-9a-f]{32}$/),
  task: number,
  attempt,
  name: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^\P{Cc}+$/u),
  type: word,
  // A kind that this version does not know is a file.
  kind: z.enum(ARTIFACT_KINDS).catch('file'),
  size: count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.number(),
});

/** Headers that only say what the bytes are, or prove that they may travel: none that would speak for the worker. */
const TRANSFER_HEADER = /^(content-(type|length|md5|encoding|disposition)|x-(amz|leasehold)-[a-z0-9-]{1,64})$/i;
const TransferAnswer = z.object({
  method: z.enum(['PUT', 'GET']),
  url: z
    .string()
    .max(8192)
    .regex(/^[\x21-\x7e]+$/),
  headers: z
    .record(
      z.string().regex(TRANSFER_HEADER),
      z
        .string()
        .max(4096)
        .regex(/^[\x20-\x7e]*$/),
    )
    .refine((headers) => Object.keys(headers).length <= MAX_DETAILS),
});

/** A task whose end was taken down, in whichever words. A state that this version does not know says nothing. */
const EndState = state.optional().catch(undefined);
const Nothing = z.unknown().transform(() => undefined);

/** What the node may answer to each request. */
const ANSWERS = {
  task_claim: z.unknown(),
  claim_stop: Nothing,
  task_complete: Nothing,
  /** For each end nothing, or why it was refused. */
  tasks_complete: z.array(z.union([z.null(), WireError])).max(MOST_ENDS),
  task_failed: EndState,
  task_release: EndState,
  task_cancelled: Nothing,
  task_progress: Nothing,
  keep: Nothing,
  credential_ack: Nothing,
  heartbeat: HeartbeatAnswer,
  journal: z.array(z.object({ key: text, value: text, child: z.literal(true).optional() })).max(MAX_ROWS),
  task_turn: z.object({
    went: z.enum(['on', 'parked', 'woken', 'ended', 'back', 'cancelled']),
    state: EndState,
    body: text.optional(),
    key: text.optional(),
    entries: z.array(z.union([text, z.null()])).max(MAX_ROWS),
    budget: z.object({ soft: z.boolean().optional(), waits: z.boolean().optional() }).optional(),
  }),
  waited: z
    .object({
      key: text,
      outcome: z.enum(['open', 'woken', 'timed_out']),
      body: text.optional(),
      leftMs: ms.optional(),
    })
    .nullish()
    .transform((waited) => waited ?? undefined),
  results: z.array(TaskResult).max(MAX_ROWS),
  dependencies: z.array(TaskResult.extend({ optional: z.boolean() })).max(MAX_ROWS),
  cancel_children: Nothing,
  definition: z
    .string()
    .nullish()
    .transform((text) => text ?? undefined),
  reusable: z
    .object({ id: word, result: text.optional() })
    .nullish()
    .transform((kept) => kept ?? undefined),
  artifact_begin: z.object({ id: ArtifactAnswer.shape.id, transfer: TransferAnswer }),
  artifact_end: ArtifactAnswer,
  artifact_find: ArtifactAnswer,
  artifact_list: z.array(ArtifactAnswer).max(MOST_ARTIFACTS),
  artifact_fetch: TransferAnswer,
  lease_renew: z.array(z.enum(['held', 'cancel', 'lost'])).max(MAX_LEASES),
  cancels: z.array(z.object({ task: number, attempt })).max(MAX_LEASES),
} as const satisfies Record<NewRequest['type'], z.ZodType>;

export type NodeAnswer<T extends NewRequest['type']> = z.infer<(typeof ANSWERS)[T]>;

/** The answer to this request. Throws where it is none. */
export function answerOf<R extends NewRequest>(request: R, given: unknown): NodeAnswer<R['type']> {
  const answer: unknown = ANSWERS[request.type].parse(given);
  const asked = askedFor(request);
  if (asked !== undefined && (answer as readonly unknown[]).length !== asked) {
    throw new Error(`${asked} answers were asked for, and ${(answer as readonly unknown[]).length} came`);
  }
  return answer as NodeAnswer<R['type']>;
}

/** How many answers come together, where that is known. */
function askedFor(request: NewRequest): number | undefined {
  if (request.type === 'lease_renew') return request.leases.length;
  if (request.type === 'tasks_complete') return request.ends.length;
  return request.type === 'results' ? request.tasks.length : undefined;
}
