/**
 * The defaults of the table of routes. Code that answers without the table reads them here, because the table brings zod and
 * loads slowly.
 */

/** Items on a page of a list. */
export const PER_PAGE = 50;
/** Tasks of a queue that one call looks at. */
export const PER_SWEEP = 1000;
