import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { storeFile } from '../store-name.ts';

/** Group and others. */
const OTHERS = 0o077;
const IGNORE = '.gitignore';

/** Makes the data folder for this user alone, with a note to git that nothing in it belongs into a repository. */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isAround(folder)) return;
  try {
    writeFileSync(join(folder, IGNORE), '*\n', { flag: 'wx', mode: 0o600 });
  } catch {
    // It is there, or this user may not write here: what needs the folder reports that.
  }
}

/** A folder in which this process works is not only ours: `--data-dir .` in a project. Its own files are tightened all the same. */
function isAround(folder: string): boolean {
  const inside = relative(resolve(folder), process.cwd());
  return inside === '' || !(inside.startsWith('..') || resolve(inside) === inside);
}

/** Makes the data folder if the store of this URL lies in it. */
export function makeFolderOf(dataDir: string, url: string): void {
  const file = storeFile(url);
  if (file !== undefined && dirname(resolve(file)) === resolve(dataDir)) makeDataFolder(dataDir);
}

/** What a store, a token or a secret is in: the data folder, and the file of a store, which may lie elsewhere. */
export interface OwnFiles {
  readonly folder?: string | undefined;
  readonly file?: string | undefined;
}

/**
 * Files and folders that users besides the owner can get at. Of a folder in which this process works only the files with
 * names of ours count.
 */
export function openToOthers({ folder, file }: OwnFiles): readonly string[] {
  const all: string[] = [];
  if (folder !== undefined) all.push(...(isAround(folder) ? [] : [folder]), ...filesIn(folder));
  for (const tail of STORE_TAILS) if (file !== undefined) all.push(`${file}${tail}`);
  return [...new Set(all.map((path) => resolve(path)))].filter((path) => ((statOf(path)?.mode ?? 0) & OTHERS) !== 0);
}

/** Takes the rights of others away where this user is the owner, such as from what an older version has made. */
export function tighten(files: OwnFiles): void {
  const uid = process.getuid?.();
  for (const path of openToOthers(files)) {
    const stat = statOf(path);
    if (stat === undefined || stat.uid !== uid) continue;
    try {
      chmodSync(path, stat.mode & 0o700);
    } catch {
      // A file system without modes, or the file is gone. The doctor reports what stays open.
    }
  }
}

/** SQLite gives the log and its index the mode of the store, but only when it makes them. */
const STORE_TAILS = ['', '-wal', '-shm', '-journal', '-bell'] as const;
const OURS = /^(leasehold\.db(-wal|-shm|-journal|-bell)?|token|node\.json|cluster-secret)$/;

function filesIn(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder, { withFileTypes: true });
    const own = isAround(folder) ? names.filter(({ name }) => OURS.test(name)) : names;
    // Not what a link leads to: that lies elsewhere.
    return own.filter((entry) => entry.isFile() || entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function statOf(path: string): Stats | undefined {
  try {
    const stat = lstatSync(path);
    return stat.isSymbolicLink() ? statSync(path) : stat;
  } catch {
    // It is not there, or a part of its path is no folder.
    return undefined;
  }
}
