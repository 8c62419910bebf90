/** How an attempt ended; the position is the number in `attempt.outcome`. */
export const OUTCOMES = ['retried', 'released', 'expired', 'completed', 'failed', 'cancelled'] as const;
export type Outcome = (typeof OUTCOMES)[number];
