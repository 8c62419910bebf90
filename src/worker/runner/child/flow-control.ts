/** With more output that the worker has not acknowledged, a writer that can wait should. */
export const WINDOW: number = 1024 * 1024;
/** The cost of a line beside its text, so that empty lines are bounded too. */
export const LINE_COST = 64;
