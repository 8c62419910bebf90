/** The result of one check. */
export interface Finding {
  /** A word or two. */
  readonly check: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly says: string;
  /** What to do about it; absent where all is well. */
  readonly todo?: string;
}

export function ok(check: string, says: string): Finding {
  return { check, verdict: 'ok', says };
}

export function warn(check: string, says: string, todo: string): Finding {
  return { check, verdict: 'warn', says, todo };
}

export function fail(check: string, says: string, todo: string): Finding {
  return { check, verdict: 'fail', says, todo };
}
