import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';
import { picture } from './support/pictures.ts';

const inBrowser = houseOfThisFile({ args: ['--name', 'first'] });

test(
  'an empty install teaches: a sample one click away, then exact commands that tick themselves off',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/');
    const steps = page.getByRole('region', { name: 'First steps' });
    const shown = steps.locator('code').first();
    await steps.getByText('0 of 4').waitFor();
    assert.equal(await shown.innerText(), `npx leasehold push echo '{"hello":"world"}' --server ${house.url} --follow`);

    await picture(page, 'first-run');
    await steps.getByRole('button', { name: 'Run the sample' }).click();
    await page.waitForURL(/\/tasks\/task_/);
    await page.locator('h1').getByText('completed').waitFor();
    const { tasks } = await house.call('listTasks');
    assert.deepEqual(
      tasks.map(({ handler, state }) => [handler, state]),
      [['echo', 'completed']],
    );
    await page.goBack();
    await steps.getByText('2 of 4').waitFor();

    // What stands there is what is run, as it stands there.
    const push = await shown.innerText();
    assert.match(push, /^npx leasehold push shell '.*' --server \S+ --follow$/);
    const pushed = house.shell(push);
    await steps.getByText('3 of 4').waitFor();
    const create = await shown.innerText();
    assert.equal(create, `npx leasehold workers create second --code --server ${house.url}`);
    const said = await house
      .shell(create)
      .says(/^\s*(LEASEHOLD_WORKER_CODE=\S+) (?:npx )?(leasehold worker --join .*)$/m);
    const [, code = '', join = ''] = said;
    house.shell(`${code} npx ${join.replace('URL', house.url)}`);
    await steps.getByText('4 of 4').waitFor();
    assert.deepEqual((await house.call('listWorkers')).workers.map(({ name }) => name).toSorted(), ['first', 'second']);
    assert.deepEqual(await pushed.ended, { code: 0, signal: null });

    await steps.getByRole('button', { name: 'Hide' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.reload();
    await visit.settled();
    await page.getByRole('region', { name: 'Health' }).waitFor();
    assert.equal(await steps.count(), 0);
  }),
);
