import { newerRelease } from './release-version.ts';

/**
 * What an updater remembers, in one file that it replaces whole. `version` is what it starts.
 *
 * A new release is on trial: `previous` is what it goes back to. The trial ends well when the worker was connected for a while, and badly
 * when it ends before that, does not connect in time, or has been started too often without a verdict.
 */
export interface UpdaterState {
  readonly version: string;
  readonly trial?: { readonly previous: string; readonly starts: number } | undefined;
  /** The newest release that has ever run here well: no older one is taken, nor the same again. One that failed its trial may come again. */
  readonly newest: string;
  /** The oldest release that may be installed, as the newest of all releases that were taken has said. */
  readonly floor: string;
  /** Upgrades in a row that came to nothing. */
  readonly failures: number;
  /** Calendar time: until then no upgrade is tried. */
  readonly notBefore?: number | undefined;
  /** It stays on its release until `notBefore`, because three upgrades have failed. */
  readonly pinned?: true | undefined;
  /** Why the last upgrade came to nothing. */
  readonly problem?: string | undefined;
}

export interface UpdaterTerms {
  /** After the first failure, and twice as long after the second. */
  readonly retryMs: number;
  readonly pinMs: number;
}

export const DEFAULT_TERMS: UpdaterTerms = { retryMs: 60_000, pinMs: 24 * 3_600_000 };
/** So many failures in a row pin the release. */
export const MOST_FAILURES = 3;
/** A trial that is cut short by the end of its host proves nothing, at first. */
export const MOST_STARTS = 3;

export function installedState(version: string, floor: string): UpdaterState {
  return { version, newest: version, floor, failures: 0 };
}

/** The release is unpacked, and the next start is its trial. */
export function beginTrial(
  state: UpdaterState,
  { version, minVersion }: { version: string; minVersion: string },
): UpdaterState {
  const { version: previous, failures } = state;
  return {
    version,
    trial: { previous, starts: 0 },
    newest: state.newest,
    floor: newerRelease(state.floor, minVersion) as string,
    failures,
  };
}

/** Counted before the start: an updater that is killed with its worker remembers it. */
export function startTrial(state: UpdaterState): UpdaterState {
  const { trial } = state;
  return trial === undefined ? state : { ...state, trial: { ...trial, starts: trial.starts + 1 } };
}

/** Whether this start is one too many. */
export function isTriedOut({ trial }: UpdaterState): boolean {
  return trial !== undefined && trial.starts >= MOST_STARTS;
}

export function trialPassed({ version, newest, floor }: UpdaterState): UpdaterState {
  return { version, newest: newerRelease(newest, version) as string, floor, failures: 0 };
}

/** Back to the release before, once: that one has no trial. */
export function rollBack(state: UpdaterState, problem: string, now: number, terms: UpdaterTerms): UpdaterState {
  const { trial, ...rest } = state;
  return upgradeFailed({ ...rest, version: trial?.previous ?? state.version }, problem, now, terms);
}

export function upgradeFailed(state: UpdaterState, problem: string, now: number, terms: UpdaterTerms): UpdaterState {
  const { version, newest, floor } = state;
  const failures = state.failures + 1;
  const kept = { version, newest, floor, problem };
  if (failures >= MOST_FAILURES) return { ...kept, failures: 0, notBefore: now + terms.pinMs, pinned: true };
  return { ...kept, failures, notBefore: now + terms.retryMs * failures };
}

/** The network says nothing about the release: it is tried again later, and does not count. */
export function notReached(state: UpdaterState, problem: string, now: number, { retryMs }: UpdaterTerms): UpdaterState {
  return { ...state, problem, notBefore: now + retryMs };
}

/** Whether an order to upgrade is obeyed now. One on trial has an upgrade under way. */
export function mayUpgrade({ trial, notBefore = 0 }: UpdaterState, now: number): boolean {
  return trial === undefined && now >= notBefore;
}
