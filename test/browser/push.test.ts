import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a handler that says what it takes has a form; what is written there is what is pushed',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/push');
    await page.getByLabel('Handler').fill('http');
    await page.getByLabel(/^url/).waitFor();
    await page.getByRole('button', { name: 'Push the task' }).click();
    await page.getByText('is required').waitFor();
    await page.getByLabel('Handler').fill('shell');
    await page.getByText('1 worker offers it').waitFor();
    assert.equal((await house.call('countTasks')).counted, 0);

    await page.getByLabel(/^command/).fill('echo "from a form"');
    await page.getByRole('button', { name: 'JSON' }).click();
    assert.deepEqual(JSON.parse(await page.getByLabel('Input as JSON').inputValue()), {
      command: 'echo "from a form"',
    });
    await page.getByRole('button', { name: 'Form' }).click();
    await page.getByLabel('Queue').fill('nightly');
    await page.getByLabel('Priority').fill('5');
    await page.getByLabel('Tries').fill('2');
    await page.getByLabel('Unique key').fill('report');
    await page.getByRole('button', { name: 'Push the task' }).click();
    await page.getByText('The task is on disk.').waitFor();
    await page.waitForURL(/\/tasks\/task_/);
    const id = new URL(page.url()).pathname.split('/').at(-1) as string;
    const task = await house.becomes(id, 'completed');
    assert.deepEqual(
      [task.queue, task.handler, task.priority, task.maxAttempts, task.unique, task.input],
      ['nightly', 'shell', 5, 2, 'report', { command: 'echo "from a form"' }],
    );
    await page.getByRole('region', { name: 'Log' }).getByText('from a form').waitFor();

    // The same key again leads to the same task.
    await visit.open('/push?handler=shell&queue=nightly');
    await page.getByLabel(/^command/).fill('echo "from a form"');
    await page.getByLabel('Priority').fill('5');
    await page.getByLabel('Tries').fill('2');
    await page.getByLabel('Unique key').fill('report');
    await page.getByRole('button', { name: 'Push the task' }).click();
    await page.waitForURL(new RegExp(`/tasks/${id}$`));
    await page.getByText('A task with this unique key was there before.').waitFor();
  }),
);

test(
  'what is not right is said beside its field, what the node refuses in its own words, and nothing is lost',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/push?handler=nobody-has-it');
      await page.getByText('No worker offers this handler now').waitFor();
      const json = page.getByLabel('Input as JSON');
      await json.fill('{"a": ');
      await page.getByLabel('Delay').fill('soon');
      await page.getByRole('button', { name: 'Push the task' }).click();
      await page.getByText('is not JSON').waitFor();
      await page.getByText('is written like 30s, 5m or 1h30m').waitFor();
      await json.fill('{"a": 1}');
      await page.getByLabel('Delay').fill('10m');
      await page.getByLabel('Limits').fill('unheard-of');
      await page.getByRole('button', { name: 'Push the task' }).click();
      await page.getByRole('alert').getByText('There is no limit unheard-of.').waitFor();
      assert.equal(await json.inputValue(), '{"a": 1}');
      await page.getByLabel('Limits').fill('');
      await page.getByRole('button', { name: 'Push the task' }).click();
      await page.locator('h1').getByText('scheduled').waitFor();
      const { tasks } = await house.call('listTasks', { query: { state: ['scheduled'] } });
      assert.deepEqual(
        tasks.map(({ handler, input }) => [handler, input]),
        [['nobody-has-it', { a: 1 }]],
      );
    },
    { forgive: [/status of 4\d\d/] },
  ),
);
