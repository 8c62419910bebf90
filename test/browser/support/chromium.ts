import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

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

function find(): string | undefined {
  const chosen = process.env.LEASEHOLD_CHROMIUM;
  if (chosen !== undefined && chosen !== '') return chosen;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

const executablePath = find();

/** Why browser tests are left out here; undefined where they are not. */
export const WITHOUT_BROWSER: string | undefined =
  executablePath === undefined
    ? `there is no Chromium: install chromium-headless-shell, or say where one is by LEASEHOLD_CHROMIUM`
    : undefined;

export function launch(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(WITHOUT_BROWSER);
  return chromium.launch({
    executablePath,
    args: [
      // Its sandbox is not for root, as which CI runs.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      // Text has the same shapes on every machine.
      '--font-render-hinting=none',
      '--disable-dev-shm-usage',
    ],
  });
}
