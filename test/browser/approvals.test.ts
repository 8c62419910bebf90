import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'what waits for a decision comes to the inbox by itself, is decided with its form, and leaves it',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/approvals');
    await page.getByText('Nothing to decide').waitFor();
    const id = await house.push({ queue: 'publish', input: 'On bees' });
    const card = page.getByRole('listitem').filter({ hasText: 'Publish “On bees”?' });
    await card.getByText('ada').waitFor();
    // The menu counts what asks for somebody.
    await page.getByRole('link', { name: /^Approvals\s*1/ }).waitFor();
    await card.getByLabel(/^note/).fill('nice');
    await card.getByLabel(/^urgent/).selectOption('true');
    await card.getByRole('button', { name: 'approve' }).click();
    await page.getByText('Nothing to decide').waitFor();
    const { result } = await house.becomes(id, 'completed');
    const { action, value } = result as { action: string; value: unknown };
    assert.deepEqual([action, value], ['approve', { note: 'nice', urgent: true }]);
  }),
);
