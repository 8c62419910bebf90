import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a list stands still while rows are selected, says how many are new, and goes on with them',
  inBrowser(async ({ house, visit, page }) => {
    for (let i = 0; i < 5; i++) await house.push({ queue: 'still', handler: 'echo', input: { old: i } });
    await visit.open('/tasks?queue=still');
    await page.getByText('5 tasks, all of them').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    for (let i = 0; i < 14; i++) await house.push({ queue: 'still', handler: 'echo', input: { fresh: i } });
    await page.getByText('Paused, 14 new').waitFor();
    assert.equal(await page.locator('.vt-row').count(), 5);
    assert.equal(await page.getByText(/fresh:/).count(), 0);
    await page.getByText('Paused, 14 new').click();
    await page.getByText('19 tasks, all of them').waitFor();
    await page.getByText('fresh: 13').waitFor();
    assert.equal(await page.getByText('1 selected').count(), 0);
  }),
);

test(
  'what is done to all that match says the question and the number first, then does just that',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('pauseQueue', { params: { queue: 'heap' } });
    const ids = [];
    for (let i = 0; i < 7; i++) ids.push(await house.push({ queue: 'heap', handler: 'echo', input: { n: i } }));
    const other = await house.push({ queue: 'other', handler: 'echo', input: {}, delay: '1h' });
    await visit.open('/tasks?queue=heap&state=ready');
    await page.getByText('7 tasks, all of them').waitFor();
    await page.getByLabel('Select this row').first().click();
    await page.getByRole('button', { name: 'Cancel all' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel all matching tasks' });
    await dialog.getByRole('button', { name: 'Cancel 7 ready tasks of queue heap' }).waitFor();
    assert.match(await dialog.locator('pre').innerText(), /heap[\s\S]*|ready/);
    await dialog.getByRole('button', { name: 'Cancel 7 ready tasks of queue heap' }).click();
    await page.getByText('7 of 7, done').waitFor();
    for (const id of ids) assert.equal((await house.task(id)).state, 'cancelled');
    assert.equal((await house.task(other)).state, 'scheduled');

    await visit.open('/tasks?queue=heap&state=cancelled');
    await page.getByText('7 tasks, all of them').waitFor();
    await page.getByLabel('Select this row').nth(0).click();
    await page
      .getByLabel('Select this row')
      .nth(2)
      .click({ modifiers: ['Shift'] });
    await page.getByText('3 selected').waitFor();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    const again = page.getByRole('dialog', { name: 'Run again the selected tasks' });
    await again.getByLabel('Tasks per second').fill('50');
    await again.getByRole('button', { name: 'Run 3 selected tasks again' }).click();
    await page.getByText('3 of 3, done').waitFor();
    const { counted } = await house.call('countTasks', { query: { queue: ['heap'], state: ['ready'] } });
    assert.equal(counted, 3);
  }),
);

test(
  'a saved view is kept by the node, for every browser, until it is forgotten',
  inBrowser(async ({ house, visit, page, another }) => {
    await visit.open('/tasks?state=failed&queue=crawl');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByText('Save this filter').click();
    const dialog = page.getByRole('dialog', { name: 'Save this view' });
    await dialog.getByLabel('Name').fill('Failed crawls');
    await dialog.getByRole('button', { name: 'Save the view' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { views } = await house.call('listViews');
    assert.deepEqual(
      views.map(({ name, screen, query }) => ({ name, screen, query })),
      [{ name: 'Failed crawls', screen: 'tasks', query: 'state=failed&queue=crawl' }],
    );

    const colleague = await another({ as: 'operator' });
    await colleague.open('/tasks');
    await colleague.page.getByRole('button', { name: 'Views' }).click();
    await colleague.page.getByRole('button', { name: 'Failed crawls', exact: true }).click();
    await colleague.page.waitForURL(/\/tasks\?state=failed&queue=crawl$/);
    await colleague.page.getByRole('button', { name: 'Views' }).click();
    await colleague.page.getByRole('button', { name: 'Delete the view Failed crawls' }).click();
    await colleague.page.getByText('Deleted the view Failed crawls.').waitFor();
    assert.deepEqual((await house.call('listViews')).views, []);
  }),
);
