/** What a reviewer asks of the branch of a run is a task of this handler. */
export const REVIEW_HANDLER = 'loop-git';

/**
 * Handlers whose tasks only the engine's own code asks for, and nobody by a push or a spawn: their input says which branch of which repository is read,
 * changed or removed, and it is true because it was read from a run.
 */
export const OWN_HANDLERS: ReadonlySet<string> = new Set([REVIEW_HANDLER]);
