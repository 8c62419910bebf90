import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { picture } from './support/pictures.ts';

const inBrowser = houseOfThisFile({
  furnish: async (house) => {
    const failing = { fail: 'the server is away' };
    for (let i = 0; i < 3; i++)
      await house.push({ queue: 'send-mail', handler: 'echo', input: failing, maxAttempts: 1 });
    for (let i = 0; i < 2; i++) await house.push({ queue: 'send-mail', handler: 'echo', input: { n: i } });
    for (let i = 0; i < 4; i++) await house.push({ queue: 'crawl', handler: 'echo', input: failing, maxAttempts: 1 });
    await house.until(
      async () => (await house.call('countTasks', { query: { state: ['failed', 'completed'] } })).counted === 9,
      'all have ended',
    );
  },
});

test(
  'several words filter together, and what is done to all names exactly the tasks that are shown',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/tasks');
    await page.getByText('9 tasks, all of them').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('failed queue:send-mail');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/tasks\?state=failed&queue=send-mail$/);
    await page.getByText('3 tasks, all of them').waitFor();
    await page.getByLabel('Select this row').first().click();
    await page.getByRole('button', { name: 'Run all again' }).click();
    const button = page.getByRole('button', { name: 'Run 3 failed tasks of queue send-mail again' });
    await button.waitFor();
    await picture(page, 'filter-words-bulk');
    await button.click();
    await page.getByText('3 of 3, done').waitFor();
    const { counted } = await house.call('countTasks', { query: { queue: ['crawl'], state: ['failed'] } });
    assert.equal(counted, 4, 'no other task was touched');
  }),
);

test(
  'words that are not understood are refused beside the box, and no list is shown for them',
  inBrowser(async ({ visit, page }) => {
    await visit.open('/tasks');
    await page.getByText('9 tasks, all of them').waitFor();
    await page.keyboard.press('/');
    for (const words of ['failed queu:send-mail', 'nonsense', 'state:odd']) {
      await page.keyboard.type(words);
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('not understood').waitFor();
      await picture(page, 'filter-words-problem');
      assert.equal(await page.locator('.vt-row').count(), 0, words);
      assert.equal(await page.getByRole('button', { name: 'Run all again' }).count(), 0);
      await page.getByRole('combobox').first().fill('');
      await page.getByText('9 tasks, all of them').waitFor();
    }
    await visit.open('/tasks?state=failed&quue=send-mail');
    await page.getByText('quue=send-mail').waitFor();
    assert.equal(await page.locator('.vt-row').count(), 0);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByText('9 tasks, all of them').waitFor();
  }),
);
