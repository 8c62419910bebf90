/** The states of a task, and which of them are its end. */

export const TASK_STATES = ['waiting', 'scheduled', 'ready', 'running', 'completed', 'failed', 'cancelled'] as const;
export type TaskState = (typeof TASK_STATES)[number];

const FINAL: readonly string[] = ['completed', 'failed', 'cancelled'];

/** Whether a task in this state goes on only if somebody runs it again. */
export const isFinal = (state: string): boolean => FINAL.includes(state);
