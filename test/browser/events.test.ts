import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'what happens is listed in its order as it happens, can be filtered by address, and stands still on demand',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'crawl', handler: 'echo', input: {} });
    await house.becomes(id, 'completed');
    await visit.open('/events');
    const rows = page.locator('.vt-row');
    await rows
      .filter({ hasText: id.slice(-8) })
      .nth(2)
      .waitFor();
    const kinds = await rows
      .filter({ hasText: id.slice(-8) })
      .locator('.vt-cell:nth-child(3)')
      .allInnerTexts();
    const { events } = await house.call('readEvents', { query: { after: 0, limit: 500 } });
    assert.deepEqual(
      kinds.toReversed(),
      events.filter(({ task }) => task === id).map(({ kind }) => kind.replaceAll('_', ' ')),
    );

    const next = await house.push({ queue: 'live', handler: 'echo', input: {} });
    await rows
      .filter({ hasText: next.slice(-8) })
      .nth(2)
      .waitFor();

    await page.getByLabel('Add a kind to the filter').selectOption('completed');
    await page.waitForURL(/\/events\?kind=completed$/);
    await page.getByLabel('Filter by task, queue, worker or word').fill('crawl');
    await page.waitForURL(/kind=completed&text=crawl$/);
    await page.reload();
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole('button', { name: 'Remove completed' }).click();
    await page.getByLabel('Filter by task, queue, worker or word').fill('');
    await page.waitForURL(/\/events$/);

    await page.getByRole('button', { name: 'Pause' }).click();
    const count = await rows.count();
    const late = await house.push({ queue: 'late', handler: 'echo', input: {} });
    await house.becomes(late, 'completed');
    await page.getByText(/^Paused, [3-9] new$/).waitFor();
    assert.equal(await rows.count(), count);
    await page.getByText(/^Paused/).click();
    await rows
      .filter({ hasText: late.slice(-8) })
      .nth(2)
      .waitFor();

    await rows
      .filter({ hasText: late.slice(-8) })
      .first()
      .getByRole('link')
      .click();
    await page.waitForURL(new RegExp(`/tasks/${late}$`));
  }),
);
