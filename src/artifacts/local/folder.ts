import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { fault } from '../../core/errors.ts';

/**
 * A folder that is held open. On Linux the paths that it gives lead through its descriptor, so that what is done in it happens in the folder that
 * was opened: somebody who swaps it for a symbolic link meanwhile changes nothing. Elsewhere each step looks before it goes.
 */
export interface Folder {
  pathOf(name: string): string;
  /** Makes renames within it last. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const THROUGH_DESCRIPTORS = process.platform === 'linux' && existsSync('/proc/self/fd');
/** Windows cannot open a folder. */
const OPENS_FOLDERS = process.platform !== 'win32';
export const NO_FOLLOW: number = constants.O_NOFOLLOW ?? 0;

/** Opens the folder below a root, segment by segment, following no link below the root. `create`: makes those that are missing. */
export async function openFolder(root: string, segments: readonly string[], create: boolean): Promise<Folder> {
  let folder = await hold(root);
  let way = root;
  for (const segment of segments) {
    way = within(root, join(way, segment));
    const path = folder.pathOf(segment);
    try {
      if (create && (await makeFolder(path))) await folder.sync();
      const next = await hold(path, way);
      await folder.close();
      folder = next;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  return folder;
}

/** Whether it was not there. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function hold(path: string, shown: string = path): Promise<Folder> {
  // Also where folders are opened: the answer of `open` to a link differs between systems.
  if (!(await lstat(path)).isDirectory()) throw notAFolder(shown);
  if (!OPENS_FOLDERS) return { pathOf: (name) => join(path, name), sync: async () => {}, close: async () => {} };
  const handle = await openNoFollow(path, shown);
  const base = THROUGH_DESCRIPTORS ? `/proc/self/fd/${handle.fd}` : path;
  return { pathOf: (name) => join(base, name), sync: () => handle.sync(), close: () => handle.close() };
}

async function openNoFollow(path: string, shown: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | NO_FOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'ENOTDIR') throw notAFolder(shown);
    throw error;
  }
}

/** The second wall behind the form of keys. */
function within(root: string, path: string): string {
  const whole = resolve(path);
  if (!whole.startsWith(root.endsWith(sep) ? root : root + sep))
    throw fault('INVALID_INPUT', { field: 'key of a blob', problem: 'it leads out of the store' });
  return whole;
}

function notAFolder(path: string): Error {
  return fault('ARTIFACT_FAILED', { problem: `${path} is not a folder of the store; links are never followed` });
}
