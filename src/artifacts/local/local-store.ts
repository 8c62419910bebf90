import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath, unlink } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import type { Content } from '../../core/artifact/artifact.ts';
import { giveBack } from '../../core/artifact/give-back.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { placeOf } from '../blob-key.ts';
import type { BlobCall, BlobStore } from '../blob-store.ts';
import { checkedBytes } from '../checked-bytes.ts';
import { counted } from '../counted.ts';
import { type Range, rangeWithin } from '../range.ts';
import { onDisk } from './disk-fault.ts';
import { type Folder, NO_FOLLOW, openFolder } from './folder.ts';
import { Room, type TakenRoom } from './room.ts';
import { beginUpload, sweepUploads, type Upload } from './uploads.ts';

export interface LocalStoreOptions {
  /** The share of the disk that stays free; default 0.05. */
  readonly reserve?: number | undefined;
}

/** So many bytes are written at once; the next ones are read and hashed meanwhile. */
const WRITE_BYTES = 1024 * 1024;
const READ_BYTES = 256 * 1024;

/** A folder of this host. Whoever may write there may change what it holds, so it belongs to the node alone. */
export async function openLocalStore(path: string, options: LocalStoreOptions = {}): Promise<BlobStore> {
  if (!isAbsolute(path) || path.includes('\0'))
    throw fault('INVALID_INPUT', { field: 'place of artifacts', problem: 'its path is not absolute' });
  const root = await onDisk(`opening ${path}`, async () => {
    await mkdir(path, { recursive: true, mode: 0o700 });
    return await realpath(path);
  });
  await sweepUploads(root, Date.now());
  return new LocalStore(root, options.reserve ?? 0.05);
}

class LocalStore implements BlobStore {
  readonly kind = 'local';
  readonly #root: string;
  readonly #room: Room;

  constructor(root: string, reserve: number) {
    this.#root = root;
    this.#room = new Room(root, reserve);
  }

  async put(key: string, bytes: Readable, content: Content, call: BlobCall = {}): Promise<void> {
    const place = placeOf(key);
    call.signal?.throwIfAborted();
    const room = await this.#room.take(content.size);
    try {
      const upload = await onDisk('beginning an upload', () => beginUpload(this.#root));
      try {
        await write(upload, bytes, content, { room, call });
        call.signal?.throwIfAborted();
        await onDisk('making a blob visible', async () => {
          const target = await openFolder(this.#root, ['sha256', place.folder], true);
          try {
            await upload.moveTo(target, place.file);
          } finally {
            await target.close();
          }
        });
      } finally {
        await upload.end();
      }
    } finally {
      room.release();
    }
  }

  async get(key: string, options: BlobCall & Range = {}): Promise<Readable> {
    const handle = await this.#open(key);
    if (handle === undefined) throw fault('NOT_FOUND', { kind: 'blob', id: key });
    try {
      options.signal?.throwIfAborted();
      const { start, end } = rangeWithin((await handle.stat()).size, options);
      if (start === end) {
        await handle.close();
        return Readable.from([], { objectMode: false });
      }
      const stream = handle.createReadStream({ start, end: end - 1, highWaterMark: READ_BYTES });
      if (options.signal !== undefined) addAbortSignal(options.signal, stream);
      return counted(stream, options.onProgress);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async size(key: string): Promise<number | undefined> {
    const handle = await this.#open(key);
    if (handle === undefined) return undefined;
    try {
      return (await onDisk('reading a size', () => handle.stat())).size;
    } finally {
      await handle.close();
    }
  }

  async remove(keys: readonly string[], { signal }: BlobCall = {}): Promise<void> {
    for (const place of keys.map(placeOf)) {
      signal?.throwIfAborted();
      await onDisk('removing a blob', () => this.#within(place.folder, (folder) => unlink(folder.pathOf(place.file))));
    }
  }

  async check({ signal }: BlobCall = {}): Promise<void> {
    signal?.throwIfAborted();
    (await this.#room.take(0)).release();
    await onDisk('writing and reading a probe', async () => {
      const upload = await beginUpload(this.#root);
      try {
        await upload.file.write(Buffer.from('probe'), 0, 5, 0);
        await upload.file.sync();
        const { buffer } = await upload.file.read(Buffer.alloc(5), 0, 5, 0);
        if (buffer.toString() !== 'probe') throw new Error('what was written is not what is read');
      } finally {
        await upload.end();
      }
    });
  }

  async close(): Promise<void> {}

  /** A plain file that is open for reading; undefined: there is none. */
  async #open(key: string): Promise<FileHandle | undefined> {
    const place = placeOf(key);
    return await onDisk('reading a blob', () =>
      this.#within(place.folder, async (folder) => {
        // NONBLOCK: a pipe that somebody planted would wait for its writer.
        const handle = await open(
          folder.pathOf(place.file),
          constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0),
        );
        if ((await handle.stat()).isFile()) return handle;
        await handle.close();
        throw fault('ARTIFACT_FAILED', { problem: `what lies at ${key} is not a file` });
      }),
    );
  }

  /** Undefined: the folder, or what is asked of it, is not there. A root that is gone is another thing. */
  async #within<T>(name: string, run: (folder: Folder) => Promise<T>): Promise<T | undefined> {
    const root = await openFolder(this.#root, [], false);
    await root.close();
    try {
      const folder = await openFolder(this.#root, ['sha256', name], false);
      try {
        return await run(folder);
      } finally {
        await folder.close();
      }
    } catch (error) {
      if (!isEngineError(error) && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

async function write(
  { file }: Upload,
  bytes: Readable,
  content: Content,
  { room, call }: { readonly room: TakenRoom; readonly call: BlobCall },
): Promise<void> {
  let batch: Uint8Array[] = [];
  let size = 0;
  let total = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    await writing;
    const chunks = batch;
    const count = size;
    batch = [];
    size = 0;
    writing = onDisk('writing a blob', () => writeAll(file, chunks, count)).then(() => {
      if (call.spent === true) for (const chunk of chunks) giveBack(chunk);
      room.used(count);
      call.onProgress?.((total += count));
    });
    writing.catch(() => {}); // thrown where it is awaited next
  };
  try {
    for await (const chunk of checkedBytes(bytes, content, call.signal)) {
      batch.push(chunk);
      size += chunk.length;
      if (size >= WRITE_BYTES) await flush();
    }
    if (size > 0) await flush();
  } finally {
    await writing;
  }
}

/** A disk that fills up may take a part of what it is given. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[], count: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten < count) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
}
