/** The folder of a run's files below its workspace. What works there may put links anywhere: none is followed. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { runFolder } from '../../flow/loop/files/file-names.ts';
import { isBelow, workspaceFolder } from '../../workspace/shared-folder.ts';
import type { LoopHost } from './loop-host.ts';

export class RunFolder {
  readonly #path: string;
  readonly #below: string;

  private constructor(path: string, below: string) {
    this.#path = path;
    this.#below = below;
  }

  /** It is made if it is not there, and git leaves it alone wherever it lies: whoever commits, merges or looks for changes sees none of it. */
  static async open(host: Pick<LoopHost, 'roots'>, workspace: string, executionId: string): Promise<RunFolder> {
    const base = await workspaceFolder(host, workspace);
    const parts = runFolder(executionId);
    let path = base;
    for (const part of parts) {
      path = join(path, part);
      await mkdir(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      if (!(await lstat(path)).isDirectory()) throw refuse(`"${part}" is no folder`);
    }
    if ((await realpath(path)) !== path) throw refuse('a link leads to it');
    const folder = new RunFolder(path, parts.join('/'));
    await folder.write('.gitignore', '*\n');
    return folder;
  }

  /** Below the workspace. */
  pathOf(file: string): string {
    return `${this.#below}/${file}`;
  }

  /** All of it or nothing, in place of what has that name. */
  async write(file: string, text: string): Promise<void> {
    const begun = join(this.#path, `.${file}.${randomUUID()}`);
    try {
      const handle = await open(begun, 'wx', 0o644);
      try {
        // A folder on the way may have become a link meanwhile. Where the system tells what was opened, that decides.
        const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => begun);
        if (!isBelow(opened, this.#path)) throw refuse('a link leads to it');
        await handle.writeFile(text);
      } finally {
        await handle.close();
      }
      await rename(begun, join(this.#path, file));
    } catch (error) {
      await rm(begun, { force: true });
      throw error;
    }
  }

  /** Undefined: there is none, or more than this. */
  async read(file: string, maxBytes: number): Promise<string | undefined> {
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
    const handle = await open(join(this.#path, file), flags).catch(() => undefined);
    if (handle === undefined) return undefined;
    try {
      const found = await handle.stat();
      return found.isFile() && found.size <= maxBytes ? await handle.readFile('utf8') : undefined;
    } finally {
      await handle.close();
    }
  }
}

const refuse = (problem: string): Error => fault('WORKSPACE_FAILED', { problem: `the folder for files: ${problem}` });
