import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Content } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';

/** A value that lies in a file of this user alone. */
export interface Spooled extends Content {
  readonly path: string;
  remove(): Promise<void>;
}

/** Writes a value to a file, while it is hashed: its size and hash must be known before it travels. */
export async function spooled(path: string, what: string | Uint8Array | Readable, maxBytes: number): Promise<Spooled> {
  const remove = (): Promise<void> => rm(path, { force: true });
  const hash = createHash('sha256');
  let size = 0;
  async function* counted(source: AsyncIterable<unknown>): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of source) {
      const bytes = bytesOf(chunk);
      size += bytes.length;
      if (size > maxBytes)
        throw fault(
          'TOO_LARGE',
          { field: 'artifact', maxBytes },
          { hint: 'Write it to a file, and store that: { file: path }.' },
        );
      hash.update(bytes);
      yield bytes;
    }
  }
  try {
    await pipeline(readableOf(what), counted, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    return { path, size, sha256: hash.digest('hex'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** At once, and not by its characters or bytes. */
function readableOf(what: string | Uint8Array | Readable): Readable {
  if (what instanceof Readable) return what;
  if (typeof what === 'string' || what instanceof Uint8Array) return Readable.from([bytesOf(what)]);
  const problem = 'it is none of { file }, a text, bytes and a stream';
  throw fault('INVALID_INPUT', { field: 'artifact', problem });
}

function bytesOf(chunk: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw fault('INVALID_INPUT', { field: 'artifact', problem: 'its stream gives something else than bytes and texts' });
}
