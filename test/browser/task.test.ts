import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'a task has its timeline of attempts, its input as it was written, and why it failed',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({
      queue: 'crawl',
      handler: 'echo',
      input: { url: 'https://example.org/bees', big: '12345678901234567890', fail: 'answered 503' },
      maxAttempts: 2,
      retry: { baseMs: 50, maxMs: 50 },
    });
    await house.becomes(id, 'failed');
    await visit.open(`/tasks/${id}`);
    const attempts = page.getByRole('region', { name: 'Attempts' });
    assert.deepEqual(await attempts.locator('.lanes .state').allInnerTexts(), ['retried', 'failed']);
    await attempts.getByText('Failed, and is retried: answered 503').waitFor();
    assert.match(await page.getByRole('region', { name: 'Error' }).innerText(), /answered 503/);
    const input = page.getByRole('region', { name: 'Input', exact: true });
    await input.getByText('https://example.org/bees').waitFor();
    await input.getByRole('button', { name: 'Text' }).click();
    assert.deepEqual(JSON.parse(await input.locator('pre').innerText()), (await house.task(id)).input);
    await page.getByRole('region', { name: 'Facts' }).getByText('2 of 2').waitFor();
    await page.getByRole('button', { name: 'Copy the id' }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), id);

    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('The task is ready again.').waitFor();
    await house.until(async () => (await house.task(id)).attempts.length > 2, 'it is tried again');
    await attempts.locator('.lanes .state').nth(2).waitFor();
  }),
);

test(
  'its log comes while it runs, in its colours, and can be searched',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'build', input: { lines: 60, everyMs: 30 } });
    await visit.open(`/tasks/${id}`);
    const log = page.getByRole('region', { name: 'Log' });
    await log.getByText('live').waitFor();
    await log.getByText('page 3').first().waitFor();
    await log.getByText('page 60').waitFor();
    await page.getByRole('region', { name: 'Result', exact: true }).getByText('60').waitFor();
    await log.getByText('live').waitFor({ state: 'detached' });
    // SGR becomes classes; nothing of an escape is left in the text.
    assert.equal(await log.locator('.f6', { hasText: 'page 60' }).count(), 1);
    assert.equal((await log.locator('.a-bold', { hasText: '60' }).count()) > 0, true);
    assert.doesNotMatch(await log.innerText(), /\[3\dm/);

    await log.getByLabel('Search the log').fill('caption');
    await log.getByText('1 of 12').waitFor();
    await page.keyboard.press('Enter');
    await log.getByText('2 of 12').waitFor();
    await log.locator('.log-line.hit mark').waitFor();
    assert.match(await log.locator('.log-line.hit').innerText(), /page 10/);
    await log.getByRole('button', { name: 'Copy the log' }).click();
    const copied = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
    assert.deepEqual([copied.length, copied[0]], [60, 'page 1 of 60: ok']);
  }),
);

test(
  'Explain has the verdict per limit and worker; a limit that opens lets the task go on before our eyes',
  inBrowser(async ({ house, visit, page }) => {
    await house.call('createLimit', { body: { name: 'claude', concurrent: 1 } });
    const holder = await house.push({
      queue: 'agent',
      handler: 'echo',
      input: { delay_ms: 60_000 },
      limits: ['claude'],
    });
    await house.becomes(holder, 'running');
    const id = await house.push({ queue: 'agent', handler: 'echo', input: {}, limits: ['claude'] });
    await visit.open(`/tasks/${id}`);
    await page.keyboard.press('e');
    const drawer = page.getByRole('dialog', { name: 'Explanation' });
    await drawer.getByRole('heading', { name: 'Limits' }).waitFor();
    await drawer.getByText('is full · 1 of 1').waitFor();
    await drawer.getByRole('link', { name: holder.slice(-8) }).waitFor();
    assert.equal(
      await drawer.locator('.notice .strong').innerText(),
      (await house.call('explainTask', { params: { id } })).summary,
    );
    await page.keyboard.press('Escape');

    await house.call('editLimit', { params: { name: 'claude' }, body: { concurrent: 2 } });
    await page.locator('h1').getByText('completed').waitFor();
    await house.call('cancelTask', { params: { id: holder }, body: {} });
  }),
);

