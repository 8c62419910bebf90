/** Runs of graphs, watched live on a real node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { houseOfThisFile } from '../support/browser-test.ts';
import { layers, news } from '../support/graphs.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile({ args: ['--slots', '6'] });

const node = (page: Page, name: string) => page.getByRole('option', { name: new RegExp(`^${name}\\s*,`) });
const panel = (page: Page) => page.locator('.node-panel');
const sum = (page: Page, text: RegExp) => page.locator('.graph-sum', { hasText: text });

test(
  'a graph is watched live: tasks of a node are counted, what came in and out is shown, and nothing is loaded again',
  inBrowser(async ({ house, visit, page }) => {
    const { id } = await house.call('startRun', { body: { graph: news({ holdMs: 6_000 }), name: 'news/1' } });
    await visit.open('/runs');
    await page.getByRole('link', { name: /news\/1/ }).click();
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    await node(page, 'Summarise').and(page.locator('.n-running')).waitFor();
    await node(page, 'Summarise').getByText('0 of 4 tasks').waitFor();
    await node(page, 'Put together').and(page.locator('.n-waiting')).waitFor();
    await page.getByRole('option', { name: /^Archive\s*, done, pinned,\s*1 item pinned/ }).waitFor();
    await node(page, 'Summarise').click();
    const tasks = panel(page).getByRole('list', { name: 'Tasks of the node' }).getByRole('listitem');
    await tasks.nth(3).waitFor();
    await picture(page, 'run-graph');
    await tasks.nth(1).getByRole('button', { name: 'Data' }).click();
    await panel(page).getByRole('region', { name: 'Input of the task', exact: true }).getByText('honey').waitFor();
    // Steps: the tasks of the node stand below it before it has ended.
    await page.getByRole('treeitem').filter({ hasText: 'summary (4)' }).waitFor();
    await page.locator('h1').getByText('completed').waitFor();
    await panel(page).getByText('Gave: 4 items').waitFor();
    await sum(page, /10 done/).waitFor();
    await sum(page, /1 skipped/).waitFor();
    assert.equal(await page.evaluate(() => 'untouched' in globalThis), true, 'the page was never loaded again');
    assert.equal(new URL(page.url()).searchParams.get('node'), 'summary');
    await house.becomes(id, 'completed');
  }),
);

test(
  'a graph is walked by keys, and the address of a node opens it',
  inBrowser(async ({ house, visit, page }) => {
    const { id } = await house.call('startRun', { body: { graph: news() } });
    await house.becomes(id, 'completed');
    await visit.open(`/runs/${id}?node=fresh`);
    await panel(page).getByText('4 items, and 1 the other way').waitFor();
    await panel(page)
      .getByRole('region', { name: 'The other way: 1 item', exact: true })
      .getByText('wax')
      .first()
      .waitFor();
    const nodes = page.getByRole('listbox', { name: 'Nodes of the graph' });
    await nodes.focus();
    const selected = page.getByRole('option', { selected: true });
    for (const [key, name] of [
      ['ArrowLeft', /^Fetch the feed/],
      ['ArrowLeft', /^Feeds/],
      ['ArrowLeft', /^Every morning/],
      ['ArrowRight', /^Feeds|^Archive/],
    ] as const) {
      await nodes.press(key);
      await page.getByRole('option', { selected: true, name }).waitFor();
    }
    assert.equal(await nodes.getAttribute('aria-activedescendant'), await selected.getAttribute('id'));
    await nodes.press('Escape');
    await panel(page).waitFor({ state: 'detached' });
  }),
);

test(
  'a node that failed shows its error, what comes after it was not reached, and the run goes on from there',
  inBrowser(async ({ house, visit, page }) => {
    const { id } = await house.call('startRun', { body: { graph: news({ fail: 'the template has no subject' }) } });
    await house.becomes(id, 'failed');
    await visit.open(`/runs/${id}`);
    await sum(page, /3 not reached/).waitFor();
    await sum(page, /1 failed/).click();
    await panel(page).getByText('the template has no subject').first().waitFor();
    await picture(page, 'run-graph-failed');
    const attempts = async (): Promise<number> => {
      const { members } = await house.call('getRunGraphNode', { params: { id, node: 'join' } });
      return members[0]?.attempt ?? 0;
    };
    assert.equal(await attempts(), 1);
    await page.getByRole('button', { name: 'Go on' }).click();
    await house.until(async () => (await attempts()) === 2, 'the failed task has run again');
    // The others have not.
    const { members } = await house.call('getRunGraphNode', { params: { id, node: 'summary' } });
    assert.deepEqual(
      members.map(({ attempt }) => attempt),
      [1, 1, 1, 1],
    );
  }),
);

test(
  'of a graph of two thousand nodes only what can be read is in the page',
  inBrowser(async ({ house, visit, page }) => {
    const { id } = await house.call('startRun', { body: { graph: layers(2_000, 60_000) } });
    await visit.open(`/runs/${id}`);
    await sum(page, /\d+ running/).waitFor();
    await sum(page, /496 done/).waitFor();
    await page.getByText('Zoom in to read the names').waitFor();
    assert.equal(await page.getByRole('option').count(), 0);
    await sum(page, /\d+ running/).click();
    await panel(page).getByText('echo').first().waitFor();
    await picture(page, 'run-graph-large');
    for (let i = 0; i < 6; i++) await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByRole('option').nth(10).waitFor();
    assert.ok((await page.getByRole('option').count()) <= 240);
    const { x, y, width, height } = (await page.locator('.graph-box').boundingBox()) as DOMRect;
    const [from] = (await page.getByRole('option').allTextContents()) as [string];
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 - 500, y + height / 2, { steps: 10 });
    await page.mouse.up();
    await page.waitForFunction((text) => document.querySelector('.gnode')?.textContent !== text, from);
    await house.call('cancelRun', { params: { id }, body: {} });
    await page.locator('h1').getByText('cancelled').waitFor();
  }),
);
