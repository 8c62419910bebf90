import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { houseOfThisFile } from '../support/browser-test.ts';
import type { House } from '../support/house.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile();

const trigger = (house: House, name: string) => house.call('getTrigger', { params: { name } });

/** As its sender does who has the secret. */
async function deliver(address: string, secret: string, id: string, order: number): Promise<number> {
  const body = JSON.stringify({ order });
  const time = Math.floor(Date.now() / 1000);
  const hex = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-leasehold-id': id,
    'x-leasehold-signature': `t=${time},v1=${hex}`,
  };
  return (await fetch(address, { method: 'POST', headers, body })).status;
}

test(
  'a webhook is made, its secret is told once, and its deliveries come in with what they started',
  inBrowser(async ({ visit, page }) => {
    await visit.open('/triggers');
    await page.getByText(`npx leasehold triggers set paid '{"kind": "webhook"`).waitFor();
    await page.getByRole('button', { name: 'Create a trigger' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create a trigger' });
    await dialog.getByLabel('Name').fill('paid');
    await dialog.getByLabel('Queue').fill('orders');
    await dialog.getByLabel('Firings a minute').fill('0');
    await dialog.getByRole('button', { name: 'Create the trigger' }).click();
    await dialog.getByText('is a whole number of firings a minute').waitFor();
    await dialog.getByLabel('Firings a minute').fill('100');
    await dialog.getByRole('button', { name: 'Create the trigger' }).click();
    const once = page.getByRole('dialog', { name: 'The secret of paid' });
    const secret = await once.locator('code').innerText();
    assert.match(secret, /^lh_hook_/);
    await once.getByRole('button', { name: 'I have it' }).click();
    await page.waitForURL(/\/triggers\/paid$/);

    const drawer = page.getByRole('dialog', { name: 'paid' });
    const call = drawer.getByRole('region', { name: 'How to call it' });
    const address = await call.locator('code').first().innerText();
    assert.ok(address.endsWith('/api/v1/hooks/paid'), address);
    await call.getByText('X-Leasehold-Signature', { exact: true }).waitFor();
    assert.equal(await deliver(address, secret, 'first', 1), 202);
    assert.equal(await deliver(address, secret, 'first', 1), 202);
    assert.equal(await deliver(address, 'a guess', 'second', 2), 404);
    const deliveries = drawer.getByRole('region', { name: 'Deliveries' });
    await deliveries.getByText('webhook first').waitFor();
    await deliveries.getByText('completed').waitFor();
    assert.equal(await deliveries.getByRole('listitem').count(), 1);
    await picture(page, 'trigger');
    assert.ok(!(await page.content()).includes(secret), 'the secret is told once');

    // Another secret holds at once.
    await drawer.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('button', { name: 'Make another secret' }).click();
    await once.waitFor();
    const other = await once.locator('code').innerText();
    await once.getByRole('button', { name: 'I have it' }).click();
    assert.equal(await deliver(address, secret, 'third', 3), 404);
    assert.equal(await deliver(address, other, 'third', 3), 202);
    await deliveries.getByText('webhook third').waitFor();
    await deliveries
      .getByRole('link', { name: /^task / })
      .first()
      .click();
    await page.waitForURL(/\/tasks\//);
  }),
);

test(
  'a trigger is fired by hand with the form of its handler, and leads to the task',
  inBrowser(async ({ house, visit, page }) => {
    const body = { name: 'analyse-it', kind: 'manual', push: { queue: 'analyse' }, input: { depth: 'full' } } as const;
    await house.call('putTrigger', { body });
    await visit.open('/triggers/analyse-it');
    await page.getByRole('button', { name: 'Fire now' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fire analyse-it' });
    await dialog.getByRole('button', { name: 'Fire the trigger' }).click();
    await dialog.getByText('is required').waitFor();
    await dialog.getByLabel('paper').fill('https://example.org/bees.pdf');
    await dialog.getByRole('button', { name: 'Fire the trigger' }).click();
    const deliveries = page.getByRole('region', { name: 'Deliveries' });
    await deliveries.getByText('completed').waitFor();
    await deliveries.getByRole('link', { name: /^task / }).click();
    await page.waitForURL(/\/tasks\//);
    const { input } = await house.task(new URL(page.url()).pathname.split('/').at(-1) as string);
    assert.deepEqual(input, { depth: 'full', paper: 'https://example.org/bees.pdf' });
  }),
);

test(
  'what became of nothing is told with its reason, in the list and in the drawer',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('putTrigger', { body: { name: 'grow', kind: 'manual', check: 'not-there' } });
    await visit.open('/triggers/grow');
    await page.getByRole('button', { name: 'Fire now' }).click();
    await page.getByRole('dialog', { name: 'Fire grow' }).getByRole('button', { name: 'Fire the trigger' }).click();
    const drawer = page.getByRole('dialog', { name: 'grow', exact: true });
    await drawer.getByText('The last delivery').waitFor();
    await drawer.getByText('There is no pool not-there').first().waitFor();
    await visit.open('/triggers');
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'grow' }) });
    await row.getByText('There is no pool not-there').waitFor();
  }),
);

