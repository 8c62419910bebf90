import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile({ args: ['--retention', '3d', '--lease-duration', '42s'] });

test(
  'how the node works is told: lease, retention, store, version',
  inBrowser(async ({ visit, page }) => {
    await visit.open('/settings');
    const how = page.getByRole('region', { name: 'Settings of this node' });
    assert.match(await how.innerText(), /Lease\s+42s/);
    assert.match(await how.innerText(), /Retention\s+3d/);
    assert.match(await how.innerText(), /Store\s+sqlite/);
  }),
);

test(
  'a token is made for a role and shown once, rotated with a grace, and revoked',
  inBrowser(async ({ house, visit, page }) => {
    const good = async (token: string): Promise<number> =>
      (await fetch(`${house.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
    await visit.open('/settings');
    await page.getByRole('button', { name: 'Create a token' }).click();
    const create = page.getByRole('dialog', { name: 'Create a token' });
    await create.getByLabel('Name').fill('ci');
    await create.getByLabel('Role').selectOption('read');
    await create.getByLabel('Valid for').fill('90d');
    await create.getByRole('button', { name: 'Create the token' }).click();
    const shown = page.getByRole('dialog', { name: 'The token ci' });
    await shown.getByText('Shown this once').waitFor();
    const token = await shown.locator('code').innerText();
    assert.equal(await good(token), 200);
    await shown.getByRole('button', { name: 'I have it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'ci' });
    await row.getByText(/valid for (89|90)d/).waitFor();
    assert.equal((await page.content()).includes(token), false);

    await row.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('Grace').fill('');
    await page.getByRole('button', { name: 'Create a new token' }).click();
    const second = await page.getByRole('dialog', { name: 'The new token ci' }).locator('code').innerText();
    await page.getByRole('button', { name: 'I have it' }).click();
    await house.until(async () => (await good(token)) === 401, 'the old one is refused');
    assert.equal(await good(second), 200);

    await row.getByRole('button', { name: 'Revoke' }).last().click();
    await page.getByRole('button', { name: 'Revoke the token' }).click();
    await house.until(async () => (await good(second)) === 401, 'the new one is refused');
    await row.getByText('revoked').last().waitFor();
  }),
);

test(
  'a link lets another browser in as oneself',
  inBrowser(async ({ visit, page, another }) => {
    await visit.open('/settings');
    await page.getByRole('button', { name: 'Make a login link' }).click();
    const link = await page.locator('.once code').innerText();
    const phone = await another({ as: null, size: 'phone', forgive: [/status of 401/] });
    await phone.page.goto(link);
    await phone.page.getByRole('heading', { name: 'Overview' }).waitFor();
  }),
);

test(
  'the theme is that of the system until one is chosen, which is kept',
  inBrowser(async ({ visit, page }) => {
    const ground = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    // A change of colours takes a moment, also where it is not animated.
    const becomes = (colour: string): Promise<unknown> =>
      page.waitForFunction((wanted) => getComputedStyle(document.documentElement).backgroundColor === wanted, colour);
    await visit.open('/settings');
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(
      (before) => getComputedStyle(document.documentElement).backgroundColor !== before,
      light,
    );
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.reload();
    await visit.settled();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.keyboard.press('t');
    await becomes(light);
    await page.getByRole('button', { name: 'System' }).click();
    await page.emulateMedia({ colorScheme: 'dark' });
    await becomes(dark);
  }),
);
