import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a release is in a folder. */
export const MANIFEST_FILE = 'manifest.json';
export const BUNDLE_FILE = 'worker.bundle';

/** In a checkout: where it is built. In the package: beside the rest of it. */
const FOLDERS = ['../../../dist/release/', '../../release/'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

/** The release of the worker that this program brings; undefined: it was not built. */
export function releaseFolder(folders: readonly string[] = FOLDERS): string | undefined {
  return folders.find((folder) => existsSync(join(folder, MANIFEST_FILE)));
}
