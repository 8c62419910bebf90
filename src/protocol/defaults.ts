/** What the table says for who does not: read by who answers without it, since the table itself takes long to load. */

/** Of a list. */
export const PER_PAGE = 50;
/** Tasks of a queue that one call looks at. */
export const PER_SWEEP = 1000;
