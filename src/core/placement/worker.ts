/**
 * The life of a worker's incarnation; the position is the number that the stores write.
 *
 * `starting`: it has registered and not yet beaten. `draining`: it takes no more work and ends what it has. `offline`: it
 * said goodbye. `lost`: it fell silent, which nobody but the reaper says of it; a beat brings it back.
 */
export const WORKER_STATES = ['starting', 'online', 'draining', 'offline', 'lost'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** What a handler takes. */
export interface HandlerSchema {
  readonly handler: string;
  /** JSON Schema, as JSON text. */
  readonly schema: string;
}

/** Of a longer schema nobody fills in a form. */
export const MAX_SCHEMA_BYTES = 32_768;
/** All schemas that one worker tells of. */
export const MAX_SCHEMAS_BYTES = 262_144;

/** A worker that has not beaten for this long is lost. */
export const DEFAULT_STALE_MS = 30_000;
export const DEFAULT_HEARTBEAT_MS = 10_000;
/** Each beat is a write. */
export const MIN_HEARTBEAT_MS = 100;

/** How often a worker says that it lives: at a third of a lease that is short, and of the silence that makes it lost. */
export function heartbeatOf(wantedMs: number, { leaseMs, staleMs }: { leaseMs: number; staleMs: number }): number {
  return Math.max(MIN_HEARTBEAT_MS, Math.floor(Math.min(wantedMs, leaseMs / 3, staleMs / 3)));
}
