import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'failures are grouped by what their errors have in common, and run again at a rate that can be stopped',
  inBrowser(async ({ house, visit, page }) => {
    const fail = (queue: string, words: string) =>
      house.push({ queue, handler: 'echo', input: { fail: words }, maxAttempts: 1 });
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) ids.push(await fail('crawl', `fetch https://example.org/page/${i} answered 503`));
    for (let i = 0; i < 2; i++) ids.push(await fail('disk', 'no space left on device'));
    for (const id of ids) await house.becomes(id, 'failed');
    await visit.open('/failed');
    const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /answered 503/ }) });
    await card.locator('b', { hasText: /^9$/ }).waitFor();
    await page.getByText('11 failed tasks read').waitFor();
    assert.equal((await house.call('listFailures')).groups.length, 2);
    assert.equal(await page.locator('.cards > li').count(), 2);

    await house.call('pauseQueue', { params: { queue: 'crawl' } });
    await card.getByRole('button', { name: 'Run again …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run these again' });
    await dialog.getByLabel('Tasks per second').fill('1');
    const began = performance.now();
    await dialog.getByRole('button', { name: 'Run 9 tasks again' }).click();
    // Whichever of them is seen: after a pause of the host it makes up for what it has missed.
    await page.getByText(/\b[3-8] of 9\b/).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText(/of 9, stopped/).waitFor();
    const took = performance.now() - began;
    const { counted } = await house.call('countTasks', { query: { queue: ['crawl'], state: ['ready'] } });
    assert.ok(counted >= 3 && counted <= 2 + took / 1000, `${counted} in ${took} ms`);

    const other = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /no space left/ }) });
    await other.getByRole('button', { name: 'Run again …' }).click();
    await dialog.getByLabel('Tasks per second').fill('20');
    await dialog.getByRole('button', { name: 'Run 2 tasks again' }).click();
    await page.getByText('2 of 2, done').waitFor();
    await house.until(async () => (await house.task(ids.at(-1) as string)).attempts.length === 2, 'it was run again');
  }),
);
