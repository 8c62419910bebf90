/** Folders of workspaces below the roots of a worker, and files below them. Real paths are compared: no link leads out. */
import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fault } from '../core/errors.ts';
import { readPathBelow, readWorkspaceName } from '../core/workspace/workspace-name.ts';

/** More of a plan is nobody's plan. */
const MOST_FILE = 1024 * 1024;

/** Who has roots: folders by the names that tasks have for them. */
export interface Rooted {
  readonly roots: ReadonlyMap<string, string>;
}

/** The folder of a workspace. It is made if it is not there, unless `make` is false. */
export async function workspaceFolder({ roots }: Rooted, workspace: string, make = true): Promise<string> {
  const name = readWorkspaceName(workspace);
  if (typeof name === 'string') throw refuse(name);
  const root = roots.get(name.root);
  if (root === undefined) {
    const known = [...roots.keys()].sort().join(', ');
    throw fault(
      'NOT_FOUND',
      { kind: 'root of workspaces', id: name.root },
      { hint: `This worker has ${known === '' ? 'none; give it one with --loop-root NAME=FOLDER' : known}.` },
    );
  }
  const base = await realpath(root).catch(() => {
    throw refuse(`the root "${name.root}" of this worker is no folder`);
  });
  let folder = base;
  for (const part of name.below) {
    const next = join(folder, part);
    if (make && (await lstat(next).catch(() => undefined)) === undefined) await mkdir(next).catch(ifThere);
    folder = await realpath(next).catch(() => {
      throw refuse(`"${part}" leads nowhere`);
    });
    if (!isBelow(folder, base)) throw refuse(`"${part}" leads out of the root "${name.root}"`);
    if (!(await stat(folder)).isDirectory()) throw refuse(`"${part}" is no folder`);
  }
  return folder;
}

/** The text of a file of a workspace; undefined: there is none. */
export async function fileBelow(folder: string, path: string): Promise<string | undefined> {
  const parts = readPathBelow(path);
  if (parts === undefined) throw refuse(`${JSON.stringify(path.slice(0, 80))} is no path below it`);
  const file = await realpath(join(folder, ...parts)).catch(() => undefined);
  if (file === undefined) return undefined;
  if (!isBelow(file, folder)) throw refuse(`"${path}" leads out of it`);
  // A pipe would be waited for, and a link that came meanwhile is not followed.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    // A folder on the way may have become a link since it was looked at. Where the system tells what was opened, that decides.
    const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => file);
    if (!isBelow(opened, folder)) throw refuse(`"${path}" leads out of it`);
    const { size } = await handle
      .stat()
      .then((found) => (found.isFile() ? found : Promise.reject(refuse(`"${path}" is no file`))));
    if (size > MOST_FILE) throw refuse(`"${path}" has more than ${MOST_FILE} bytes`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

export const isBelow = (path: string, base: string): boolean =>
  path === base || path.startsWith(base.endsWith(sep) ? base : base + sep);

function ifThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'workspace', problem });
}
