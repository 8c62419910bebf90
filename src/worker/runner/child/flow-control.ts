/** Lines under way to the worker and not yet acknowledged: the most that the channel ever holds. */
export const WINDOW: number = 4 * 1024 * 1024;
/** What a line costs beside its text, so that a writer of empty lines meets the bound too. */
export const LINE_COST = 64;
