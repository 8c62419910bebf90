import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { picture } from './support/pictures.ts';

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
    await next.getByRole('listitem').nth(4).waitFor();
    assert.equal(await next.getByRole('listitem').count(), 5);
    await drawer.getByRole('region', { name: 'History' }).getByText('run by hand').waitFor();
    await drawer.getByRole('button', { name: 'Resume nightly' }).click();
    await drawer.getByRole('region', { name: 'Next', exact: true }).waitFor();
    assert.equal((await house.call('getSchedule', { params: { name: 'nightly' } })).state, 'active');
  }),
);

test(
  'a schedule is written with its next times in view, its errors at their fields, and is edited, cloned and deleted',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/schedules');
      await page.getByRole('button', { name: 'Create a schedule' }).click();
      const dialog = page.getByRole('dialog', { name: 'Create a schedule' });
      const next = dialog.getByRole('region', { name: 'Next fire times' });
      await dialog.getByLabel('Name').fill('weekly/report');
      await dialog.getByRole('button', { name: 'Cron' }).click();
      await dialog.getByLabel('Cron expression').fill('61 9 * * *');
      await dialog.locator('.problem').first().waitFor();
      await page.waitForFunction(() => document.querySelector('dialog [type=submit]')?.hasAttribute('disabled'));
      await dialog.getByRole('button', { name: 'Weekly' }).click();
      await dialog.getByRole('button', { name: 'Fri' }).click();
      await dialog.getByLabel('At', { exact: true }).fill('07:30');
      await dialog.getByLabel('Time zone').fill('Mars/Olympus');
      await dialog.locator('.field', { hasText: 'Time zone' }).locator('.problem').waitFor();
      await dialog.getByLabel('Time zone').fill('Europe/Berlin');
      await next
        .getByText(/^Fri, .* 07:30$/)
        .first()
        .waitFor();
      await next.getByRole('listitem').nth(4).waitFor();
      assert.equal(await next.getByRole('listitem').count(), 5);
      await picture(page, 'schedule-edit');
      await dialog.getByLabel('Handler').fill('analyse');
      await dialog.getByLabel('paper').fill('https://example.org/bees.pdf');
      await dialog.getByText('Options of its tasks').click();
      await dialog.getByLabel('Required tags').fill('gpu');
      await dialog.getByLabel('Timeout of one attempt').fill('5m');
      await dialog.getByRole('button', { name: 'Create the schedule' }).click();
      // What the node refuses stands at its field, which comes into view.
      await dialog.locator('.field', { hasText: 'Name' }).locator('.problem').first().waitFor();
      await dialog.getByLabel('Name').fill('weekly-report');
      await dialog.getByRole('button', { name: 'Create the schedule' }).click();
      const drawer = page.getByRole('dialog', { name: 'weekly-report' });
      await drawer.getByText('weekly mon,fri@07:30 in Europe/Berlin').waitFor();
      const schedule = (name: string) => house.call('getSchedule', { params: { name } });
      const made = await schedule('weekly-report');
      assert.deepEqual(
        [made.handler, made.queue, made.placement?.requires, made.timeout],
        ['analyse', 'analyse', ['gpu'], 300_000],
      );
      // What is not touched stays.
      await drawer.getByRole('button', { name: 'Edit' }).click();
      const edit = page.getByRole('dialog', { name: 'Edit weekly-report' });
      await edit.getByRole('button', { name: 'Interval' }).click();
      await edit.getByLabel('Every', { exact: true }).fill('90m');
      await edit.getByLabel('Fire times that were missed').selectOption('skip');
      await edit.getByRole('button', { name: 'Change the schedule' }).click();
      await drawer.getByText('every 1h30m').waitFor();
      const { placement, timeout, missed, input } = await schedule('weekly-report');
      assert.deepEqual([placement, timeout, missed], [made.placement, made.timeout, 'skip']);
      assert.deepEqual(input, made.input);

      await drawer.getByRole('button', { name: 'Clone' }).click();
      const clone = page.getByRole('dialog', { name: 'A schedule like weekly-report' });
      await clone.getByLabel('Name').fill('other');
      await clone.getByRole('button', { name: 'Create the schedule' }).click();
      const other = page.getByRole('dialog', { name: 'other', exact: true });
      await other.getByText('every 1h30m').waitFor();
      await other.getByRole('button', { name: 'Delete' }).click();
      await page
        .getByRole('dialog', { name: 'Delete other' })
        .getByRole('button', { name: 'Delete the schedule' })
        .click();
      await page.getByText('other is deleted.').waitFor();
      assert.deepEqual(
        (await house.call('listSchedules')).schedules.map(({ name }) => name),
        ['nightly', 'weekly-report'],
      );
    },
    { forgive: [/status of 400/] },
  ),
);

test(
  'who may only read sees schedules, and no button that changes one',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/schedules/nightly');
      await page.getByRole('region', { name: 'History' }).waitFor();
      for (const name of ['Edit', 'Clone', 'Delete', 'Create a schedule'])
        assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    },
    { as: 'read' },
  ),
);
