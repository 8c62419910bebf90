/** The states from which a task goes on only if somebody runs it again. */

export const FINAL = ['completed', 'failed', 'cancelled'];
