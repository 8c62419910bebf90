import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile({ args: ['--slots', '2'] });

test(
  'the overview says in one sentence how it stands and why tasks wait, and follows what happens',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('createLimit', { body: { name: 'claude', concurrent: 1 } });
    await house.push({ queue: 'agent', handler: 'echo', input: { delay_ms: 60_000 }, limits: ['claude'] });
    for (let i = 0; i < 3; i++)
      await house.push({ queue: 'agent', handler: 'echo', input: { chapter: i }, limits: ['claude'] });
    await visit.open('/');
    const health = page.getByRole('region', { name: 'Health' });
    await health.getByText(/1 worker online, 1 running, 3 waiting/).waitFor();
    await health.getByText(/3 on limit .?claude/).waitFor();

    await house.push({ queue: 'train', handler: 'echo', input: {}, placement: { requires: ['gpu'] } });
    await health.getByText(/1 needs? tag .?gpu.?, which no worker has/).waitFor();
    const { sentence } = await house.call('overview');
    assert.equal(await health.innerText(), sentence);

    const held = page.getByRole('region', { name: 'Why tasks wait' });
    assert.equal(await held.getByRole('listitem').count(), 2);
    await held.getByRole('link', { name: 'Limit' }).click();
    await page.getByRole('dialog', { name: 'claude' }).waitFor();
    assert.match(page.url(), /\/ui\/limits\/claude$/);
  }),
);

test(
  'figures lead to the tasks that they count; the leader and what went wrong are named',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({
      queue: 'crawl',
      handler: 'echo',
      input: { fail: 'no route to host' },
      maxAttempts: 1,
    });
    await house.becomes(id, 'failed');
    await visit.open('/');
    const wrong = page.getByRole('region', { name: 'Recent incidents' });
    await wrong
      .getByRole('link', { name: /no route to host|failed/ })
      .first()
      .waitFor();
    const { leader } = await house.call('overview');
    await page
      .getByRole('region', { name: 'Fleet' })
      .getByText(leader as string)
      .waitFor();
    for (const title of ['Ended per second', 'Ready and running', 'Longest wait'])
      await page.getByRole('region', { name: title }).waitFor();

    const { tasks } = await house.call('overview');
    const figure = page.locator('a.figure', { hasText: 'ready' });
    assert.equal(await figure.locator('b').innerText(), String(tasks.ready));
    await figure.click();
    await page.waitForURL(/\/ui\/tasks\?state=ready$/);
    await page.locator('.vt-row').first().waitFor();
    assert.equal(await page.locator('.vt-row').count(), tasks.ready);
    await page.goBack();
    await wrong.getByRole('link').first().click();
    await page.waitForURL(new RegExp(`/ui/tasks/${id}$`));
  }),
);
