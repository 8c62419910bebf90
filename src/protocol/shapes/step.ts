import { z } from 'zod';
import { CredentialAck, Envelope, VaultReport } from '../credential-envelope.ts';
import { Json, Time } from './common.ts';

/** The shapes of loopd, which calls a task a step and a handler a phase. */

const names = z.array(z.string().max(200)).max(1000);

export const RegisterInput = z.strictObject({
  hostname: z.string().min(1).max(255),
  capabilities: z
    .union([names, z.strictObject({ handlers: names, tags: names.optional(), queues: names.optional() })])
    .describe('The handlers that it runs; or these with its tags and the queues that it serves'),
  slots: z.number().int().min(1).max(10_000).default(1),
  version: z.string().max(100).optional(),
  name: z.string().max(200).optional().describe('If given, it must be that of the secret'),
  priority: z.number().int().optional(),
  pid: z.number().int().min(1).optional(),
});

export const Registered = z.object({
  worker_id: z.string(),
  session_token: z.string().describe('Goes with later calls as x-session-token'),
  heartbeat_interval_ms: z.number(),
  lease_ttl_ms: z.number(),
});

const StepLease = z.strictObject({ step_id: z.string().max(200), lease_token: z.string().max(100) });

export const HeartbeatInput = z.strictObject({
  status: z.string().max(100).default('online').describe('draining: it takes no more tasks; offline: it has stopped'),
  metrics: z.record(z.string(), Json).optional(),
  leases: z.array(StepLease).max(10_000).default([]),
  vault: VaultReport.optional().describe('Of our own worker: where it keeps credentials, and which'),
  credential_acks: z.array(CredentialAck).max(50).optional().describe('What became of credentials that it was sent'),
});

export const Heartbeat = z.object({
  renewed: z.array(z.string()).readonly(),
  lost: z.array(z.string()).readonly().describe('Stop work on these: another worker has them'),
  cancel: z.array(z.object({ step_id: z.string(), reason: z.string() })).readonly(),
  drain: z.boolean(),
  credentials: z
    .array(
      z.object({
        name: z.string(),
        version: z.number(),
        envelope: Envelope.optional().describe('To be stored: sealed to the key of the worker, and signed'),
        removed: z.literal(true).optional().describe('To be removed'),
      }),
    )
    .readonly()
    .optional()
    .describe('Credentials that it is to store or to remove'),
});

export const ClaimInput = z.strictObject({
  max: z.number().int().min(1).max(250).default(1),
  wait_ms: z.number().int().min(0).max(60_000).default(0).describe('How long to wait for the first one'),
});

export const Step = z
  .object({
    step_id: z.string(),
    task: z.number(),
    run_id: z.string().nullable(),
    phase: z.string(),
    queue: z.string(),
    attempt: z.number(),
    lease_token: z.string(),
    lease_expires_at: Time,
    lease_ttl_ms: z.number(),
    input: Json,
    tries: z.number(),
    max_attempts: z.number(),
    timeout_ms: z.number().nullable(),
    created_at: Time,
    suspect: z.boolean().describe('The lease of an earlier attempt ran out: it may be what killed its worker'),
    reuses: z.boolean(),
    workspace: z
      .object({
        source: z.string(),
        repo_url: z.string().nullable(),
        repo_ref: z.string().nullable().describe('The branch of the run'),
        expected_commit: z.string().nullable().describe('What its last phase has left there'),
      })
      .nullable()
      .describe('Of a run of a loop'),
    artifact_store: z.string().nullable().describe('Of a run of a loop: workspace, global or mirror'),
  })
  .meta({ id: 'Step' });

export const StepEventsInput = z.strictObject({
  lease_token: z.string().max(100),
  events: z
    .array(
      z.strictObject({
        seq: z.number().int().min(1).describe('Counts from 1 without gap; a repeat is harmless'),
        event_type: z.string().max(100),
        payload: Json.optional(),
        ts: Time.optional(),
      }),
    )
    .min(1)
    .max(1000),
});

export const CompleteInput = z.strictObject({
  lease_token: z.string().max(100),
  status: z.enum(['succeeded', 'completed', 'success', 'failed', 'error', 'canceled', 'cancelled']),
  exit_code: z.number().int().nullable().optional(),
  output_path: z.string().nullable().optional(),
  artifact_refs: z.array(Json).optional(),
  commit: z.string().optional(),
  result: Json.optional(),
  error: Json.optional(),
});

export const Completed = z.object({ step_id: z.string(), state: z.string() });
