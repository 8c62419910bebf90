import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a running task is stopped step by step, shown while it happens: asked, SIGTERM, SIGKILL, over',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'stubborn', input: null });
    await visit.open(`/tasks/${id}`);
    await page.getByRole('region', { name: 'Log' }).getByText('nothing stops me').waitFor();
    await page.keyboard.press('c');
    const dialog = page.getByRole('dialog', { name: 'Cancel this task' });
    await dialog.getByText('Its worker is asked to stop it').waitFor();
    await dialog.getByRole('button', { name: 'Cancel the task' }).click();
    const ladder = page.getByRole('region', { name: 'Stopping' });
    await ladder.getByText('Cancel requested').waitFor();
    await ladder.locator('[aria-current="step"]', { hasText: 'SIGTERM' }).waitFor();
    const over = page.getByRole('region', { name: 'How it was stopped' });
    await over.getByText('The task ended as cancelled').waitFor();
    await over.getByText('Then SIGKILL').waitFor();
    const { lines } = await house.call('readLog', { params: { id } });
    const said = lines.filter(({ stream }) => stream === 'system').map(({ text }) => text.replace(/ after .*/, ''));
    assert.deepEqual(said, [
      'stop (cancelled): abort signal',
      'stop (cancelled): SIGTERM',
      'stop (cancelled): SIGKILL',
    ]);
    assert.equal((await house.task(id)).state, 'cancelled');
  }),
);

test(
  'a task that waits is cancelled at once, with all that hangs on it if that is wished',
  inBrowser(async ({ house, visit, page }) => {
    const { tasks } = await house.call('pushGraph', {
      body: {
        tasks: [
          { name: 'a', queue: 'later', handler: 'echo', delay: '1h' },
          { name: 'b', queue: 'later', handler: 'echo', after: [{ on: 'a', optional: true }] },
          { name: 'c', queue: 'later', handler: 'echo', after: [{ on: 'b', optional: true }] },
        ],
      },
    });
    await visit.open(`/tasks/${tasks[0]?.id}`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByLabel('Also the 2 tasks that depend on it').check();
    await page.getByRole('button', { name: 'Cancel 3 tasks' }).click();
    await page.locator('h1').getByText('cancelled').waitFor();
    for (const { id } of tasks) assert.equal((await house.task(id)).state, 'cancelled');
  }),
);
