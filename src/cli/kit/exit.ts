import { type ErrorCode, isEngineError } from '../../core/errors.ts';

/** The exit statuses; scripts rely on them. */
export const EXIT = Object.freeze({
  fine: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  leaseLost: 5,
  /** For an updater: fetch a newer release, then start again. */
  upgrade: 42,
  interrupted: 130,
  terminated: 143,
});

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  INVALID_INPUT: EXIT.usage,
  INVALID_ID: EXIT.usage,
  UNKNOWN_OPTION: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  UNAUTHENTICATED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  WORKER_DISABLED: EXIT.refused,
  UPGRADE_REQUIRED: EXIT.upgrade,
  TICKET_REFUSED: EXIT.refused,
  WORKER_LEAVING: EXIT.refused,
  LEASE_LOST: EXIT.leaseLost,
};

/** The status for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  return (isEngineError(error) ? BY_CODE[error.code] : undefined) ?? EXIT.failed;
}

/** The status when a second signal cut the stop short: 128 and the number of the signal. */
export function exitCodeOfSignal(signal: StopSignal): number {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';
