import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bornOf, isAlive } from '../spool/owner.ts';
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
  readonly #base: string;
  readonly #own: string;
  #ready: Promise<void> | undefined;

  /** `fallback`: the folder for temporary files. */
  constructor(fallback: string, memory = MEMORY) {
    this.#base = join(isShown(memory) ? memory : fallback, `leasehold-secrets-${process.getuid?.() ?? 'user'}`);
    this.#own = join(this.#base, [process.pid, bornOf(process.pid) ?? '', namespaceHere()].join('.'));
  }

  forAttempt(): AttemptFiles {
    const folder = join(this.#own, randomUUID());
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
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#base).catch(() => [])) {
      const [pid = '', born, namespace] = name.split('.');
      // A process in another namespace has another number there.
      if (namespace !== namespaceHere()) continue;
      const owner = { url: '', name: '', incarnation: '', pid: Number(pid), ...(born === '' ? {} : { born }) };
      if (join(this.#base, name) !== this.#own && !isAlive(owner)) await wipeAll(join(this.#base, name));
    }
  }

  async #write(folder: string, path: string, text: string): Promise<void> {
    this.#ready ??= this.#prepare();
    await this.#ready;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
  }

  /** Everybody may make folders there: only one that is this user's, and nobody else's business, is used. */
  async #prepare(): Promise<void> {
    await mkdir(this.#base, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const stat = await lstat(this.#base);
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0)
      throw new Error(`${this.#base} is not a folder of this user alone`);
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

function namespaceHere(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}
