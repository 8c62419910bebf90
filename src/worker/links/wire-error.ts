import { EngineError, type ErrorBody, fault, isErrorCode } from '../../core/errors.ts';

/** An EngineError from the error body of the other side. */
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

/** The error of requests that none of these nodes answers. */
export function unreachable(urls: readonly string[], cause?: unknown): EngineError {
  return fault('STORE_UNAVAILABLE', { problem: `nobody answers at ${urls.join(', ')}` }, { cause });
}
