/** Pictures of screens: for the guide where LEASEHOLD_SCREENSHOTS=1, else thrown away with their folder. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../support/leasehold.ts';

const kept = process.env.LEASEHOLD_SCREENSHOTS === '1';
const folder = kept ? join(ROOT, 'docs/screens') : mkdtempSync(join(tmpdir(), 'leasehold-screens-'));
mkdirSync(folder, { recursive: true });
if (!kept) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
}
