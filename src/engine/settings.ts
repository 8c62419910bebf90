import type { Duration } from '../core/duration.ts';
import { DEFAULT_STALE_MS } from '../core/placement/worker.ts';
import { DEFAULT_LEASE_MS } from '../core/task/lease.ts';
import type { World } from '../core/world.ts';
import type { QueueStore } from '../store/store.ts';
import { checkIntervalMs, checkLeaseMs, checkOptions, checkRetentionMs, checkStaleMs, whole } from './check.ts';
import { SCAN_MS } from './claim/ready-lanes.ts';
import type { TriggerHost } from './triggers/trigger-host.ts';

export interface EngineOptions {
  /** The whole port, or only what a plain queue needs; then the rest is refused with `UNSUPPORTED`. */
  readonly store: QueueStore;
  readonly world: World;
  /** How long a claim holds without a renewal, from 10 ms to 24 h; default 30 s. */
  readonly leaseMs?: Duration;
  /** How long finished tasks, events and keys are kept, at least 1 s; default 7 days. */
  readonly retentionMs?: Duration;
  /** How long entries of the audit are kept, at least 1 s; default 400 days. */
  readonly auditRetentionMs?: Duration;
  /** How long a worker may be silent before it counts as lost, from 10 ms to 24 h; default 30 s. */
  readonly workerStaleMs?: Duration;
  /** How often a waiting claim looks for work without a hint, from 10 ms to 1 h; default 1 s. */
  readonly pollMs?: Duration;
  /** How often at least the reaper looks for expired leases, from 10 ms to 1 h; default 1 s. */
  readonly cleanupMs?: Duration;
  /** What triggers may do beside pushing tasks; default nothing. */
  readonly triggerHost?: TriggerHost | undefined;
  /** How long artifacts are kept after the end of their task, at least 1 s; default as long as finished tasks, and never longer. */
  readonly artifactRetentionMs?: Duration;
  /** What all artifacts may take, in bytes; default no bound. */
  readonly artifactQuota?: number | undefined;
  /** What the artifacts of one task may take, in bytes; default no bound. */
  readonly artifactTaskQuota?: number | undefined;
  /** Deletes bytes of artifacts where they lie. Undefined: this process has no such place, and leaves the duty to others. */
  readonly removeBlobs?: RemoveBlobs | undefined;
}

/** May be repeated: a key that has no bytes any more is fine. */
export type RemoveBlobs = (keys: readonly string[]) => Promise<void>;

/** The checked options of an engine, in milliseconds. */
export interface EngineSettings {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly auditRetentionMs: number;
  readonly workerStaleMs: number;
  readonly pollMs: number;
  readonly cleanupMs: number;
  readonly artifactRetentionMs: number;
  readonly artifactQuota: number | undefined;
  readonly artifactTaskQuota: number | undefined;
}

const DEFAULT_CLEANUP_MS = 1000;
export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000;
/** A year, and time to look at it. */
const DEFAULT_AUDIT_RETENTION_MS = 400 * 24 * 3_600_000;

const OPTIONS: ReadonlySet<string> = new Set([
  'store',
  'world',
  'leaseMs',
  'retentionMs',
  'auditRetentionMs',
  'workerStaleMs',
  'pollMs',
  'cleanupMs',
  'triggerHost',
  'artifactRetentionMs',
  'artifactQuota',
  'artifactTaskQuota',
  'removeBlobs',
] satisfies (keyof EngineOptions)[]);

export function checkSettings(options: EngineOptions): EngineSettings {
  checkOptions('engine options', options, OPTIONS);
  const retentionMs = checkRetentionMs(options.retentionMs ?? DEFAULT_RETENTION_MS);
  return {
    leaseMs: checkLeaseMs(options.leaseMs ?? DEFAULT_LEASE_MS),
    retentionMs,
    auditRetentionMs: checkRetentionMs(options.auditRetentionMs ?? DEFAULT_AUDIT_RETENTION_MS, 'auditRetentionMs'),
    workerStaleMs: checkStaleMs(options.workerStaleMs ?? DEFAULT_STALE_MS),
    pollMs: checkIntervalMs('pollMs', options.pollMs ?? SCAN_MS),
    cleanupMs: checkIntervalMs('cleanupMs', options.cleanupMs ?? DEFAULT_CLEANUP_MS),
    artifactRetentionMs: checkRetentionMs(options.artifactRetentionMs ?? retentionMs, 'artifactRetentionMs'),
    artifactQuota: checkQuota('artifactQuota', options.artifactQuota),
    artifactTaskQuota: checkQuota('artifactTaskQuota', options.artifactTaskQuota),
  };
}

function checkQuota(field: string, bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : whole(field, bytes, 0, Number.MAX_SAFE_INTEGER);
}
