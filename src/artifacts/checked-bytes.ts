import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Content } from '../core/artifact/artifact.ts';
import { fault } from '../core/errors.ts';

/**
 * The chunks of a stream, counted and hashed while they go by. Ends without an error only after exactly the announced bytes, so a caller that
 * makes a blob visible after its loop has checked them. One byte too many is refused before it is given out. An abort destroys the stream;
 * after any other failure it stays open, so that the connection behind it can still be answered.
 */
export async function* checkedBytes(
  bytes: Readable,
  content: Content,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  signal?.throwIfAborted();
  const stop = (): void => void bytes.destroy(asError(signal?.reason));
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of bytes.iterator({ destroyOnReturn: false })) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('The stream of a blob gives bytes, not text or objects.');
      size += chunk.length;
      if (size > content.size) throw mismatch(`more than the ${content.size} bytes that were announced`);
      hash.update(chunk);
      yield chunk;
      signal?.throwIfAborted();
    }
    if (size !== content.size) throw mismatch(`${size} bytes came, ${content.size} were announced`);
    const sha256 = hash.digest('hex');
    if (sha256 !== content.sha256) throw mismatch(`their SHA-256 is ${sha256}, not ${content.sha256}`);
  } finally {
    signal?.removeEventListener('abort', stop);
    // What becomes of it later is nobody's error here: an open stream without a listener would end the process.
    bytes.on('error', () => {});
  }
}

function mismatch(problem: string): Error {
  return fault('ARTIFACT_MISMATCH', { problem });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('The transfer was aborted.');
}
