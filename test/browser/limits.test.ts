import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a limit is made, shows who holds it and who waits, is edited with its history, paused, resumed and removed',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/limits');
      await page.getByText('No limits').waitFor();
      await page.getByRole('button', { name: 'Create a limit' }).click();
      const create = page.getByRole('dialog', { name: 'Create a limit' });
      await create.getByLabel('Name').fill('claude');
      await create.getByLabel('At once').fill('2');
      await create.getByLabel('Starts').fill('30');
      await create.getByRole('button', { name: 'Create the limit' }).click();
      const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'claude' }) });
      await row.getByText('30 in 1m').waitFor();
      const made = await house.call('getLimit', { params: { name: 'claude' } });
      assert.deepEqual([made.concurrent, made.rate?.max, made.rate?.window], [2, 30, '1m']);

      const ids = [];
      for (let i = 0; i < 5; i++)
        ids.push(
          await house.push({ queue: 'agent', handler: 'echo', input: { delay_ms: 60_000 }, limits: ['claude'] }),
        );
      await row.getByText('at limit').waitFor();
      await row.getByRole('cell').nth(4).getByText('3').waitFor();

      await page.getByRole('link', { name: 'claude' }).click();
      const drawer = page.getByRole('dialog', { name: 'claude' });
      await drawer.getByText('2 of 2, at the limit').waitFor();
      await drawer.getByText('3 ready tasks').waitFor();
      const holders = drawer.getByRole('region', { name: 'Holders' });
      await holders.getByRole('link').nth(1).waitFor();
      await drawer.getByRole('meter').first().waitFor();

      await drawer.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('At once').fill('4');
      await page.getByRole('button', { name: 'Change the limit' }).click();
      await holders.getByRole('link').nth(3).waitFor();
      const history = drawer.getByRole('region', { name: 'History' });
      await history.getByText('4 at once, 30 in 1m').waitFor();
      await history.getByText('2 at once, 30 in 1m').waitFor();
      assert.equal((await house.call('getLimit', { params: { name: 'claude' } })).concurrent, 4);

      await drawer.getByRole('button', { name: 'Pause' }).click();
      await page.getByRole('button', { name: 'Pause the limit' }).click();
      await drawer.getByText('Tasks that use it do not start for').waitFor();
      assert.ok((await house.call('getLimit', { params: { name: 'claude' } })).pausedUntil);
      await drawer.getByRole('button', { name: 'Resume' }).click();
      await drawer.getByRole('button', { name: 'Pause' }).waitFor();
      assert.equal((await house.call('getLimit', { params: { name: 'claude' } })).pausedUntil, undefined);

      await drawer.getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('button', { name: 'Remove the limit' }).click();
      await page.waitForURL(/\/limits$/);
      await page.getByText('No limits').waitFor();
      assert.deepEqual((await house.call('listLimits')).limits, []);
      for (const id of ids) await house.call('cancelTask', { params: { id }, body: {} });
    },
    { forgive: [/status of 404/] },
  ),
);

test(
  'a limit that somebody else changes while its dialog is open is not changed back, and the dialog says so',
  inBrowser(
    async ({ house, visit, page }) => {
      await house.call('createLimit', { body: { name: 'shared', concurrent: 2, perKey: 1 } });
      await visit.open('/limits/shared');
      const drawer = page.getByRole('dialog', { name: 'shared' }).first();
      await drawer.getByRole('button', { name: 'Edit' }).click();
      const edit = page.getByRole('dialog', { name: 'Edit shared' });
      await edit.getByLabel('Per key').fill('5');
      await house.call('editLimit', { params: { name: 'shared' }, body: { concurrent: 9 } });
      await drawer.getByText('0 of 9').waitFor();
      await edit.getByRole('button', { name: 'Change the limit' }).click();
      await edit.getByRole('alert').getByText('somebody has changed the limit shared meanwhile').waitFor();
      const kept = await house.call('getLimit', { params: { name: 'shared' } });
      assert.deepEqual([kept.concurrent, kept.perKey, kept.revision], [9, 1, 2]);

      await edit.getByRole('button', { name: 'Close' }).last().click();
      await drawer.getByRole('button', { name: 'Edit' }).click();
      assert.equal(await edit.getByLabel('At once').inputValue(), '9');
      await edit.getByLabel('Per key').fill('5');
      await edit.getByRole('button', { name: 'Change the limit' }).click();
      await edit.waitFor({ state: 'detached' });
      const { concurrent, perKey } = await house.call('getLimit', { params: { name: 'shared' } });
      assert.deepEqual([concurrent, perKey], [9, 5]);
      await house.call('removeLimit', { params: { name: 'shared' } });
    },
    { forgive: [/status of 409/, /status of 404/] },
  ),
);

test(
  'what a limit refuses is said in the dialog, which stays open',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/limits');
      await page.getByRole('button', { name: 'Create a limit' }).click();
      const create = page.getByRole('dialog', { name: 'Create a limit' });
      await create.getByLabel('Name').fill('a name with spaces and / and "');
      await create.getByLabel('Starts').fill('3');
      await create.getByLabel('Period').fill('a while');
      await create.getByRole('button', { name: 'Create the limit' }).click();
      await create.getByRole('alert').waitFor();
      assert.equal(await create.getByLabel('Starts').inputValue(), '3');
    },
    { forgive: [/status of 4\d\d/] },
  ),
);
