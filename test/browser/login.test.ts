import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageFor } from '../../src/cli/kit/open-in-browser.ts';
import { tempFolder } from '../../src/store/conformance/kit/temp-folder.ts';
import { houseOfThisFile } from './support/browser-test.ts';

const inBrowser = houseOfThisFile();

/** Who is not logged in hears so, and the browser says it in its console. */
const NOBODY = { as: null, forgive: [/status of 401/, /ERR_INCOMPLETE_CHUNKED_ENCODING/] } as const;

test(
  'a login link lets a browser in once, and its code is gone from the address',
  inBrowser(async ({ house, visit, page, another }) => {
    const { url } = await house.call('createLogin');
    await page.goto(url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${house.url}/ui/`);
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify([history.state, location.href])), /code/);
    // The cookie is enough from now on.
    await visit.open('/tasks');
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor();

    const second = await another(NOBODY);
    await second.page.goto(url);
    await second.page.getByText('This link no longer works').waitFor();
  }, NOBODY),
);

test(
  'the command "leasehold login" prints a link that lets a browser in',
  inBrowser(async ({ house, page }) => {
    const [url] = await house.command(['login']).says(/http:\S+\/ui\/#code=\S+/);
    await page.goto(url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }, NOBODY),
);

test(
  'the page that "leasehold login --open" opens leads on, and lets the browser in',
  inBrowser(async ({ house, page }) => {
    const { url } = await house.call('createLogin');
    await page.goto(pageFor(url, tempFolder('login-page')));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${house.url}/ui/`);
  }, NOBODY),
);

test(
  'a token lets in, a wrong one is refused with words, and whoever logs out is out',
  inBrowser(async ({ house, visit, page }) => {
    await page.goto(`${house.url}/ui/queues`);
    const token = page.getByLabel('Or by a token');
    await token.fill('nonsense');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('This token is unknown').waitFor();
    await token.fill(house.token);
    await page.keyboard.press('Enter');
    // To the page that was asked for.
    await page.getByRole('heading', { name: 'Queues', exact: true }).waitFor();

    const [cookie] = await visit.context.cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    await visit.open('/settings');
    await page.getByRole('button', { name: 'Log out' }).click();
    await token.waitFor();
    assert.deepEqual(await visit.context.cookies(), []);
    await page.reload();
    await token.waitFor();
  }, NOBODY),
);

test(
  'a session that is ended elsewhere leads back to the login, and from there to where one was',
  inBrowser(async ({ house, visit, page }) => {
    const { token, id } = await house.call('createToken', { body: { name: 'short', role: 'operator' } });
    await visit.context.request.post(`${house.url}/ui/login`, { data: { token }, headers: { 'x-leasehold-ui': '1' } });
    await visit.open('/workers');
    await house.call('revokeToken', { params: { id } });
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('Or by a token').fill(house.token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Workers', exact: true }).waitFor();
  }, NOBODY),
);
