/** A small file for each workspace, written before anything else of it: what a crash leaves is always known. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readWorkspaceSpec } from '../core/workspace/spec.ts';
import type { WorkspaceSpec } from '../core/workspace/workspace.ts';

export interface WorkspaceRecord {
  /** The name of its folder. */
  readonly key: string;
  readonly task: string;
  readonly attempt: number;
  readonly run?: string | undefined;
  /** `preparing`: it was never ready. `kept`: somebody wanted it kept. `failed`: it could not be archived or removed. */
  readonly state: 'preparing' | 'ready' | 'kept' | 'failed';
  readonly spec: WorkspaceSpec;
  /** Where the files are; undefined: not known yet. */
  readonly path?: string | undefined;
  /** Of a worktree of a repository of a root: the folder of that repository. */
  readonly repository?: string | undefined;
  /** The folder of the cache that it borrows from. */
  readonly cache?: string | undefined;
  /** Calendar time in milliseconds. */
  readonly at: number;
}

const STATES = ['preparing', 'ready', 'kept', 'failed'];
const KEY = /^[a-z0-9][a-z0-9-]{0,99}$/;

export const isKey = (text: string): boolean => KEY.test(text);

export class Records {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(record: WorkspaceRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = join(this.#folder, `${record.key}.json`);
    await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#folder, `${key}.json`), { force: true });
  }

  async all(): Promise<readonly WorkspaceRecord[]> {
    const names = (await readdir(this.#folder).catch(() => [])).filter((name) => name.endsWith('.json'));
    const read = await Promise.all(names.map((name) => this.read(name.slice(0, -'.json'.length))));
    return read.filter((one) => one !== undefined);
  }

  /** Undefined: there is none that can be read. */
  async read(key: string): Promise<WorkspaceRecord | undefined> {
    if (!isKey(key)) return undefined;
    try {
      const given = JSON.parse(await readFile(join(this.#folder, `${key}.json`), 'utf8')) as WorkspaceRecord;
      const right = given.key === key && STATES.includes(given.state) && 'spec' in readWorkspaceSpec(given.spec);
      return right ? given : undefined;
    } catch {
      return undefined;
    }
  }
}