test(
  'an edited input makes a new task like the old one, which stays as it is',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'lines', handler: 'shell', input: { command: 'echo one' }, priority: 7 });
    await house.becomes(id, 'completed');
    await visit.open(`/tasks/${id}`);
    await page.getByRole('button', { name: 'Edit and run' }).click();
    await page.waitForURL(new RegExp(`/push\\?like=${id}$`));
    const command = page.getByLabel(/^command/);
    assert.equal(await command.inputValue(), 'echo one');
    // The address alone brings the same.
    await page.reload();
    await command.fill('echo two');
    await page.getByRole('button', { name: 'Push the task' }).click();
    await page.waitForURL(/\/tasks\/task_/);
    const made = new URL(page.url()).pathname.split('/').at(-1) as string;
    assert.notEqual(made, id);
    await page.getByRole('region', { name: 'Log' }).getByText('two').waitFor();
    const task = await house.becomes(made, 'completed');
    assert.deepEqual(
      [task.queue, task.handler, task.priority, task.input],
      ['lines', 'shell', 7, { command: 'echo two' }],
    );
    assert.deepEqual((await house.task(id)).input, { command: 'echo one' });
  }),
);

test(
  'what it waits for, what waits for it and what it has started is a graph that changes as they do',
  inBrowser(async ({ house, visit, page }) => {
    const { tasks } = await house.call('pushGraph', {
      body: {
        tasks: [
          { name: 'fetch', queue: 'web', handler: 'echo', input: { delay_ms: 60_000 } },
          { name: 'parse', queue: 'cpu', handler: 'echo', after: ['fetch'] },
          { name: 'index', queue: 'cpu', handler: 'echo', after: ['parse'] },
        ],
      },
    });
    const [fetched, parsed] = tasks.map(({ id }) => id) as [string, string];
    await visit.open(`/tasks/${parsed}`);
    const graph = page.getByRole('group', { name: 'Graph of related tasks' });
    await graph.locator('a').nth(2).waitFor();
    assert.equal(await graph.locator('path.edge').count(), 2);
    assert.match((await graph.locator('a.here').textContent()) ?? '', /waiting/);
    await house.call('cancelTask', { params: { id: fetched }, body: {} });
    await graph.locator('a', { hasText: 'cancelled' }).nth(2).waitFor();
    await graph.locator('a').first().click();
    await page.waitForURL(new RegExp(`/tasks/${fetched}$`));

    const family = await house.push({ queue: 'parent', input: { holdMs: 300 } });
    await visit.open(`/tasks/${family}`);
    await graph.locator('path.spawn').nth(1).waitFor();
    await page.locator('h1').getByText('completed').waitFor();
    await page.getByRole('region', { name: 'Attempts' }).getByText('Waits, and has given its slot back').waitFor();
    await graph.locator('a', { hasText: 'completed' }).nth(2).waitFor();
  }),
);

test(
  'a task that waits for a signal says so, and goes on when it comes',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'listen', input: 'payment:42' });
    await visit.open(`/tasks/${id}`);
    await page.getByText('The task waits for a signal on the channel').waitFor();
    await page.getByText('leasehold signal payment:42').waitFor();
    await house.call('sendSignal', { body: { channel: 'payment:42', body: { paid: true } } });
    await page.locator('h1').getByText('completed').waitFor();
    await page.getByRole('region', { name: 'Result', exact: true }).getByText('paid').waitFor();
  }),
);

test(
  'an approval is decided where the task is looked at',
  inBrowser(async ({ house, visit, page }) => {
    const id = await house.push({ queue: 'publish', input: 'On wasps' });
    await visit.open(`/tasks/${id}`);
    const panel = page.getByRole('region', { name: 'To decide' });
    await panel.getByText('Publish “On wasps”?').waitFor();
    await panel.getByText('ada').waitFor();
    await panel.getByLabel(/^note/).fill('too short');
    await panel.getByRole('button', { name: 'reject' }).click();
    await page.locator('h1').getByText('completed').waitFor();
    const { action, value } = (await house.task(id)).result as { action: string; value: unknown };
    assert.deepEqual([action, value], ['reject', { note: 'too short' }]);
  }),
);
