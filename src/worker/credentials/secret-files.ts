import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProcessFolders } from '../spool/process-folders.ts';
import { wipeFile } from '../vault/files.ts';

/** Memory that looks like a disk: nothing of it is left after a power failure. */
const MEMORY = '/dev/shm';

export interface AttemptFiles {
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

/**
 * Files with secrets, for programs that read them: one folder for each process and in it one for each attempt, in memory where the system
 * has such a place. What a killed process has left is removed when the next one starts.
 */
export class SecretFiles {
  readonly #folders: ProcessFolders;

  /** `fallback`: the folder for temporary files. */
  constructor(fallback: string, memory = MEMORY) {
    this.#folders = new ProcessFolders(isShown(memory) ? memory : fallback, 'leasehold-secrets');
  }

  forAttempt(): AttemptFiles {
    const folder = join(this.#folders.own, randomUUID());
    let files = 0;
    const made: Promise<void>[] = [];
    return {
      write: async (name, text) => {
        const path = join(folder, `${++files}-${name}`);
        const writing = this.#write(folder, path, text);
        made.push(writing);
        await writing;
        return path;
      },
      remove: async () => {
        await Promise.allSettled(made);
        if (made.length > 0) await wipeAll(folder);
      },
    };
  }

  /** Removes what processes have left that are gone. */
  sweep(): Promise<void> {
    return this.#folders.sweep(wipeAll);
  }

  async #write(folder: string, path: string, text: string): Promise<void> {
    await this.#folders.ready();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  }
}

async function wipeAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isFile()) await wipeFile(join(entry.parentPath, entry.name));
  await rm(folder, { recursive: true, force: true });
}

function isShown(path: string): boolean {
  try {
    return process.getBuiltinModule('node:fs').statSync(path).isDirectory();
  } catch {
    return false;
  }
}
