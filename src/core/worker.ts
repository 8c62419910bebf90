/**
 * The life of a worker's incarnation; the position is the number that the stores write.
 *
 * `starting`: it has registered and not yet beaten. `draining`: it takes no more work and ends what it has. `offline`: it
 * said goodbye. `lost`: it fell silent, which nobody but the reaper says of it; a beat brings it back.
 */
export const WORKER_STATES = ['starting', 'online', 'draining', 'offline', 'lost'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** A worker that has not beaten for this long is lost. */
export const DEFAULT_STALE_MS = 30_000;
