import { randomUUID } from 'node:crypto';
import { chmod, type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files that are being written begin so. One that is old was left by a crash. */
const UNFINISHED = '.new-';
const LEFT_MS = 60_000;
const OTHERS = 0o077;

/** A folder for this user alone. */
export async function privateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { mode, uid } = await stat(path);
  if (uid === process.getuid?.() && (mode & OTHERS) !== 0) await chmod(path, 0o700);
}

/**
 * Writes a file whole: after a crash there is the old one or the new one. The bytes of the old one are overwritten afterwards, as far as
 * the file system writes in place.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const old = await openOld(path);
  try {
    await viaNewFile(path, text, (from) => rename(from, path));
    await old?.overwrite();
  } finally {
    await old?.close();
  }
}

/** As `replaceFile`, unless the file is there. Of two processes that do this at once, one writes. False: it was there. */
export async function writeFirst(path: string, text: string): Promise<boolean> {
  try {
    await viaNewFile(path, text, (from) => link(from, path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

async function viaNewFile(path: string, text: string, put: (from: string) => Promise<void>): Promise<void> {
  const fresh = join(dirname(path), UNFINISHED + randomUUID());
  try {
    const file = await open(fresh, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await put(fresh);
    await syncFolder(dirname(path));
  } finally {
    await rm(fresh, { force: true });
  }
}

/** Overwrites a file and removes it. */
export async function wipeFile(path: string): Promise<void> {
  const old = await openOld(path);
  try {
    await old?.overwrite();
    await rm(path, { force: true });
    await syncFolder(dirname(path)).catch(() => {});
  } finally {
    await old?.close();
  }
}

/** Removes what a crash has left half written. */
export async function removeUnfinished(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > LEFT_MS) await wipeFile(join(folder, name));
  }
}

interface OldFile {
  overwrite(): Promise<void>;
  close(): Promise<void>;
}

/** Held open while another takes its name, because its bytes can only be reached through it then. */
async function openOld(path: string): Promise<OldFile | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch {
    return undefined;
  }
  return {
    overwrite: async () => {
      const { size } = await file.stat();
      await file.write(Buffer.alloc(size), 0, size, 0);
      await file.sync();
    },
    close: () => file.close(),
  };
}

/** Without it a name may be gone after a power failure, although the file was synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
