/** Priorities the other way round, so that ascending order is claim order; both fill 16 bits. */
export const prioOf = (priority: number): number => ~priority;
export const priorityOf = (prio: number): number => ~prio;
