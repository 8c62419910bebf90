import { fault } from '../core/errors.ts';

export interface Promised {
  readonly size: number;
  readonly sha256: string;
}

/** Passes bytes on and checks them on their way. Whoever gets to the end has had the right ones; until then they are worth nothing. */
export async function* verified(
  bytes: AsyncIterable<Uint8Array>,
  { size, sha256 }: Promised,
): AsyncGenerator<Uint8Array> {
  // Not by an import: pages of the web UI bundle this folder, and have no such module.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  let count = 0;
  for await (const chunk of bytes) {
    count += chunk.length;
    if (count > size) throw mismatch(`more than ${size} bytes came`);
    hash.update(chunk);
    yield chunk;
  }
  if (count < size) throw mismatch(`${count} of ${size} bytes came`);
  if (hash.digest('hex') !== sha256) throw mismatch('their hash is another one');
}

function mismatch(problem: string): Error {
  return fault('ARTIFACT_MISMATCH', { problem });
}
