import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a schedule is seen with its next time, run out of turn, paused and resumed',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/schedules');
    await page.getByText('npx leasehold schedules set nightly echo --daily 03:00').waitFor();
    const body = { name: 'nightly', queue: 'echo', input: { n: 1 }, daily: '03:00', timezone: 'Europe/Berlin' };
    await house.call('putSchedule', { body });
    await page.reload();
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'nightly', exact: true }) });
    await row.getByText('daily 03:00 in Europe/Berlin').waitFor();
    await row.getByRole('button', { name: 'Run now: nightly' }).click();
    await row.getByText('run by hand').waitFor();
    await row.getByRole('button', { name: 'Pause nightly' }).click();
    await row.getByText('paused').waitFor();
    assert.equal((await house.call('getSchedule', { params: { name: 'nightly' } })).state, 'paused');

    await row.getByRole('link', { name: 'nightly', exact: true }).click();
    await page.waitForURL(/\/schedules\/nightly$/);
    const drawer = page.getByRole('dialog', { name: 'nightly' });
    const next = drawer.getByRole('region', { name: 'Next, if it is resumed now' });
    assert.equal(await next.getByRole('listitem').count(), 5);
    await drawer.getByRole('region', { name: 'History' }).getByText('run by hand').waitFor();
    await drawer.getByRole('button', { name: 'Resume nightly' }).click();
    await drawer.getByRole('region', { name: 'Next', exact: true }).waitFor();
    assert.equal((await house.call('getSchedule', { params: { name: 'nightly' } })).state, 'active');
  }),
);
