/** A16: pages of ours in pages of others, scripts that do not belong there, and files that are taken for something else. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

test(
  'A16: no other site can put our pages into a frame',
  inBrowser(
    async ({ house, page }) => {
      const other = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end(`<title>a game</title><iframe src="${house.url}/ui/tasks"></iframe>`);
      }).listen(0, '127.0.0.1');
      try {
        await once(other, 'listening');
        const { port } = other.address() as AddressInfo;
        const [refused] = await Promise.all([
          page.waitForResponse((response) => response.url() === `${house.url}/ui/tasks`),
          page.goto(`http://localhost:${port}/`),
        ]);
        // The node itself does not hand it over; a browser that had it would be kept from showing it by these.
        assert.equal(refused.status(), 403);
        const { headers } = await fetch(`${house.url}/ui/tasks`);
        assert.equal(headers.get('x-frame-options'), 'DENY');
        assert.equal(await page.frameLocator('iframe').locator('#root').count(), 0);
      } finally {
        other.close();
        other.closeAllConnections();
      }
    },
    { forgive: [/status of 403/, /frame-ancestors|X-Frame-Options/] },
  ),
);

test(
  'A16: a script that was put into a page does not run, and the node hears of it',
  inBrowser(
    async ({ house, visit, page }) => {
      await visit.open('/');
      const ran = await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'globalThis.ran = true';
        document.body.append(script);
        const button = document.createElement('button');
        button.setAttribute('onclick', 'globalThis.ran = true');
        document.body.append(button);
        button.click();
        return 'ran' in globalThis;
      });
      assert.equal(ran, false);
      await house.until(async () => /a browser blocked something on a page/.test(house.said), 'the node has a report');
    },
    { forgive: [/Content Security Policy|script-src|CSP report|a browser blocked/] },
  ),
);

test(
  'A16: what the node sends says what it is, keeps to itself and is not guessed at',
  inBrowser(async ({ house, visit }) => {
    for (const path of ['/ui/', '/ui/tasks', '/ui/theme.js', '/ui/favicon.svg', '/ui/no-such-file.js']) {
      const response = await visit.context.request.get(house.url + path);
      const headers = response.headers();
      assert.match(headers['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/, path);
      assert.doesNotMatch(headers['content-security-policy'] ?? '', /unsafe/, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin', path);
    }
    const api = await visit.context.request.get(`${house.url}/api/v1/tasks`, { headers: { 'x-leasehold-ui': '1' } });
    assert.match(api.headers()['content-type'] ?? '', /^application\/json/);
    assert.equal(api.headers()['x-content-type-options'], 'nosniff');
  }),
);
