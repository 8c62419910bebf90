import type { z } from 'zod';
import { EngineError, fault } from '../../core/errors.ts';
import type { WireError } from '../../protocol/answers.ts';

/** An EngineError from the error body of the other side. */
export function wireError({ code, message, hint, details }: z.infer<typeof WireError>): EngineError {
  const own = fault(code, details);
  return new EngineError({
    code: own.code,
    status: own.status,
    retryable: own.retryable,
    message,
    hint,
    details,
  });
}

/** The error of a request whose answer is none: the other side is no node, or a broken one. What was asked may have happened. */
export function noAnswer(type: string, cause: unknown): EngineError {
  return fault(
    'INTERNAL',
    { problem: `the node answered ${type} with something that is no answer to it` },
    { hint: 'Check that the address is that of a node of leasehold, and the version of that node.', cause },
  );
}

/** The error of requests that none of these nodes answers. */
export function unreachable(urls: readonly string[], cause?: unknown): EngineError {
  return fault('STORE_UNAVAILABLE', { problem: `no node answers at ${urls.join(', ')}` }, { cause });
}
