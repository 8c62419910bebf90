import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from '../support/browser-test.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile();

test(
  'an admin says which release workers should run, and only what was changed is sent',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('gpu-box');
    await visit.open('/workers');
    await page.getByRole('button', { name: 'Releases' }).click();
    await page.getByText('Nobody is sent to another release.').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'gpu-box' });
    await row.getByText('as it should be').waitFor();

    await page.getByRole('button', { name: 'Change the policy' }).click();
    const dialog = page.getByRole('dialog', { name: 'Which release workers should run' });
    const change = dialog.getByRole('button', { name: 'Change the policy' });
    assert.equal(await change.isDisabled(), true, 'there is no change yet');
    await dialog.getByLabel('Release', { exact: true }).fill('99.0.0');
    await dialog.getByLabel('Share in percent').fill('150');
    await dialog.getByText('A whole number from 0 to 100').waitFor();
    assert.equal(await change.isDisabled(), true);
    await dialog.getByLabel('Share in percent').fill('100');
    // Another admin is quicker.
    await house.call('editUpgrade', { body: { pin: ['mac-mini'] } });
    await change.click();
    const panel = page.getByRole('region', { name: 'Policy' });
    await panel.getByText('Older workers go to 99.0.0: all of them. 1 worker stays as it is.').waitFor();
    await row.getByText('should be 99.0.0, and nothing upgrades it').waitFor();
    await picture(page, 'releases-wanted');
    const { target, pinned } = await house.call('getUpgrade');
    assert.deepEqual({ target, pinned }, { target: '99.0.0', pinned: ['mac-mini'] });
    await visit.open('/workers/gpu-box');
    await page.getByRole('dialog').getByText('should be 99.0.0, and nothing upgrades it').waitFor();
  }),
);

test(
  'who is no admin sees the releases and no button that changes them',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/releases');
      await page.getByRole('region', { name: 'Workers' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Change the policy' }).count(), 0);
    },
    { as: 'operator' },
  ),
);
