import type { IncomingMessage } from 'node:http';
import { fault } from '../../core/errors.ts';
import type { BodyBudget } from './body-budget.ts';

/** The bound of a whole request. A batch of tasks may be large; each payload has its own bound. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** The same for routes that need no token. A code or a token is all that they take. */
export const MAX_OPEN_BODY_BYTES = 4096;
/** Keys, objects and arrays of it. Each key that a shape does not know costs more than its bytes: it is named in the refusal. */
export const MAX_OPEN_PARTS = 20;
/** A caller without a token sends its whole body within this time. */
const STRANGER_MS = 10_000;

export interface ReadOptions {
  readonly maxBytes: number;
  /** The key of the caller; undefined: it has no token. */
  readonly caller: string | undefined;
  readonly budget: BodyBudget;
}

type Done = (error: Error | null, text?: string) => void;

/**
 * Reads a body as text. A length that is too large is refused before a byte is read; what has no length is refused at the
 * byte that is too much. What is held is counted in the budget of the node until the body is complete or gone.
 */
export function readBody(stream: IncomingMessage, { maxBytes, caller, budget }: ReadOptions, done: Done): void {
  const declared = Number(stream.headers['content-length']);
  if (declared > maxBytes) return done(tooLarge(maxBytes));
  const chunks: Buffer[] = [];
  let size = 0;
  const late =
    caller === undefined
      ? setTimeout(() => end(incomplete(`it was not complete after ${STRANGER_MS / 1000} s`)), STRANGER_MS).unref()
      : undefined;
  const end = (error: Error | null): void => {
    clearTimeout(late);
    stream.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    budget.give(caller, size);
    if (error !== null) return done(error);
    done(null, (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)).toString());
  };
  const onData = (chunk: Buffer): void => {
    if (size + chunk.length > maxBytes) return end(tooLarge(maxBytes));
    const refusal = budget.take(caller, chunk.length);
    if (refusal !== undefined) return end(refusal);
    size += chunk.length;
    chunks.push(chunk);
  };
  const onEnd = (): void => end(null);
  const onGone = (): void => end(incomplete('it ended before it was complete'));
  stream.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
}

function incomplete(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'body', problem });
}

function tooLarge(maxBytes: number): Error {
  return fault('TOO_LARGE', { field: 'body', maxBytes });
}
