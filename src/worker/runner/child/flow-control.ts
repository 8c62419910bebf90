/** The most output that may be under way to the worker without an acknowledgement. */
export const WINDOW: number = 1024 * 1024;
/** The cost of a line beside its text, so that empty lines are bounded too. */
export const LINE_COST = 64;
