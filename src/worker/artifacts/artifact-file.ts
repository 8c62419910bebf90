import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Content } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';

const CHUNK = 256 * 1024;

/** What a file holds now. */
export async function contentOf(path: string, signal?: AbortSignal): Promise<Content> {
  const found = await stat(path);
  if (!found.isFile()) throw fault('INVALID_INPUT', { field: 'artifact', problem: `${path} is not a file` });
  const hash = createHash('sha256');
  let size = 0;
  const options = { highWaterMark: CHUNK, ...(signal === undefined ? {} : { signal }) };
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { size, sha256: hash.digest('hex') };
}

/** The bytes of a file. The last of them come only if all were those that were announced, so that a file which has changed never arrives whole. */
export async function* announcedBytes(
  path: string,
  { size, sha256 }: Content,
  onProgress?: (bytes: number) => void,
): AsyncGenerator<Buffer, void, void> {
  const hash = createHash('sha256');
  let [gone, read] = [0, 0];
  let held: Buffer | undefined;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
    if (held !== undefined) {
      yield held;
      onProgress?.((gone += held.length));
    }
    read += chunk.length;
    if (read > size) break;
    hash.update(chunk);
    held = chunk;
  }
  if (read !== size || hash.digest('hex') !== sha256)
    throw fault('ARTIFACT_MISMATCH', { name: path, problem: 'the file has changed since it was announced' });
  if (held === undefined) return;
  yield held;
  onProgress?.(gone + held.length);
}

/** Writes the bytes to a file, which is there only when all of them are right: until then they lie beside it. */
export async function receiveFile(
  bytes: Readable,
  { size, sha256, name }: Content & { readonly name: string },
  path: string,
  {
    signal,
    onProgress,
  }: { readonly signal?: AbortSignal | undefined; readonly onProgress?: ((n: number) => void) | undefined } = {},
): Promise<void> {
  const part = join(dirname(path), `.${randomUUID()}.part`);
  const hash = createHash('sha256');
  let come = 0;
  async function* counted(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of source) {
      come += chunk.length;
      if (come > size) throw mismatch(name, `there are more than the ${size} that it has`);
      hash.update(chunk);
      onProgress?.(come);
      yield chunk;
    }
  }
  try {
    const target = createWriteStream(part, { flags: 'wx', mode: 0o600 });
    await pipeline(bytes, counted, target, signal === undefined ? {} : { signal });
    if (come !== size) throw mismatch(name, `${come} of ${size} have come`);
    if (hash.digest('hex') !== sha256) throw mismatch(name, 'their hash is another one');
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

function mismatch(name: string, problem: string): Error {
  return fault('ARTIFACT_MISMATCH', { name, problem });
}
