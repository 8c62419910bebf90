import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** In a checkout: where it is built. In the package: beside the rest of it. */
const FOLDERS = ['../../web/dist/', '../ui/'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)));

/** The folder of the built web UI; undefined: it is not built. */
export function uiFolder(folders: readonly string[] = FOLDERS): string | undefined {
  return folders.find((folder) => existsSync(join(folder, 'index.html')));
}
