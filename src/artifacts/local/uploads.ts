import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, unlink } from 'node:fs/promises';
import { onDisk } from './disk-fault.ts';
import { type Folder, NO_FOLLOW, openFolder } from './folder.ts';

const NAME = /^[0-9a-f]{32}$/;
/** Every write moves the time of its file: one that is older belongs to a process that has died. */
const STALE_MS = 24 * 60 * 60_000;
const UPLOADS: readonly string[] = ['uploads'];

/** A file that nobody reads yet. */
export interface Upload {
  readonly file: FileHandle;
  /** Makes it durable and puts it where readers look. */
  moveTo(target: Folder, name: string): Promise<void>;
  /** May follow `moveTo`; without it, nothing of the upload is left. */
  end(): Promise<void>;
}

export async function beginUpload(root: string): Promise<Upload> {
  const folder = await openFolder(root, UPLOADS, true);
  const path = folder.pathOf(randomBytes(16).toString('hex'));
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, 0o600);
  } catch (error) {
    await folder.close();
    throw error;
  }
  let moved = false;
  return {
    file,
    async moveTo(target, name) {
      await file.sync();
      await rename(path, target.pathOf(name));
      moved = true;
      await target.sync();
    },
    async end() {
      await file.close();
      if (!moved) await unlink(path).catch(() => {}); // an old one is swept when the store opens
      await folder.close();
    },
  };
}

/** Removes what processes that have died left half. Uploads of others that live are younger. */
export async function sweepUploads(root: string, now: number): Promise<void> {
  await onDisk('sweeping half uploads', async () => {
    const folder = await openFolder(root, UPLOADS, true);
    try {
      for (const name of await readdir(folder.pathOf('.'))) {
        if (!NAME.test(name)) continue;
        const path = folder.pathOf(name);
        const stat = await lstat(path).catch(() => undefined);
        if (stat?.isFile() && now - stat.mtimeMs > STALE_MS) await unlink(path).catch(() => {});
      }
    } finally {
      await folder.close();
    }
  });
}