test(
  'an event trigger is written by the form, acts, is changed, turned off and removed once its name is typed',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/triggers');
      await page.getByRole('button', { name: 'Create a trigger' }).click();
      const dialog = page.getByRole('dialog', { name: 'Create a trigger' });
      await dialog.getByLabel('Name').fill('on-fail');
      await dialog.getByRole('button', { name: 'Event', exact: true }).click();
      await dialog.getByRole('button', { name: 'failed', exact: true }).click();
      await dialog.getByLabel('Only in these queues').fill('crawl');
      await dialog.getByLabel('Queue', { exact: true }).fill('Not A Name');
      await dialog.getByRole('button', { name: 'Create the trigger' }).click();
      // What the node refuses stands at its field.
      await dialog.locator('.field', { hasText: 'Handler' }).locator('.problem').waitFor();
      await dialog.getByLabel('Queue', { exact: true }).fill('alerts');
      await dialog.getByText('Options of its tasks').click();
      await dialog.getByLabel('Other fields of the task as JSON').fill('{"priority": 7}');
      await dialog.getByRole('button', { name: 'Create the trigger' }).click();
      await page.waitForURL(/\/triggers\/on-fail$/);
      const made = await trigger(house, 'on-fail');
      assert.deepEqual(
        [made.on, made.states, made.queues, made.push],
        ['task_finished', ['failed'], ['crawl'], { queue: 'alerts', handler: 'echo', priority: 7 }],
      );
      const drawer = page.getByRole('dialog', { name: 'on-fail', exact: true });
      await house.push({ queue: 'crawl', handler: 'echo', input: { fail: 'no' }, maxAttempts: 1 });
      await drawer.getByRole('region', { name: 'Deliveries' }).getByText('completed').waitFor();

      await drawer.getByRole('button', { name: 'Edit' }).click();
      const edit = page.getByRole('dialog', { name: 'Edit on-fail' });
      await edit.getByLabel('Firings a minute').fill('30');
      await edit.getByRole('button', { name: 'Change the trigger' }).click();
      await drawer.getByText('30 firings a minute').waitFor();
      const { push, states, rate, fired } = await trigger(house, 'on-fail');
      assert.deepEqual([push, states, rate, fired], [made.push, made.states, 30, 1]);

      await drawer.getByRole('button', { name: 'Turn off' }).click();
      await drawer.getByRole('button', { name: 'Turn on' }).waitFor();
      assert.equal((await trigger(house, 'on-fail')).enabled, false);
      await drawer.getByRole('button', { name: 'Remove' }).click();
      const remove = page.getByRole('dialog', { name: 'Remove on-fail' });
      assert.ok(await remove.getByRole('button', { name: 'Remove the trigger' }).isDisabled());
      await remove.getByLabel('Type on-fail to confirm').fill('on-fail');
      await remove.getByRole('button', { name: 'Remove the trigger' }).click();
      await page.waitForURL(/\/triggers$/);
      assert.ok(!(await house.call('listTriggers')).triggers.some(({ name }) => name === 'on-fail'));
    },
    { forgive: [/status of 40[04]/] },
  ),
);

test(
  'who may only read sees how a webhook is called, and no button that changes it',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/triggers/paid');
      await page.getByRole('region', { name: 'How to call it' }).waitFor();
      for (const name of ['Fire now', 'Turn off', 'Edit', 'Rotate secret', 'Remove', 'Create a trigger'])
        assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    },
    { as: 'read' },
  ),
);
