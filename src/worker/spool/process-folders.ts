import { readlinkSync } from 'node:fs';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bornOf, isAlive } from './owner.ts';

/** A folder for each process, below one that is this user's alone. What a killed process has left is removed when the next one starts. */
export class ProcessFolders {
  readonly #base: string;
  /** Of this process. It is there only if somebody has made it. */
  readonly own: string;
  #ready: Promise<void> | undefined;

  /** `within`: where everybody may make folders; `name`: of the one for all processes of this user. */
  constructor(within: string, name: string) {
    this.#base = join(within, `${name}-${process.getuid?.() ?? 'user'}`);
    this.own = join(this.#base, [process.pid, bornOf(process.pid) ?? '', namespaceHere()].join('.'));
  }

  /** Before anything is written below `own`. */
  ready(): Promise<void> {
    this.#ready ??= this.#prepare();
    return this.#ready;
  }

  async sweep(remove: (folder: string) => Promise<void>): Promise<void> {
    for (const name of await readdir(this.#base).catch(() => [])) {
      const [pid = '', born, namespace] = name.split('.');
      // A process in another namespace has another number there.
      if (namespace !== namespaceHere()) continue;
      const owner = { url: '', name: '', incarnation: '', pid: Number(pid), ...(born === '' ? {} : { born }) };
      if (join(this.#base, name) !== this.own && !isAlive(owner)) await remove(join(this.#base, name));
    }
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

function namespaceHere(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}
