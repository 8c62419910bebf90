import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile({
  args: ['--name', 'node', '--slots', '1'],
  furnish: async (house) => {
    await house.hire('gpu-box', { tags: ['gpu'] });
    await house.hire('plain-box');
  },
});

test(
  'who is there is listed with state, slots, address and current work; a tag is given and taken by double clicks',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({
      queue: 'long',
      handler: 'echo',
      input: { delay_ms: 60_000 },
      placement: { only: ['gpu-box'] },
    });
    await house.becomes(id, 'running');
    await visit.open('/workers');
    const row = (name: string) => page.locator('.vt-row', { hasText: name });
    await row('gpu-box').getByText('1 of 2').waitFor();
    await row('gpu-box')
      .getByRole('link', { name: `…${id.slice(-8)}` })
      .waitFor();
    await row('gpu-box').getByText('127.0.0.1').waitFor();
    await row('plain-box').getByText('online').waitFor();

    await row('plain-box').getByLabel('Select this row').click();
    await page.getByText('Double-click adds a tag to plain-box').waitFor();
    await page.getByRole('region', { name: 'Tags' }).getByRole('button', { name: /^gpu/ }).dblclick();
    await row('plain-box').getByRole('button', { name: 'gpu', exact: true }).waitFor();
    const tagsOf = async (name: string) => (await house.call('getWorker', { params: { name } })).carries;
    assert.deepEqual(await tagsOf('plain-box'), ['gpu']);
    await row('plain-box').getByRole('button', { name: 'gpu', exact: true }).dblclick();
    await house.until(async () => (await tagsOf('plain-box')).length === 0, 'the tag is taken away');
    await row('plain-box').getByRole('button', { name: 'gpu', exact: true }).waitFor({ state: 'detached' });

    await row('plain-box').getByRole('button', { name: 'Add a tag to plain-box' }).click();
    await page.getByLabel('New tag for plain-box').fill('disk=ssd, big');
    await page.keyboard.press('Enter');
    await row('plain-box').getByText('disk=ssd').waitFor();
    assert.deepEqual((await tagsOf('plain-box')).toSorted(), ['big', 'disk=ssd']);
    await house.call('cancelTask', { params: { id }, body: {} });
  }),
);

test(
  'a worker is switched off and on, and its priority is edited in its place',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/workers');
    const row = page.locator('.vt-row', { hasText: 'plain-box' });
    const detail = () => house.call('getWorker', { params: { name: 'plain-box' } });
    await row.getByRole('switch', { name: 'plain-box takes tasks' }).click();
    await row.getByText('disabled').waitFor();
    assert.equal((await detail()).enabled, false);
    await row.getByRole('switch').click();
    await row.getByText('online').waitFor();
    assert.equal((await detail()).enabled, true);

    await row.getByRole('button', { name: 'Priority of plain-box: 0. Edit' }).click();
    await page.getByLabel('Priority of plain-box').fill('8');
    await page.keyboard.press('Enter');
    await row.getByRole('button', { name: 'Priority of plain-box: 8. Edit' }).waitFor();
    assert.equal((await detail()).priority, 8);
  }),
);

test(
  'a worker that drains ends what it runs under the eyes of whoever looks; its leases count down',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({
      queue: 'build',
      input: { lines: 10_000, everyMs: 20 },
      placement: { only: ['gpu-box'] },
    });
    await house.becomes(id, 'running');
    await visit.open('/workers/gpu-box');
    const drawer = page.getByRole('dialog', { name: 'gpu-box' });
    const lease = drawer
      .getByRole('region', { name: 'Leases' })
      .getByRole('row')
      .filter({ hasText: id.slice(-8) });
    await lease.getByText(/^\d+s$/).waitFor();
    const first = await lease.getByRole('cell').last().innerText();
    await house.until(async () => (await lease.getByRole('cell').last().innerText()) !== first, 'it counts down');
    await drawer.getByRole('button', { name: 'Drain' }).click();
    await drawer.getByText('Draining: 1 task left').waitFor();
    assert.equal((await house.call('getWorker', { params: { name: 'gpu-box' } })).enabled, false);
    await house.call('cancelTask', { params: { id }, body: {} });
    await drawer.getByText('Drained: it runs nothing and takes nothing').waitFor();
    await drawer.getByRole('button', { name: 'Enable' }).click();
    await drawer.getByRole('button', { name: 'Drain' }).waitFor();
  }),
);

test(
  'a new worker gets one command, shown once; run as it stands, it joins',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/workers');
      await page.getByRole('button', { name: 'Create a worker' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('attic');
      await page.getByRole('textbox', { name: 'Tags', exact: true }).fill('gpu');
      await page.getByRole('button', { name: 'Create the worker' }).click();
      const dialog = page.getByRole('dialog', { name: 'attic may join' });
      await dialog.getByText('Shown this once').waitFor();
      const command = await dialog.locator('code').innerText();
      assert.match(command, new RegExp(`^LEASEHOLD_WORKER_CODE=lh_code_\\S+ leasehold worker --join ${house.url}$`));
      await dialog.getByText('Waiting for it to join').waitFor();
      const attic = house.shell(command.replace(' leasehold ', ' npx leasehold '));
      await dialog.getByText('attic has joined').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await page.locator('.vt-row', { hasText: 'attic' }).getByText('online').waitFor();
      // Nothing of the page has it any more.
      assert.doesNotMatch(await page.content(), /lh_code_/);

      await visit.open('/workers/attic');
      await page.getByRole('button', { name: 'Rotate the secret' }).click();
      await page.getByRole('button', { name: 'Create a new secret' }).click();
      assert.match(
        await page.getByRole('dialog', { name: 'The new secret of attic' }).locator('code').innerText(),
        /^lh_/,
      );
      await page.getByRole('button', { name: 'I have it' }).click();
      await page.getByRole('button', { name: 'Remove', exact: true }).click();
      const removing = page.getByRole('button', { name: 'Remove the worker' });
      assert.equal(await removing.isDisabled(), true);
      await page.getByLabel('Type attic to confirm').fill('attic');
      await removing.click();
      await page.waitForURL(/\/workers$/);
      // It is cut off: a process that may not come again ends.
      assert.equal((await attic.ended).signal, null);
      const { absent } = await house.call('listWorkers');
      assert.equal(
        absent.some(({ name }) => name === 'attic'),
        false,
      );
    },
    { forgive: [/status of 404/] },
  ),
);

test(
  'several workers are found by a word, and drained and enabled together',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/workers');
    await page.getByLabel('Filter workers by name, host, state or tag').fill('box');
    await page.getByText(/^2 of \d$/).waitFor();
    await page.getByLabel('Select all rows').click();
    const bar = page.getByRole('region', { name: 'Actions on the selected workers' });
    await bar.getByText('2 workers').waitFor();
    const enabled = async () =>
      Promise.all(
        ['gpu-box', 'plain-box'].map(async (name) => (await house.call('getWorker', { params: { name } })).enabled),
      );
    await bar.getByRole('button', { name: 'Drain' }).click();
    await page.locator('.vt-row').getByText('disabled').nth(1).waitFor();
    assert.deepEqual(await enabled(), [false, false]);
    await bar.getByRole('button', { name: 'Enable' }).click();
    await page.locator('.vt-row').getByText('online').nth(1).waitFor();
    assert.deepEqual(await enabled(), [true, true]);
  }),
);
