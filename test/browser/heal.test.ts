/** The node goes away under an open page and comes back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaled } from '../support/scale.ts';
import { houseOfThisFile } from './support/browser-test.ts';

// A task that runs while its node is killed comes again after its lease, and all of them must be done within a test's patience.
const inBrowser = houseOfThisFile({
  args: ['--lease-duration', '3s', '--heartbeat-interval', '1s', '--stale-threshold', '3s'],
});

const GONE = {
  forgive: [
    /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_NETWORK|status of 503/,
  ],
};

test(
  'a node is killed and started again under an open page, which heals itself and has missed nothing',
  inBrowser(async ({ house, visit, page, another }) => {
    const others = await Promise.all(
      ['/', '/queues', '/events'].map(async (path) => {
        const one = await another(GONE);
        await one.open(path);
        return one;
      }),
    );
    await visit.open('/tasks?queue=heal');
    for (const one of [visit, ...others]) await one.page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    let pushed = 0;
    for (let round = 0; round < scaled(1, 6); round++) {
      const push = async (): Promise<void> => {
        await house.push({ queue: 'heal', handler: 'echo', input: { mark: ++pushed } });
      };
      for (let i = 0; i < 3; i++) await push();
      await page.getByText(`${pushed} tasks, all of them`).waitFor();
      await push();
      // In the same moment: what the page has not heard of yet is told when the node is back.
      await house.kill();
      await page.getByText('The node has been out of reach').waitFor();
      // What was there stays readable meanwhile.
      assert.ok((await page.locator('.vt-row').count()) >= pushed - 1);
      // Written to the store while no node is up.
      const { code } = await house.command(['push', 'heal', `{"mark":${++pushed}}`, '--handler', 'echo']).ended;
      assert.equal(code, 0);
      await house.startAgain();
      await push();
      await page.getByText(`${pushed} tasks, all of them`).waitFor();
      for (let i = 1; i <= pushed; i++) await page.getByText(`{mark: ${i}}`).waitFor();
      await page.getByText('The node has been out of reach').waitFor({ state: 'detached' });
      await push();
      await page.getByText(`${pushed} tasks, all of them`).waitFor();
    }
    const [overview, queues, events] = others.map((one) => one.page);
    await house.until(
      async () =>
        (await house.call('countTasks', { query: { queue: ['heal'], state: ['completed'] } })).counted === pushed,
      'all are done',
    );
    await page
      .locator('.vt-row')
      .getByText('completed')
      .nth(pushed - 1)
      .waitFor();
    await overview?.locator('a.figure', { hasText: 'completed' }).getByText(String(pushed), { exact: true }).waitFor();
    await queues?.getByRole('row').filter({ hasText: 'heal' }).getByText(String(pushed), { exact: true }).waitFor();
    // The numbers of events have no gap.
    const seen = await events?.locator('.vt-row .vt-cell:first-child').allInnerTexts();
    const { events: all } = await house.call('readEvents', { query: { after: 0, limit: 500 } });
    const told = all.filter(({ kind }) => kind !== 'beat').map(({ seq }) => String(seq));
    assert.deepEqual(seen?.toReversed(), told.slice(-(seen?.length ?? 0)));
    for (const one of [visit, ...others])
      assert.equal(await one.page.evaluate(() => 'untouched' in globalThis), true, 'no page was loaded again');
  }, GONE),
);

test(
  'a page that cannot reach its node from the beginning says so, and a click tries again',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/queues');
      await house.kill();
      // A part of the page that was not needed yet cannot be loaded either.
      await page.getByRole('link', { name: 'Cluster' }).click();
      await page.getByText('This page has failed').waitFor();
      await house.startAgain();
      await page.getByRole('button', { name: 'Reload' }).click();
      await page.getByRole('region', { name: 'Nodes' }).waitFor();
    },
    { forgive: [...GONE.forgive, /Failed to fetch dynamically imported module|error loading/i] },
  ),
);
