export const MIN_LEASE_MS = 100;
export const MIN_STALE_MS = 1000;
export const MIN_INTERVAL_MS = 10;
export const MAX_BOUND = 1_000_000_000;
