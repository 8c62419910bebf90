import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a queue is paused and goes on; what comes in meanwhile waits and is counted',
  inBrowser(async ({ house, visit, page }) => {
    await house.becomes(await house.push({ queue: 'mail', handler: 'echo', input: {} }), 'completed');
    await visit.open('/queues');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'mail', exact: true }) });
    await row.getByRole('button', { name: 'Pause mail' }).click();
    await row.getByText('paused').waitFor();
    assert.equal((await house.call('getQueue', { params: { queue: 'mail' } })).paused, true);
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push(await house.push({ queue: 'mail', handler: 'echo', input: {} }));
    await row.getByRole('cell').nth(1).getByText('3', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Resume mail' }).click();
    for (const id of ids) await house.becomes(id, 'completed');
    await row.getByRole('cell').nth(7).getByText('4', { exact: true }).waitFor();
    assert.equal((await house.call('getQueue', { params: { queue: 'mail' } })).paused, false);
  }),
);

test(
  'a queue tells its depth, its age and what an autoscaler is told',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('createLimit', { body: { name: 'one', concurrent: 1 } });
    for (let i = 0; i < 3; i++)
      await house.push({ queue: 'train', handler: 'echo', input: { delay_ms: 60_000 }, limits: ['one'] });
    await visit.open('/queues');
    await page.getByRole('link', { name: 'train' }).click();
    await page.waitForURL(/\/queues\/train$/);
    const drawer = page.getByRole('dialog', { name: 'train' });
    const told = drawer.getByRole('region', { name: 'For autoscalers' });
    await told.getByText('2; more workers would not help').waitFor();
    const scale = await house.call('scaleQueue', { params: { queue: 'train' } });
    assert.deepEqual([scale.desired, scale.running, scale.blocked_by_limit], [1, 1, 2]);
    assert.equal(await told.locator('b').innerText(), '1');
    await told.getByText(`${house.url}/api/v1/queues/train/scale`).waitFor();
    // The drawer has an address: a reload opens it.
    await page.reload();
    await drawer.waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL(/\/queues$/);
  }),
);

test(
  'all that waits in a queue is cancelled only after its name was typed',
  inBrowser(async ({ house, visit, page }) => {
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push(await house.push({ queue: 'old', handler: 'echo', input: {}, delay: '1h' }));
    await visit.open('/queues/old');
    await page.getByRole('button', { name: 'Cancel all waiting tasks' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel all waiting tasks in old' });
    const button = dialog.getByRole('button', { name: 'Cancel 4 tasks' });
    await button.waitFor();
    assert.equal(await button.isDisabled(), true);
    await dialog.getByLabel('Type old to confirm').fill('old');
    await button.click();
    await page.getByText('4 tasks of old cancelled.').waitFor();
    for (const id of ids) assert.equal((await house.task(id)).state, 'cancelled');
  }),
);

test(
  'from a queue one is pushed to it',
  inBrowser(async ({ house, visit, page }) => {
    await house.push({ queue: 'reports', handler: 'echo', input: {} });
    await visit.open('/queues/reports');
    await page.getByRole('button', { name: 'Push to this queue' }).click();
    await page.waitForURL(/\/push\?queue=reports$/);
    assert.equal(await page.getByLabel('Queue').inputValue(), 'reports');
  }),
);
