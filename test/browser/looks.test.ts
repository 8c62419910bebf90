/** Every screen in both themes and on a phone: what axe finds, what is too wide, and a picture. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaled } from '../support/scale.ts';
import { grave, tooWide } from './support/axe.ts';
import { houseOfThisFile } from './support/browser-test.ts';
import { type Furniture, furnish, SCREENS } from './support/furniture.ts';
import { picture } from './support/pictures.ts';
import type { Visit, VisitOptions } from './support/visit.ts';

let things: Furniture;
const inBrowser = houseOfThisFile({
  args: ['--slots', '6'],
  furnish: async (house) => {
    things = await furnish(house);
  },
});

async function look(visit: Visit, name: string, suffix: string): Promise<readonly string[]> {
  const { page } = visit;
  const found = [...(await grave(page)), ...(await tooWide(page)).map((html) => `too wide: ${html}`)];
  await picture(page, `${name}${suffix}`);
  return found.map((text) => `${name}${suffix}: ${text}`);
}

const LOOKS: readonly (VisitOptions & { readonly suffix: string })[] = [
  { suffix: '', theme: 'light', size: 'wide' },
  { suffix: '-phone-dark', theme: 'dark', size: 'phone' },
  { suffix: '-phone', theme: 'light', size: 'phone' },
  { suffix: '-dark', theme: 'dark', size: 'wide' },
];
/** The first two have both themes and both sizes; pictures are made of all. */
const looks = LOOKS.slice(0, process.env.LEASEHOLD_SCREENSHOTS === undefined ? scaled(2, 8) : 4);

for (const { suffix, ...options } of looks) {
  test(
    `every screen is free of serious findings and not too wide: ${options.theme}, ${options.size}`,
    inBrowser(
      async ({ visit, page }) => {
        const found: string[] = [];
        for (const [name, path] of SCREENS(things)) {
          await visit.open(path);
          await page.locator('main').locator('.panel, .vt').first().waitFor();
          found.push(...(await look(visit, name, suffix)));
        }
        await visit.open('/tasks');
        await page
          .getByRole('link', { name: /bees-7b/ })
          .first()
          .waitFor();
        await visit.open(`/tasks/${things.waiting}`);
        await page.keyboard.press('e');
        await page.getByRole('dialog').getByRole('heading', { name: 'Workers' }).waitFor();
        found.push(...(await look(visit, 'explain', suffix)));
        await page.keyboard.press('Escape');
        await visit.open('/limits');
        await page.getByRole('button', { name: 'Create a limit' }).click();
        found.push(...(await look(visit, 'create-a-limit', suffix)));
        await visit.open('/schedules');
        await page.getByRole('button', { name: 'Create a schedule' }).click();
        await page.getByRole('region', { name: 'Next fire times' }).getByRole('listitem').nth(4).waitFor();
        found.push(...(await look(visit, 'create-a-schedule', suffix)));
        await visit.open('/pools/batch');
        await page.getByRole('button', { name: 'Dry run' }).click();
        await page.getByRole('region', { name: 'What a check would do' }).getByText('desired').waitFor();
        found.push(...(await look(visit, 'dry-run-of-a-pool', suffix)));
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Edit' }).click();
        found.push(...(await look(visit, 'edit-a-pool', suffix)));
        await visit.open('/triggers');
        await page.getByRole('button', { name: 'Create a trigger' }).click();
        for (const kind of ['Event', 'File', 'Webhook']) {
          await page.getByRole('dialog').getByRole('button', { name: kind, exact: true }).click();
          found.push(...(await look(visit, `create-a-trigger-${kind.toLowerCase()}`, suffix)));
        }
        await visit.open('/runs');
        await page.getByRole('button', { name: 'Start a run' }).click();
        await page.getByLabel('Machine or graph, as YAML or JSON').fill('nodes: []');
        await page.getByRole('region', { name: 'What the node says' }).waitFor();
        found.push(...(await look(visit, 'start-a-run', suffix)));
        assert.deepEqual(found, []);
      },
      { ...options, bypassCSP: true },
    ),
  );

  test(
    `who is not logged in yet finds a page without serious findings: ${options.theme}, ${options.size}`,
    inBrowser(
      async ({ visit, page }) => {
        await visit.open('/');
        await page.getByLabel('Or by a token').waitFor();
        assert.deepEqual(await look(visit, 'login', suffix), []);
      },
      { ...options, as: null, bypassCSP: true, forgive: [/status of 401/] },
    ),
  );
}
