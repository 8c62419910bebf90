/** Runs that are started from the pages. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { houseOfThisFile } from '../support/browser-test.ts';
import { news } from '../support/graphs.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile({ args: ['--slots', '4'] });

const WRONG = `nodes:
  - id: first
    typeId: if
  - id: first
    typeId: set
connections:
  - sourceNodeId: first
    targetNodeId: nowhere
`;

const MACHINE = `spec: flatmachine
spec_version: "2.0.0"
data:
  name: twice
  states:
    start: { type: initial, transitions: [{ to: done }] }
    done: { type: final, output: { twice: "{{ input.n * 2 }}" } }
`;

test(
  'what is wrong with a definition is told with its places before anything starts; a file that is right is run',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/runs');
    await page.getByRole('button', { name: 'Start a run' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    const text = dialog.getByLabel('Machine or graph, as YAML or JSON');
    await text.fill(WRONG);
    const verdict = dialog.getByRole('region', { name: 'What the node says' });
    await verdict.getByText('It cannot run: 4 problems.').waitFor();
    await verdict.getByText('nodes[0].data.condition').waitFor();
    await verdict.getByText('line 8').waitFor();
    const start = dialog.getByRole('button', { name: 'Start the run' });
    assert.equal(await start.isDisabled(), true);
    await picture(page, 'start-run');
    const file = join(house.folder, 'twice.yml');
    writeFileSync(file, MACHINE);
    await dialog.getByLabel('File of a machine or a graph').setInputFiles(file);
    await verdict.getByText('The machine twice can run.').waitFor();
    await dialog.getByLabel('Input as JSON (optional)').fill('{"n": 21');
    await dialog.getByText('This is not JSON').waitFor();
    assert.equal(await start.isDisabled(), true);
    await dialog.getByLabel('Input as JSON (optional)').fill('{"n": 21}');
    await dialog.getByLabel(/Execution id/).fill('twice/21');
    await start.click();
    await page.getByText('The run has started.').waitFor();
    await page.locator('h1').getByText('completed').waitFor();
    assert.deepEqual((await house.call('getRun', { params: { id: 'twice/21' } })).output, { twice: 42 });

    // The same definition, other input.
    await page.getByRole('button', { name: 'Run again' }).click();
    const again = page.getByRole('dialog', { name: 'Run twice again' });
    await again.getByLabel('Input as JSON').fill('{"n": 4}');
    await again.getByLabel(/Execution id/).fill('twice/4');
    await again.getByRole('button', { name: 'Start the run' }).click();
    await house.until(
      async () => (await house.call('listRuns', { query: { name: 'twice/4' } })).runs.length === 1,
      'it began',
    );
    await page.locator('h1').getByText('completed').waitFor();
    assert.deepEqual((await house.call('getRun', { params: { id: 'twice/4' } })).output, { twice: 8 });
  }),
);

test(
  'a graph is started from its text, and again with another input; who may only read starts nothing',
  inBrowser(async ({ house, visit, page, another }) => {
    await visit.open('/runs');
    await page.getByRole('button', { name: 'Start a run' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    await dialog.getByLabel('Machine or graph, as YAML or JSON').fill(JSON.stringify(news()));
    await dialog.getByText('The graph Morning news can run.').waitFor();
    await dialog.getByRole('button', { name: 'Start the run' }).click();
    await page.locator('h1').getByText('completed').waitFor();
    await page.locator('.graph-sum', { hasText: '10 done' }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) as string;
    const { definition } = await house.call('getRun', { params: { id } });
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start the run' }).click();
    const definitions = async () =>
      (await house.call('listRuns', { query: { kind: 'graph' } })).runs.map((run) => run.definition);
    await house.until(async () => (await definitions()).length === 2, 'it was started again');
    assert.deepEqual(await definitions(), [definition, definition]);
    const reader = await another({ as: 'read' });
    await reader.open(`/runs/${id}`);
    await reader.page.locator('.graph-sum', { hasText: '10 done' }).waitFor();
    assert.equal(await reader.page.getByRole('button', { name: /Run again|Go on|Cancel/ }).count(), 0);
    await reader.open('/runs');
    assert.equal(await reader.page.getByRole('button', { name: 'Start a run' }).count(), 0);
  }),
);
