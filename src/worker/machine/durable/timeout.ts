import { StateError } from '../../../flow/machine/scopes.ts';

/** The error of a wait that took too long. */
export function timeout(ms: number | undefined): StateError {
  return new StateError('TimeoutError', ms === undefined ? 'it took too long' : `nothing came within ${ms} ms`);
}

export const timeoutOf = (timeoutMs: number | undefined): { readonly timeoutMs?: number } =>
  timeoutMs === undefined ? {} : { timeoutMs };
