/** A worker is killed while somebody looks at its task. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { picture } from './support/pictures.ts';

const inBrowser = houseOfThisFile({
  args: ['--no-worker', '--lease-duration', '3s', '--heartbeat-interval', '1s', '--stale-threshold', '3s'],
});

test(
  'a worker is killed: the open page of its task tells that the lease ran out, that another took it, and that it completed',
  inBrowser(async ({ house, visit, page, another }) => {
    const first = await house.hire('first', { slots: 1, args: ['--allow', 'shell'] });
    // It ends when somebody says so, whoever runs it then.
    const id = await house.push({
      queue: 'shell',
      input: { command: `while [ ! -e done ]; do sleep 0.1; done; echo "at last"` },
    });
    await visit.open(`/tasks/${id}`);
    const attempts = page.getByRole('region', { name: 'Attempts' });
    await attempts.getByRole('link', { name: 'first' }).waitFor();
    await page.locator('h1').getByText('running').waitFor();
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    const overview = await another({ theme: 'dark' });
    await overview.open('/');

    first.child.kill('SIGKILL');
    await first.ended;
    await attempts.getByText('The lease expired: the worker fell silent').waitFor();
    await page.getByRole('region', { name: 'Attempts' }).locator('.lanes').getByText('expired').waitFor();
    // Whoever looks at the whole hears of it too.
    const wrong = overview.page.getByRole('region', { name: 'Recent incidents' });
    await wrong.getByRole('link', { name: /lease/i }).first().waitFor();

    await house.hire('second', { slots: 1, args: ['--allow', 'shell'] });
    await attempts.getByRole('link', { name: 'second' }).waitFor();
    assert.deepEqual(await attempts.locator('.lanes .state').allInnerTexts(), ['expired', 'running']);
    writeFileSync(join(house.folder, 'done'), '');
    await page.locator('h1').getByText('completed').waitFor();
    await page.getByRole('region', { name: 'Log' }).getByText('at last').waitFor();
    assert.deepEqual(await attempts.locator('.lanes .state').allInnerTexts(), ['expired', 'completed']);
    assert.deepEqual(
      (await house.task(id)).attempts.map(({ outcome, worker }) => [outcome, worker]),
      [
        ['expired', 'first'],
        ['completed', 'second'],
      ],
    );
    await picture(page, 'story');
    assert.equal(await page.evaluate(() => 'untouched' in globalThis), true, 'the page was never loaded again');
  }),
);
