/** Priorities inverted, so that ascending order is claim order. Both fill 16 bits. */
export const prioOf = (priority: number): number => ~priority;
export const priorityOf = (prio: number): number => ~prio;
