import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fault } from '../../../core/errors.ts';
import type { ExecutionFilter, PersistenceBackend, Stored } from './backends.ts';
import { checkExecutionId, checkKey, isLatest } from './keys.ts';
import { fitting, type PruneOptions, prune } from './latest.ts';
import { textOf } from './stored-text.ts';

/** A context has 16 Mi characters at most, and a snapshot holds a few values of that kind. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Checkpoints as files: a folder for each run. What `save` has resolved is on the disk. */
export class LocalFileBackend implements PersistenceBackend {
  readonly folder: string;
  #writes = 0;

  constructor(folder = '.checkpoints') {
    this.folder = resolve(folder);
  }

  /** To a file beside it, to the disk, then in its place: a process that is killed in between leaves the one or the other. */
  async save(key: string, value: Stored): Promise<void> {
    const path = this.#pathOf(key);
    const folder = dirname(path);
    await mkdir(folder, { recursive: true });
    const beside = `${path}.${process.pid}.${++this.#writes}.tmp`;
    try {
      const file = await open(beside, 'wx');
      try {
        await file.writeFile(textOf(value));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, path);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
    await syncFolder(folder);
  }

  async load(key: string): Promise<Stored | null> {
    const path = this.#pathOf(key);
    try {
      if ((await stat(path)).size > MOST_BYTES) throw fault('TOO_LARGE', { field: key, maxBytes: MOST_BYTES });
      const text = await readFile(path, 'utf8');
      return isLatest(key) ? text.trim() : parsed(key, text);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await unlink(this.#pathOf(key)).catch(ignoreMissing);
  }

  async list(prefix: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for (const id of await this.#runs()) {
      for (const name of await namesIn(join(this.folder, id))) {
        if (!name.endsWith('.tmp')) keys.push(`${id}/${name}`);
      }
    }
    return keys.filter((key) => key.startsWith(prefix)).toSorted();
  }

  async listExecutionIds(filter: ExecutionFilter = {}): Promise<readonly string[]> {
    return fitting(this, await this.#runs(), filter);
  }

  async deleteExecution(executionId: string): Promise<void> {
    checkExecutionId(executionId);
    await rm(join(this.folder, executionId), { recursive: true, force: true });
  }

  /** Deletes old runs, and resolves to how many. */
  prune(options: PruneOptions): Promise<number> {
    return prune(this, options);
  }

  #pathOf(key: string): string {
    checkKey(key);
    return join(this.folder, key);
  }

  async #runs(): Promise<readonly string[]> {
    const entries = await readdir(this.folder, { withFileTypes: true }).catch(ignoreMissing);
    return (entries ?? [])
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .toSorted();
  }
}

function parsed(key: string, text: string): Stored {
  try {
    return JSON.parse(text) as Stored;
  } catch (error) {
    throw fault('INVALID_INPUT', { field: `checkpoint ${key}`, problem: `it is no JSON: ${(error as Error).message}` });
  }
}

/** A name in a folder is on the disk when the folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(ignoreMissing)) ?? [];

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
