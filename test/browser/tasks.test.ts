import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile({
  furnish: async (house) => {
    for (let i = 0; i < 6; i++) await house.push({ queue: 'ok', handler: 'echo', input: { n: i } });
    for (let i = 0; i < 4; i++)
      await house.push({ queue: 'crawl', handler: 'echo', input: { fail: `page ${i} is gone` }, maxAttempts: 1 });
    await house.until(
      async () => (await house.call('countTasks', { query: { state: ['failed', 'completed'] } })).counted === 10,
      'all have ended',
    );
  },
});

test(
  'a new task appears by itself, changes its state in its row, and opens by a click',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/tasks');
    const rows = page.locator('.vt-row');
    await rows.first().waitFor();
    const id = await house.push({ queue: 'live', handler: 'echo', input: { mark: 'just now', delay_ms: 400 } });
    const row = rows.filter({ hasText: 'just now' });
    await row.waitFor();
    await row.getByText('completed').waitFor();
    await row.getByRole('link', { name: /just now/ }).click();
    await page.waitForURL(`${house.url}/ui/tasks/${id}`);
  }),
);

test(
  'filters are pills, have an address, and survive a reload and the way back',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/tasks');
    await page.keyboard.press('/');
    await page.keyboard.type('fail');
    await page.getByRole('option', { name: 'failed' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/tasks\?state=failed$/);
    await page.keyboard.type('queue:crawl');
    await page.keyboard.press('Enter');
    await page.waitForURL(/state=failed&queue=crawl$/);
    const rows = page.locator('.vt-row');
    await page.getByText('4 tasks, all of them').waitFor();
    assert.equal(await rows.count(), 4);
    await page.getByText('page 3 is gone').waitFor();

    await page.reload();
    await page.getByText('4 tasks, all of them').waitFor();
    assert.deepEqual(await page.locator('.pill b').allInnerTexts(), ['failed', 'crawl']);
    await rows.first().getByRole('link').first().click();
    await page.waitForURL(/\/tasks\/task_/);
    await page.goBack();
    await page.getByText('4 tasks, all of them').waitFor();

    await page.getByRole('button', { name: 'Remove queue crawl' }).click();
    await page.waitForURL(/\/tasks\?state=failed$/);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.waitForURL(`${house.url}/ui/tasks`);
    await page.getByLabel('Creation time', { exact: true }).selectOption('1h');
    await page.waitForURL(/\/tasks\?last=1h$/);

    // The id of a task leads to it.
    const { tasks } = await house.call('listTasks', { query: { limit: 1 } });
    const id = tasks[0]?.id as string;
    await page.keyboard.press('/');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${house.url}/ui/tasks/${id}`);
  }),
);

test(
  'a part of the histogram is chosen by dragging, and only what was created then is left',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/tasks');
    const histogram = page.getByRole('region', { name: 'Creation times' }).locator('svg');
    await histogram.waitFor();
    const { x, y, width } = (await histogram.boundingBox()) as { x: number; y: number; width: number };
    const drag = async (from: number, to: number): Promise<void> => {
      await page.mouse.move(x + width * from, y + 30);
      await page.mouse.down();
      await page.mouse.move(x + width * to, y + 30, { steps: 4 });
      await page.mouse.up();
    };
    await drag(0.05, 0.4);
    await page.waitForURL(/from=\d+&until=\d+/);
    await page.getByText('No task matches').waitFor();
    await page.getByRole('button', { name: 'Remove the creation time' }).click();
    await page.locator('.vt-row').first().waitFor();
    await drag(0.5, 1);
    await page.waitForURL(/from=\d+&until=\d+/);
    await page.locator('.vt-row').first().waitFor();
    const query = new URL(page.url()).searchParams;
    const { counted } = await house.call('countTasks', {
      query: { from: Number(query.get('from')), until: Number(query.get('until')) },
    });
    await page.getByText(`${counted} tasks, all of them`).waitFor();
  }),
);

test(
  'why a task waits is told beside its row, with the verdict of each worker',
  inBrowser(async ({ house, visit, page }) => {
    await house.push({ queue: 'train', handler: 'echo', input: {}, placement: { requires: ['gpu'] } });
    await visit.open('/tasks?queue=train');
    await page.getByRole('button', { name: /^Why does echo/ }).click();
    const drawer = page.getByRole('dialog', { name: 'Explanation' });
    await drawer.getByRole('heading', { name: 'Workers' }).waitFor();
    await drawer.getByText('may not').first().waitFor();
    await drawer.getByText(/gpu/).first().waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  }),
);
