import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Content } from '../../core/artifact/artifact.ts';
import { giveBack } from '../../core/artifact/give-back.ts';
import { fault } from '../../core/errors.ts';
import { hashing } from './hash-thread.ts';

/** Read and written at once. Each costs a turn of a thread, so that many small ones are slow where the processors are busy. */
const CHUNK = 512 * 1024;

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

/**
 * The bytes of a file. The last of them come only if all were those that were announced, so that a file which has changed never arrives whole.
 * `checkedThere`: whoever takes them hashes them too, and refuses others, so that they are only counted here.
 */
export async function* announcedBytes(
  path: string,
  { size, sha256 }: Content,
  {
    onProgress,
    checkedThere = false,
  }: { readonly onProgress?: ((bytes: number) => void) | undefined; readonly checkedThere?: boolean } = {},
): AsyncGenerator<Buffer, void, void> {
  const hash = checkedThere ? undefined : hashing(size);
  let [gone, read] = [0, 0];
  let held: Buffer | undefined;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
      if (held !== undefined) {
        yield held;
        onProgress?.((gone += held.length));
      }
      read += chunk.length;
      if (read > size) break;
      await hash?.update(chunk);
      held = chunk;
    }
    if (read !== size || (hash !== undefined && (await hash.digest()) !== sha256))
      throw fault('ARTIFACT_MISMATCH', { name: path, problem: 'the file has changed since it was announced' });
  } finally {
    hash?.drop();
  }
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
  const hash = hashing(size);
  let come = 0;
  try {
    const target = await open(part, 'wx', 0o600);
    try {
      await writeBehind(target, bytes, signal, (chunk) => {
        come += chunk.length;
        if (come > size) throw mismatch(name, `there are more than the ${size} that it has`);
        onProgress?.(come);
        return hash.update(chunk);
      });
    } finally {
      await target.close();
    }
    if (come !== size) throw mismatch(name, `${come} of ${size} have come`);
    if ((await hash.digest()) !== sha256) throw mismatch(name, 'their hash is another one');
    await rename(part, path);
  } catch (error) {
    bytes.destroy();
    await rm(part, { force: true });
    throw error;
  } finally {
    hash.drop();
  }
}

/** While some chunks are written, the next ones come and are looked at. */
async function writeBehind(
  target: FileHandle,
  bytes: Readable,
  signal: AbortSignal | undefined,
  look: (chunk: Buffer) => Promise<void> | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  if (signal !== undefined) addAbortSignal(signal, bytes);
  let writing: Promise<unknown> = Promise.resolve();
  let batch: Buffer[] = [];
  let held = 0;
  const flush = async (): Promise<void> => {
    await writing;
    const [chunks, count] = [batch, held];
    [batch, held] = [[], 0];
    // They came from a connection or a file, for us alone.
    writing = writeAll(target, chunks, count).then(() => chunks.forEach(giveBack));
    writing.catch(() => {}); // thrown where it is awaited next
  };
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      const room = look(chunk);
      if (room !== undefined) await room;
      batch.push(chunk);
      held += chunk.length;
      if (held >= CHUNK) await flush();
    }
    if (held > 0) await flush();
    await writing;
  } catch (error) {
    await writing.catch(() => {});
    signal?.throwIfAborted();
    throw error;
  }
}

/** A disk that fills up may take a part of what it is given. */
async function writeAll(target: FileHandle, chunks: readonly Buffer[], count: number): Promise<void> {
  const { bytesWritten } = await target.writev(chunks);
  if (bytesWritten < count) await target.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
}

function mismatch(name: string, problem: string): Error {
  return fault('ARTIFACT_MISMATCH', { name, problem });
}
