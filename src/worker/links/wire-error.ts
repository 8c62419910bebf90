import { EngineError, type ErrorBody, fault, isErrorCode } from '../../core/errors.ts';

/** An error of the other side, as if it were our own. */
export function wireError({ code, message, hint, details }: ErrorBody): EngineError {
  const own = fault(isErrorCode(code) ? code : 'INTERNAL', details);
  return new EngineError({
    code: own.code,
    status: own.status,
    retryable: own.retryable,
    message,
    hint,
    details,
  });
}
