/** The name under which machines have the hooks of pools. By itself, so that a run without them loads no store. */
export const HOOKS_NAME = 'distributed-worker';
