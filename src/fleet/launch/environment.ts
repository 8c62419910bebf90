import { handedOn } from '../../worker/handlers/shell.ts';

/** A worker that a pool starts runs code of tasks only if the settings of the pool say so. */
export const WORKER_DEFAULTS: Readonly<Record<string, string>> = { LEASEHOLD_ALLOW: 'none' };

/**
 * The part of the environment of this process that a program of a launcher gets. Without the marks of a task: this process may itself run
 * in one, and what it launches must not end with that.
 */
export function ownEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(handedOn(environment)).filter(([name]) => !name.startsWith('LEASEHOLD_')));
}
