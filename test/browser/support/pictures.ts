/**
 * Pictures of screens. LEASEHOLD_SCREENSHOTS=1 keeps those that the guide shows, a path keeps all of them there; else they go with
 * their folder.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../support/leasehold.ts';

export const SCREENS_FOLDER = join(ROOT, 'docs/screens');

/** The names of the pictures of docs/guides/web-ui.md. */
export function shownInTheGuide(): ReadonlySet<string> {
  const guide = readFileSync(join(ROOT, 'docs/guides/web-ui.md'), 'utf8');
  return new Set([...guide.matchAll(/\(\.\.\/screens\/([\w-]+)\.png\)/g)].map(([, name]) => name as string));
}

const asked = process.env.LEASEHOLD_SCREENSHOTS ?? '';
const temporary = mkdtempSync(join(tmpdir(), 'leasehold-screens-'));
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
const shown = shownInTheGuide();

function folderOf(name: string): string {
  if (asked === '1') return shown.has(name) ? SCREENS_FOLDER : temporary;
  return asked === '' ? temporary : asked;
}

export async function picture(page: Page, name: string): Promise<void> {
  const folder = folderOf(name);
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
}
