/**
 * The states of a worker's incarnation; the position is the number that the stores write.
 *
 * `starting`: it has registered and not yet sent a heartbeat. `draining`: it takes no more work and finishes what it has. `offline`: it has
 * signed off. `lost`: it fell silent; only the reaper sets this, and a heartbeat brings it back.
 */
export const WORKER_STATES = ['starting', 'online', 'draining', 'offline', 'lost'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** The input schema of a handler. */
export interface HandlerSchema {
  readonly handler: string;
  /** JSON Schema, as JSON text. */
  readonly schema: string;
}

/** A schema, and the name of the worker that told it. */
export interface ToldSchema extends HandlerSchema {
  readonly worker: string;
}

/** Nobody fills in a form for a longer schema. */
export const MAX_SCHEMA_BYTES = 32_768;
/** All schemas of one worker together. */
export const MAX_SCHEMAS_BYTES = 262_144;

/** A worker without a heartbeat for this long is lost. */
export const DEFAULT_STALE_MS = 30_000;
export const DEFAULT_HEARTBEAT_MS = 10_000;
/** Each heartbeat is a write. */
export const MIN_HEARTBEAT_MS = 100;

/** How often a worker sends a heartbeat: at most a third of the lease, and at most a third of the silence that makes it lost. */
export function heartbeatOf(wantedMs: number, { leaseMs, staleMs }: { leaseMs: number; staleMs: number }): number {
  return Math.max(MIN_HEARTBEAT_MS, Math.floor(Math.min(wantedMs, leaseMs / 3, staleMs / 3)));
}
