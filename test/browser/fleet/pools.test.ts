import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from '../support/browser-test.ts';
import type { House } from '../support/house.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile();

/** Only workers of the pool take them: that of the node has no such tag. */
const placement = { requires: ['pooled'] };
const worker = { tags: ['pooled'] };

async function pushAll(house: House, queue: string, count: number, input: object = {}): Promise<void> {
  for (let i = 0; i < count; i++) await house.push({ queue, handler: 'echo', input, placement });
}

const pool = (house: House, name: string) => house.call('getPool', { params: { name } });

test(
  'a pool is made, and its page shows workers start, work and go, with the reasons',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/pools');
      await page.getByText('npx leasehold pools set papers --max 3').waitFor();
      await pushAll(house, 'papers', 4, { delay_ms: 1500 });
      await page.getByRole('button', { name: 'Create a pool' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'Create a pool' });
      await dialog.getByLabel('Name').fill('papers');
      await dialog.getByLabel('Most', { exact: true }).fill('2');
      await dialog.getByLabel('Sent home after').fill('1s');
      await dialog.getByRole('button', { name: 'Until it is sent home' }).click();
      await dialog.getByLabel('Tags').fill('pooled');
      await dialog.getByLabel('Its settings as JSON').fill('[1]');
      await dialog.getByRole('button', { name: 'Create the pool' }).click();
      await dialog.getByText('is a JSON object').waitFor();
      // What the node refuses stands at its field as well.
      await dialog.getByLabel('Its settings as JSON').fill('{"shell": "rm"}');
      await dialog.getByRole('button', { name: 'Create the pool' }).click();
      await dialog
        .locator('.field', { hasText: 'Its settings' })
        .getByText('shell: the launcher subprocess has no such setting')
        .waitFor();
      await dialog.getByLabel('Its settings as JSON').fill('');
      await dialog.getByRole('button', { name: 'Create the pool' }).click();
      await page.waitForURL(/\/pools\/papers$/);

      const starts = page.getByRole('region', { name: 'Starts' });
      await starts.getByText('redeemed').nth(1).waitFor();
      await starts
        .getByText(/^Started: pid \d+\.$/)
        .first()
        .waitFor();
      assert.equal(await starts.getByRole('link').count(), 2);
      const decisions = page.getByRole('region', { name: 'Decisions' });
      await decisions.getByText('Started 2 workers').waitFor();
      await decisions.getByText('Tasks wait for workers; there is more work than').first().waitFor();
      await page.getByRole('img', { name: /^Workers over time: / }).waitFor();
      await picture(page, 'pool');
      // Nobody touches the page: it is told.
      await decisions
        .getByText(/Sent \d workers? home/)
        .first()
        .waitFor();
      await page.getByRole('region', { name: 'Figures' }).getByText('there or on their way').waitFor();
      await house.until(async () => (await pool(house, 'papers')).now.there === 0, 'the workers have gone');
      await page.getByText('at rest').waitFor();
    },
    { forgive: [/status of 400/] },
  ),
);

test(
  'a launcher that fails, one that lies and one that hangs are seen, each with what it said',
  inBrowser(async ({ house, visit, page }) => {
    const says = {
      fails: ['sh', '-c', 'echo "no space left on device" >&2; exit 1'],
      lies: ['echo', 'job 4711'],
      hangs: ['sleep', '600'],
    };
    for (const [name, argv] of Object.entries(says)) {
      const policy = { max: 1, startMs: '1s' };
      await house.call('putPool', { body: { name, policy, worker, launcher: { kind: 'command', argv } } });
      await pushAll(house, name, 1);
    }
    await visit.open('/pools');
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await row('fails').getByText('no space left on device').waitFor();
    await row('lies').getByText('The launcher said that it started “job 4711”, and no worker came.').waitFor();
    await row('hangs').getByText('The launcher never answered, and no worker came.').waitFor();
    for (const name of Object.keys(says)) await row(name).getByText('starts fail').waitFor();

    await row('lies').getByRole('link', { name: 'lies', exact: true }).click();
    await page.getByRole('alert').getByText('“job 4711”').waitFor();
    await page.getByRole('region', { name: 'Starts' }).getByText('expired').first().waitFor();
    await visit.open('/pools/fails');
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByRole('region', { name: 'Starts' }).getByText('no space left on device').first().waitFor();
  }),
);

