import assert from 'node:assert/strict';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

/** Of issue 8: what must come over the wire before the first page is there. */
const MOST_KB = 250;

test(
  `the first page needs less than ${MOST_KB} kB of JavaScript, as it comes over the wire`,
  inBrowser(async ({ visit, page }) => {
    const cdp = await visit.context.newCDPSession(page);
    await cdp.send('Network.enable');
    const kinds = new Map<string, string>();
    const bytes: Record<string, number> = {};
    cdp.on('Network.responseReceived', ({ requestId, type }) => void kinds.set(requestId, type));
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const kind = kinds.get(requestId) ?? 'Other';
      bytes[kind] = (bytes[kind] ?? 0) + encodedDataLength;
    });
    await visit.open('/');
    await page.getByRole('region', { name: 'Health' }).waitFor();
    const kB = (kind: string): number => (bytes[kind] ?? 0) / 1000;
    console.log(
      `first page: ${kB('Script').toFixed(1)} kB of JavaScript, ${kB('Stylesheet').toFixed(1)} kB of CSS, compressed`,
    );
    assert.ok(kB('Script') > 20, 'it was counted');
    assert.ok(kB('Script') < MOST_KB, `${kB('Script')} kB`);
  }),
);
