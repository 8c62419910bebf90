/** Where a Chromium is, if there is one: `LEASEHOLD_CHROMIUM` says so, else PATH. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** As the packages of Debian, Ubuntu and Fedora call it, and as people do. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function findChromium(): string | undefined {
  const chosen = process.env['LEASEHOLD_CHROMIUM'];
  if (chosen !== undefined && chosen !== '') return chosen;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}
