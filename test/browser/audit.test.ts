import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { picture } from './support/pictures.ts';

const inBrowser = houseOfThisFile();

test(
  'who did what is listed, new entries appear, filters are in the address, and a drawer shows what has changed',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('createLimit', { body: { name: 'papers', concurrent: 1 } });
    await visit.open('/audit');
    const list = page.getByRole('grid', { name: 'Audit' }).or(page.locator('.vt'));
    await list.getByText('create limit').first().waitFor();
    await house.call('editLimit', { params: { name: 'papers' }, body: { concurrent: 7 } });
    await list.getByText('edit limit').first().waitFor();

    await page.getByLabel('Action', { exact: true }).fill('editLimit');
    await page.waitForURL(/action=editLimit/);
    await list.getByText('create limit').first().waitFor({ state: 'detached' });
    await page.locator('.vt-row').first().click();
    const drawer = page.getByRole('dialog', { name: 'edit limit papers' });
    const changes = drawer.getByRole('region', { name: 'Before and after' });
    const row = changes.getByRole('row').filter({ hasText: 'concurrent' });
    assert.equal(await row.locator('del').innerText(), '1');
    assert.equal(await row.locator('ins').innerText(), '7');
    await picture(page, 'audit-entry');
    await page.keyboard.press('Escape');
    await page.getByLabel('Outcome', { exact: true }).selectOption('refused');
    await page.getByText('No entry matches').waitFor();
  }),
);

test(
  'a target with hostile text is shown as text',
  inBrowser(async ({ house, visit, page }) => {
    const name = '<img src=x onerror=document.title=1>';
    await house.call('putSchedule', { body: { name: 's', queue: 'echo', daily: '03:00' } });
    await house.call('saveView', { body: { name, screen: 'tasks', query: '' } });
    await visit.open('/audit');
    await page.locator('.vt-row').getByText(name).first().waitFor();
    await page.locator('.vt-row').first().click();
    await page.getByRole('dialog').getByText(name).first().waitFor();
    assert.equal(await page.locator('img').count(), 0);
    assert.match(await page.title(), /^Audit/);
  }),
);

test(
  'who is no admin has no entry in the menu, and the page says why it is empty',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/audit');
      await page.getByText('Only an admin sees who did what').waitFor();
      assert.equal(await page.getByRole('link', { name: 'Audit', exact: true }).count(), 0);
    },
    { as: 'operator' },
  ),
);
