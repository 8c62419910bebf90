import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { type Furniture, furnish, SCREENS } from './support/furniture.ts';

let things: Furniture;
const inBrowser = houseOfThisFile({
  furnish: async (house) => {
    things = await furnish(house);
  },
});

/** What changes something, by the words on its button. */
const CHANGES =
  /push|cancel|retry|run |again|pause|resume|drain|enable|create|edit|remove|rotate|revoke|save|delete|add a|approve|reject|select|priority|turn o|fire|check now|dry|give to|take away|new value|merge|scrap/i;

test(
  'who may only read sees every screen and not one button that changes something',
  inBrowser(
    async ({ house, visit, page }) => {
      for (const [name, path] of SCREENS(things)) {
        await visit.open(path);
        const offered = await page
          .locator('button:visible, input[type="checkbox"]:visible, select:visible, [role="switch"]:visible')
          .evaluateAll((all) =>
            all
              .filter((one) => !(one as HTMLButtonElement).disabled)
              .map((one) => one.getAttribute('aria-label') ?? one.textContent ?? ''),
          );
        assert.deepEqual(
          offered.filter((text) => CHANGES.test(text) && text !== 'Pause' && !/^Search|filter/i.test(text)),
          [],
          name,
        );
      }
      // Also by its address: a form that would be refused is not shown.
      await visit.open('/push');
      await page.getByText('You cannot push tasks').waitFor();
      // What a page does not offer the node refuses as well.
      const answer = await page.evaluate(async () => {
        const { status } = await fetch('/api/v1/tasks', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-leasehold-ui': '1' },
          body: JSON.stringify({ queue: 'sneaked', input: {} }),
        });
        return status;
      });
      assert.equal(answer, 403);
      assert.equal((await house.call('countTasks', { query: { queue: ['sneaked'] } })).counted, 0);
    },
    { as: 'read', forgive: [/status of 403/] },
  ),
);

test(
  'an operator works with tasks and workers, and sees no tokens',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/settings');
      assert.equal(await page.getByRole('button', { name: 'Create a token' }).count(), 0);
      await visit.open('/workers');
      await page.getByRole('button', { name: 'Create a worker' }).waitFor();
      // Who may write a pool says which programs are started.
      await visit.open('/pools/batch');
      await page.getByRole('button', { name: 'Check now' }).waitFor();
      for (const name of ['Edit', 'Turn off', 'Remove'])
        assert.equal(await page.getByRole('button', { name }).count(), 0, name);
      await visit.open('/triggers/paid');
      await page.getByRole('button', { name: 'Fire now' }).waitFor();
    },
    { as: 'operator' },
  ),
);

test(
  'everything is reached by keys, which "?" lists',
  inBrowser(async ({ visit, page }) => {
    await visit.open('/');
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keys' });
    await help.getByText('Push a task').waitFor();
    const listed = await help.locator('dd').allInnerTexts();
    for (const keys of ['?', '/', 't', 'p']) assert.ok(listed.includes(keys), keys);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    const places = {
      t: '/tasks',
      f: '/failed',
      b: '/artifacts',
      a: '/approvals',
      q: '/queues',
      w: '/workers',
      l: '/limits',
      d: '/schedules',
      c: '/cluster',
      e: '/events',
      u: '/audit',
      k: '/credentials',
      s: '/settings',
      o: '/',
    };
    for (const [key, path] of Object.entries(places)) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === `/ui${path}`);
      // A new page is read out from its title on.
      await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    }
    await page.keyboard.press('p');
    await page.waitForURL(/\/push$/);
    // In a field keys are letters.
    await page.getByLabel('Queue').focus();
    await page.keyboard.type('gt?');
    assert.equal(await page.getByLabel('Queue').inputValue(), 'gt?');

    await visit.open('/tasks');
    await page.locator('.vt-row').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    const id = await page.locator('.vt-row.active a[title^="task_"]').getAttribute('title');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/tasks/${id}$`));
    await page.getByRole('button', { name: 'Explain' }).first().waitFor();
    await page.keyboard.press('u');
    await page.waitForURL(/\/tasks$/);
  }),
);

test(
  'tabs go through a page in its order, a dialog keeps them and gives the focus back',
  inBrowser(async ({ visit, page }) => {
    await visit.open('/limits');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content');
    const opener = page.getByRole('button', { name: 'Create a limit' });
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Create a limit' });
    await dialog.waitFor();
    for (let i = 0; i < 25; i++) {
      await page.keyboard.press('Tab');
      const inside = await page.evaluate(
        () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
      );
      assert.equal(inside, true);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await opener.evaluate((button) => document.activeElement === button), true);
  }),
);

test(
  'on a phone the menu is behind a button, and leads everywhere',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/');
      await page.getByRole('button', { name: 'Menu' }).click();
      const menu = page.getByRole('dialog', { name: 'Menu' });
      await menu.getByRole('link', { name: /^Workers/ }).click();
      await page.waitForURL(/\/workers$/);
      await menu.waitFor({ state: 'detached' });
      await page.locator('.vt-row').first().click();
      await page.waitForURL(/\/workers\/.+$/);
    },
    { size: 'phone' },
  ),
);

test(
  'an address that leads nowhere says so, and a task that is not there too',
  inBrowser(
    async ({ visit, page }) => {
      await visit.open('/no/such/page');
      await page.getByText('No page has this address').waitFor();
      await visit.open('/tasks/task_01a1e537-199f-7000-8000-000004aa07d3');
      await page.getByRole('alert').waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    },
    { forgive: [/status of 40[04]/] },
  ),
);
