/** Runs of workflows in code, watched live on a real node. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { houseOfThisFile } from '../support/browser-test.ts';
import { picture } from '../support/pictures.ts';

const inBrowser = houseOfThisFile({ args: ['--no-worker'] });

const rows = (page: Page) => page.getByRole('treeitem');

test(
  'a workflow in code is started from the page, shows its calls in their order, and is decided there',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('code', { slots: 4 });
    await visit.open('/runs');
    await page.getByRole('button', { name: 'Start a run' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    await dialog.getByRole('button', { name: 'Workflow in code' }).click();
    await dialog.getByLabel('Handler').fill('order');
    await dialog.getByRole('button', { name: 'JSON' }).click();
    await dialog.getByLabel('Input as JSON').fill('{"items": ["lamp", "chair", "desk"]}');
    await dialog.getByLabel(/Execution id/).fill('orders/7');
    await dialog.getByRole('button', { name: 'Start the run' }).click();
    await page.getByText('The run has started.').waitFor();
    const asks = page.getByRole('region', { name: 'Waits for' });
    await asks.getByText('Pay 130 of 12?').waitFor();
    await asks.getByText(/at most 1d 23h|at most 47h/).waitFor();
    await rows(page).filter({ hasText: 'count the stock' }).waitFor();
    assert.equal(await rows(page).filter({ hasText: 'quote' }).count(), 3);
    await picture(page, 'run-code');
    await asks.getByLabel(/note/).fill('fine');
    await asks.getByRole('button', { name: /approve/i }).click();
    await page.locator('h1').getByText('completed').waitFor();
    await page.getByRole('region', { name: 'Output', exact: true }).getByText('130').waitFor();
    await rows(page).filter({ hasText: 'charge the card' }).first().waitFor();

    // The same again, with other input.
    await page.getByRole('button', { name: 'Run again' }).click();
    const again = page.getByRole('dialog', { name: 'Run order again' });
    await again.getByLabel('Input as JSON').fill('{"items": ["lamp"]}');
    await again.getByRole('button', { name: 'Start the run' }).click();
    await asks.getByText('Pay 40 of 12?').waitFor();
  }),
);

test(
  'a run whose code has changed says what it expected, what came, and what to do; with the right code it goes on',
  inBrowser(async ({ house, visit, page }) => {
    await house.hire('fickle', { slots: 2 });
    const code = (says: string): void => writeFileSync(join(house.folder, 'fickle.txt'), says);
    code('write the letter');
    const { id } = await house.call('startRun', { body: { task: { queue: 'fickle', handler: 'fickle' } } });
    await house.becomes(id, 'waiting');
    code('burn the letter');
    await visit.open(`/runs/${id}`);
    const asks = page.getByRole('region', { name: 'Waits for' });
    await asks.getByRole('button', { name: 'Send the signal' }).click();
    await page.getByText('The code has changed under this run.').waitFor();
    await page
      .getByText(/write the letter/)
      .first()
      .waitFor();
    await picture(page, 'run-diverged');
    code('write the letter');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.locator('h1').getByText('completed').waitFor();
  }),
);
