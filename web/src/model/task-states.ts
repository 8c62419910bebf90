/** The states of a task, and which of them are final. */

export const TASK_STATES = ['waiting', 'scheduled', 'ready', 'running', 'completed', 'failed', 'cancelled'] as const;
export type TaskState = (typeof TASK_STATES)[number];

const FINAL: readonly string[] = ['completed', 'failed', 'cancelled'];

/** A task in a final state runs again only if somebody asks for it. */
export const isFinal = (state: string): boolean => FINAL.includes(state);