test(
  'a dry run tries another policy and starts nobody; who may keep it keeps it',
  inBrowser(
    async ({ house, visit, page }) => {
      await house.call('putPool', { body: { name: 'dry', policy: { max: 0 }, worker } });
      await pushAll(house, 'dry', 5);
      await visit.open('/pools/dry');
      await page.getByRole('button', { name: 'Dry run' }).click();
      const dialog = page.getByRole('dialog', { name: 'Dry run of dry' });
      const would = dialog.getByRole('region', { name: 'What a check would do' });
      await would.getByText('5 tasks wait').waitFor();
      await dialog.getByLabel('Tasks per worker').fill('2');
      await dialog.getByLabel('Most', { exact: true }).fill('9');
      await would.getByText('Start 3 workers: tasks wait for workers.').waitFor();
      await dialog.getByLabel('Sent home after').fill('soon');
      await dialog.getByText('is written like 30s, 5m or 1h30m').waitFor();
      await dialog.getByLabel('Sent home after').fill('5m');
      assert.deepEqual((await house.call('listPoolTickets', { params: { name: 'dry' } })).tickets, []);
      assert.equal((await pool(house, 'dry')).policy.max, 0);
      await house.call('putPool', { body: { name: 'dry', policy: { max: 0, burst: 7 }, worker, enabled: false } });
      await would.getByText('the pool is off').waitFor();
      // Somebody has changed it meanwhile: nothing of theirs is lost.
      await dialog.getByRole('button', { name: 'Keep this policy' }).click();
      await dialog.getByRole('alert').getByText('was changed, made or removed meanwhile').waitFor();
      await page.keyboard.press('Escape');
      await page.getByText('It is off: it starts nobody').waitFor();
      await page.getByRole('button', { name: 'Dry run' }).click();
      await dialog.getByLabel('Least').fill('1');
      await dialog.getByLabel('Most', { exact: true }).fill('4');
      await would.getByText('the pool is off').waitFor();
      await dialog.getByRole('button', { name: 'Keep this policy' }).click();
      await page.getByText('dry has this policy now.').waitFor();
      const { policy, enabled, worker: kept } = await pool(house, 'dry');
      assert.deepEqual([policy.min, policy.max, policy.burst, enabled, kept.tags], [1, 4, 7, false, ['pooled']]);
    },
    { forgive: [/status of 409/] },
  ),
);

test(
  'a pool is turned off and on, changed, and removed once its name is typed',
  inBrowser(
    async ({ house, visit, page }) => {
      await house.call('putPool', { body: { name: 'short-lived', policy: { max: 3, targetWaitMs: '90s' }, worker } });
      await visit.open('/pools/short-lived');
      await page.getByRole('button', { name: 'Turn off' }).click();
      await page.getByRole('button', { name: 'Turn the pool off' }).click();
      await page.getByRole('button', { name: 'Turn on' }).waitFor();
      assert.equal((await pool(house, 'short-lived')).enabled, false);
      await page.getByRole('button', { name: 'Turn on' }).click();
      await page.getByRole('button', { name: 'Turn the pool on' }).click();
      await page.getByRole('button', { name: 'Turn off' }).waitFor();
      await page.getByRole('button', { name: 'Edit' }).click();
      const edit = page.getByRole('dialog', { name: 'Edit short-lived' });
      await edit.getByLabel('Queues').fill('one, two');
      await edit.getByRole('button', { name: 'Change the pool' }).click();
      await page.getByRole('region', { name: 'Policy' }).getByText('one, two').waitFor();
      const { policy, queues, worker: kept, enabled } = await pool(house, 'short-lived');
      assert.deepEqual([policy.max, policy.targetWaitMs, queues], [3, 90_000, ['one', 'two']]);
      assert.deepEqual([kept.tags, enabled], [['pooled'], true]);

      await page.getByRole('button', { name: 'Remove' }).click();
      const remove = page.getByRole('dialog', { name: 'Remove short-lived' });
      assert.ok(await remove.getByRole('button', { name: 'Remove the pool' }).isDisabled());
      await remove.getByLabel('Type short-lived to confirm').fill('short-lived');
      await remove.getByRole('button', { name: 'Remove the pool' }).click();
      await page.waitForURL(/\/pools$/);
      assert.ok(!(await house.call('listPools')).pools.some(({ name }) => name === 'short-lived'));
    },
    { forgive: [/status of 404/] },
  ),
);

test(
  'the longest names that there may be leave every column in its place',
  inBrowser(
    async ({ house, visit, page }) => {
      const long = 'w'.repeat(60);
      const queues = [long, 'm'.repeat(60)];
      const launcher = { kind: 'command', argv: ['echo', 'w'.repeat(200)] };
      await house.call('putPool', {
        body: { name: long, queues, worker, launcher, policy: { max: 1, startMs: '1s' } },
      });
      await pushAll(house, long, 1);
      await house.until(async () => (await pool(house, long)).problem !== undefined, 'nobody has come');
      for (const path of ['/pools', `/pools/${long}`]) {
        await visit.open(path);
        await page.getByText('w'.repeat(60)).first().waitFor();
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, path);
      }
    },
    { size: 'phone' },
  ),
);
