import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../support/find-chromium.ts';

const executablePath = findChromium();

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
