/** Runs of machines, watched live on a real node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { houseOfThisFile } from '../support/browser-test.ts';
import type { House } from '../support/house.ts';
import { ARTICLE, COUNTING } from '../support/machines.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile({
  args: ['--no-worker', '--lease-duration', '3s', '--heartbeat-interval', '1s', '--stale-threshold', '3s'],
});

const article = (house: House, topic: string, holdMs = 50) =>
  house.call('startRun', {
    body: {
      machine: ARTICLE,
      name: `articles/${topic}`,
      input: { topic, holdMs, pictures: ['a', 'b', 'c', 'd', 'e'] },
    },
  });

const rows = (page: Page) => page.getByRole('treeitem');
const stateBox = (page: Page, name: string) => page.locator('.diagram .box', { hasText: name }).first();

test(
  'a machine with a loop, children, agents and a decision is watched live; its worker is killed, and another goes on',
  inBrowser(async ({ house, visit, page }) => {
    const first = await house.hire('first', { slots: 2 });
    const { id } = await article(house, 'bees', 1_200);
    await visit.open('/runs');
    await page.getByRole('link', { name: /articles\/bees/ }).click();
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    // The loop: three drafts, three reviews.
    await stateBox(page, 'illustrate').and(page.locator('.here')).waitFor();
    assert.match(
      await stateBox(page, 'draft')
        .innerText()
        .catch(() => ''),
      /^$|draft/,
    );
    await rows(page).filter({ hasText: 'machine 5' }).waitFor();
    assert.equal(await rows(page).filter({ hasText: 'child' }).count(), 5);
    // While children run, their worker dies.
    first.child.kill('SIGKILL');
    await first.ended;
    await house.hire('second', { slots: 4 });
    await stateBox(page, 'approve').and(page.locator('.here')).waitFor();
    const asks = page.getByRole('region', { name: 'Waits for' });
    await asks.getByText('approval/bees').waitFor();
    await picture(page, 'run');

    // A child opens in place.
    const child = rows(page).filter({ hasText: 'machine 2' });
    await child.locator('.wf-turn').click();
    await rows(page).filter({ hasText: 'sketch' }).first().waitFor();

    // What is pointed at in the diagram is marked in the waterfall, and what is chosen there is selected here.
    await stateBox(page, 'review').hover();
    await page.locator('.wf-row.lit').nth(2).waitFor();
    await stateBox(page, 'review').click();
    await rows(page).and(page.locator('[aria-selected="true"]')).filter({ hasText: 'review' }).waitFor();

    await asks.getByLabel(/Body/).fill('{"ok": tru');
    await asks.getByText('This is not JSON').waitFor();
    await asks.getByLabel(/Body/).fill('{"ok": true, "by": "ada"}');
    await asks.getByRole('button', { name: 'Send the signal' }).click();
    await page.locator('h1').getByText('completed').waitFor();
    await page.getByRole('region', { name: 'Output', exact: true }).getByText('Draft 3 about bees').waitFor();
    await rows(page).filter({ hasText: 'publish' }).waitFor();
    assert.equal(await page.evaluate(() => 'untouched' in globalThis), true, 'the page was never loaded again');
    assert.deepEqual((await house.call('getRun', { params: { id } })).output, {
      text: 'Draft 3 about bees',
      by: 'ada',
    });
  }),
);

test(
  'a step opens with what it was given and what it gave, and the run is forked from there with another context',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('forker', { slots: 4 });
    const { id } = await article(house, 'wax');
    await house.becomes(id, 'waiting');
    await visit.open(`/runs/${id}`);
    await page.getByRole('region', { name: 'Waits for' }).getByText('approval/wax').waitFor();
    await page.getByRole('tree').focus();
    await page.keyboard.press('Home');
    // Past the bar of the attempt, to the first review.
    const isReview = rows(page).and(page.locator('[aria-selected="true"]')).filter({ hasText: 'review' });
    for (let i = 0; i < 12 && (await isReview.count()) === 0; i++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('region', { name: 'Out', exact: true }).getByText('score').waitFor();
    await drawer.getByRole('region', { name: 'Usage', exact: true }).getByText('tokens').waitFor();
    await picture(page, 'run-step');
    await drawer.getByRole('button', { name: 'Fork from here' }).click();
    const dialog = page.getByRole('dialog', { name: /Fork from review/ });
    await dialog.getByLabel('Value of topic, as JSON').fill('"honey"');
    await dialog.getByLabel(/Name/).fill('articles/honey');
    await dialog.getByRole('button', { name: 'Start it with 1 change' }).click();
    await page.getByText('The fork has started.').waitFor();
    await page.getByText('articles/honey').first().waitFor();
    // It goes on from there with what was changed.
    await house.until(async () => {
      const { forkedFrom, waits } = await house.call('getRun', { params: { id: 'articles/honey' } });
      assert.equal(forkedFrom, id);
      return waits.some(({ kind }) => kind === 'signal');
    }, 'the fork waits as the other does');
    const { context } = await house.call('getRun', { params: { id: 'articles/honey' } });
    assert.equal((context as { readonly topic?: string }).topic, 'honey');
    await page.getByRole('region', { name: 'Facts' }).getByText('Forked from').waitFor();
  }),
);

test(
  'a run is cancelled with a reason that is kept, and goes on where it stopped',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('patient', { slots: 4 });
    const { id } = await article(house, 'swarm');
    await house.becomes(id, 'waiting');
    await visit.open(`/runs/${id}`);
    await page.getByRole('region', { name: 'Waits for' }).getByText('approval/swarm').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByLabel(/Reason/).fill('too late for this issue');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.locator('h1').getByText('cancelled').waitFor();
    await page.getByRole('region', { name: 'Facts' }).getByText('too late for this issue').waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('The run goes on where it stopped.').waitFor();
    await page.getByRole('region', { name: 'Waits for' }).getByText('approval/swarm').waitFor();
  }),
);

test(
  'a task with steps has them on the page of its run, which its own page leads to',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('plain', { slots: 2 });
    const id = await house.push({
      queue: 'papers',
      handler: 'analyse',
      input: { paper: 'https://example.org/bees.pdf' },
    });
    await house.becomes(id, 'completed');
    await visit.open(`/tasks/${id}`);
    await page.getByRole('link', { name: 'steps and children' }).click();
    await rows(page).filter({ hasText: 'outline' }).waitFor();
    const parent = await house.push({ queue: 'parent', input: {} });
    await house.becomes(parent, 'completed');
    await visit.open(`/runs/${parent}`);
    const child = rows(page).filter({ hasText: 'child' }).first();
    await child.dblclick();
    await page.getByRole('dialog').getByRole('link', { name: 'Open the child' }).click();
    await page.getByRole('navigation', { name: 'Where this run belongs' }).getByText('root').click();
    await page.locator('code', { hasText: parent }).first().waitFor();
    // The page of a child's task leads there as well.
    const { steps } = await house.call('listRunSteps', { params: { id: parent } });
    await visit.open(`/tasks/${steps.find(({ child }) => child !== undefined)?.child}`);
    await page.getByRole('region', { name: 'Facts' }).getByText('Root').waitFor();
  }),
);

test(
  'a run of a thousand steps draws only what is seen of it',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('counter', { slots: 2 });
    const { id } = await house.call('startRun', { body: { machine: COUNTING, input: { most: 1_000 } } });
    await house.becomes(id, 'completed');
    await visit.open(`/runs/${id}`);
    const panel = page.getByRole('region', { name: 'Steps' });
    await panel.locator('.count', { hasText: '1,001' }).waitFor();
    assert.ok((await rows(page).count()) < 60);
    const tree = page.getByRole('tree');
    await tree.focus();
    await page.keyboard.press('End');
    await page.locator('.wf-foot', { hasText: 's:001000' }).waitFor();
    assert.ok((await rows(page).count()) < 60);
    await panel.getByRole('button', { name: 'Zoom to rows' }).click();
  }),
);
