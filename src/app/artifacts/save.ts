import { randomUUID } from 'node:crypto';
import { link, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fault } from '../../core/errors.ts';

export interface SaveOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes that have been written so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Replaces a file that is there. */
  readonly overwrite?: boolean | undefined;
}

/** Writes beside the path, and takes its name when all is there: a reader of the path sees the whole file or none. */
export async function saveBytes(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  options: SaveOptions = {},
): Promise<void> {
  const { onProgress, overwrite = false } = options;
  const beside = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID()}.part`);
  const file = await open(beside, 'wx').catch((cause: unknown) => {
    throw cannotWrite(path, cause);
  });
  try {
    let count = 0;
    for await (const chunk of bytes) {
      await file.writeFile(chunk);
      count += chunk.length;
      onProgress?.(count);
    }
    await file.sync();
    await file.close();
    if (overwrite) await rename(beside, path);
    else await link(beside, path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === undefined || (error as Error).name === 'EngineError'
      ? error
      : cannotWrite(path, error);
  } finally {
    await file.close().catch(() => {});
    // It is there no more where it was renamed.
    await unlink(beside).catch(() => {});
  }
}

function cannotWrite(path: string, cause: unknown): Error {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'EEXIST') {
    const hint = 'Name another file, or say that it may be replaced: --force, or the option overwrite.';
    return fault('CONFLICT', { problem: `${path} is there already` }, { cause, hint });
  }
  return fault('INVALID_INPUT', { field: 'output', problem: `${path} cannot be written (${message})` }, { cause });
}
