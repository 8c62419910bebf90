/** The screen of artifacts: what tasks have left behind is found, looked at, saved and removed, and nothing of it runs. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { houseOfThisFile } from './support/browser-test.ts';
import type { House } from './support/house.ts';
import { leaveBehind } from './support/left-behind.ts';
import { PAYLOADS } from './support/payloads.ts';
import { pngOf } from './support/png.ts';
import type { Visit } from './support/visit.ts';

const REPORT = 'Bees dance.\nThe honey is \u001b[32mready\u001b[0m.\n';
const SCRIPT = '<script>xss(1)</script><img src=x onerror="xss(2)"><svg onload=xss(3)>';
const LONG = 'ä line of a log that goes on\n'.repeat(20_000);
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="xss(4)"><script>xss(5)</script></svg>`;

let task: string;
let hostile: string;

async function furnish(house: House): Promise<void> {
  hostile = await leaveBehind(house, [
    { name: 'page.html', type: 'text/html', bytes: SCRIPT },
    { name: 'drawing.svg', type: 'image/svg+xml', bytes: SVG },
    { name: 'said-to-be-text.html', type: 'text/plain', bytes: SCRIPT },
    { name: 'said-to-be-json.html', type: 'application/json', bytes: JSON.stringify({ [SCRIPT]: PAYLOADS }) },
    { name: 'said-to-be-a-picture.svg', type: 'image/png', bytes: SVG },
    { name: `bees\u202egpj.exe`, type: 'text/plain', bytes: 'right to left' },
    ...PAYLOADS.flatMap((payload, i) => {
      const name = payload.replaceAll(/[\p{Cc}\\<>:"|?*]/gu, '_').replace(/^\/|\/$|(?<=\/)\//g, '_');
      return name.split('/').some((part) => part.trim() !== part || part === '' || part.endsWith('.'))
        ? []
        : [{ name, type: i % 2 === 0 ? 'text/plain' : 'text/html', bytes: payload }];
    }),
  ]);
  task = await leaveBehind(house, [
    { name: 'logs/long.txt', type: 'text/plain; charset=utf-8', bytes: LONG, kind: 'log' },
    { name: 'empty.txt', type: 'text/plain', bytes: '' },
    { name: 'model.bin', type: 'application/octet-stream', bytes: new Uint8Array(70_000) },
    { name: 'out/hive.png', type: 'image/png', bytes: pngOf(320, 180) },
    { name: 'out/answer.json', type: 'application/json', bytes: '{"honey":12345678901234567890,"combs":["a","b"]}' },
    { name: 'out/report.txt', type: 'text/plain', bytes: REPORT },
  ]);
}

const inBrowser = houseOfThisFile({ furnish });

/** A script that runs notes itself, and so fails the test. */
async function arm(visit: Visit): Promise<void> {
  await visit.context.exposeBinding('xss', (_source, n: number) => void visit.troubles.push(`payload ${n} has run`));
}

async function idOf(house: House, name: string): Promise<string> {
  const { artifacts } = await house.call('listArtifacts', { query: { name } });
  return artifacts[0]?.id ?? assert.fail(`there is no ${name}`);
}

const drawerOf = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true });

test(
  'what tasks have left behind is listed with its size and its task, and filtered by name, task and run',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open('/');
    await page.getByRole('link', { name: 'Artifacts', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'report.txt' });
    await row.waitFor();
    assert.match(await row.innerText(), /out\/\s*report\.txt\s+text\/plain\s+file\s+\d+ bytes/);
    const { entries } = await house.call('artifactUsage');
    await page.getByText(new RegExp(`${entries} artifacts, [\\d.]+ kB in all`)).waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('out/answer.json');
    await page.keyboard.press('Enter');
    await page.waitForURL(/name=out%2Fanswer\.json/);
    await page.getByText('1 artifact, all of them').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Task', { exact: true }).fill(task);
    await page.keyboard.press('Enter');
    await page.getByText('6 artifacts, all of them').waitFor();
    await page.getByLabel('Run', { exact: true }).fill(hostile);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('run') === hostile && !url.searchParams.has('task'));
    const { artifacts } = await house.call('listArtifacts', { query: { task: hostile } });
    await page.getByText(`${artifacts.length} artifacts, all of them`).waitFor();
    assert.equal(await page.getByRole('row').filter({ hasText: 'report.txt' }).count(), 0);
    await page.getByLabel('Name of the artifact').fill('nothing-of-this-name');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No artifact matches' }).waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();

    // By the row, as one reads: to the drawer and to the task.
    await page.getByRole('row').filter({ hasText: 'report.txt' }).click();
    await drawerOf(page, 'report.txt')
      .getByRole('link', { name: `…${task.slice(-8)}` })
      .click();
    await page.waitForURL(new RegExp(`/tasks/${task}$`));
  }),
);

test(
  'a list longer than a page goes on as one scrolls, and has each artifact once',
  inBrowser(async ({ house, visit, page }) => {
    const files = Array.from({ length: 130 }, (_, i) => ({ name: `part-${i}.txt`, type: 'text/plain', bytes: `${i}` }));
    const many = await leaveBehind(house, files);
    await visit.open(`/artifacts?task=${many}`);
    await page.getByText('130 artifacts, all of them').waitFor();
    assert.equal(await page.getByRole('table').getAttribute('aria-rowcount'), '131');
    await page.evaluate(() => scrollTo({ top: document.documentElement.scrollHeight }));
    await page.getByRole('row').filter({ hasText: 'part-0.txt' }).waitFor();
  }),
);

test(
  'a text, JSON and a picture are shown, and of a long text only its beginning is fetched',
  inBrowser(async ({ house, visit, page }) => {
    const fetched: { readonly range: string | undefined; readonly size: number }[] = [];
    page.on('response', (response) => {
      if (!response.url().includes('/content')) return;
      const size = Number(response.headers()['content-length']);
      fetched.push({ range: response.request().headers()['range'], size });
    });
    await visit.open(`/artifacts/${await idOf(house, 'out/report.txt')}`);
    const report = drawerOf(page, 'report.txt');
    await report.getByText('Bees dance.').waitFor();
    assert.equal(await report.locator('pre').innerText(), 'Bees dance.\nThe honey is ready.\n');
    const sha256 = createHash('sha256').update(REPORT).digest('hex');
    await report.getByText(sha256).waitFor();
    await report.getByRole('button', { name: 'Copy the SHA-256' }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sha256);

    await visit.open(`/artifacts/${await idOf(house, 'out/answer.json')}`);
    const answer = drawerOf(page, 'answer.json').getByRole('region', { name: 'Preview', exact: true });
    await answer.getByText('12345678901234567890').waitFor();
    await answer.getByRole('button', { name: 'Text' }).click();
    await answer.locator('pre').getByText('"combs": [').waitFor();

    await visit.open(`/artifacts/${await idOf(house, 'out/hive.png')}`);
    const hive = drawerOf(page, 'hive.png').getByRole('img');
    await hive.waitFor();
    await page.waitForFunction(() => (document.querySelector('dialog img') as HTMLImageElement).naturalWidth === 320);

    fetched.length = 0;
    await visit.open(`/artifacts/${await idOf(house, 'logs/long.txt')}`);
    const long = drawerOf(page, 'long.txt');
    await long.getByText('The first 262 kB of 600 kB. Download it for the rest.').waitFor();
    assert.deepEqual(fetched, [{ range: 'bytes=0-262143', size: 262_144 }]);
    // The bound goes through the middle of a letter somewhere: nothing is shown in its place.
    assert.ok(!(await long.locator('pre').innerText()).includes('\ufffd'));

    await visit.open(`/artifacts/${await idOf(house, 'empty.txt')}`);
    await drawerOf(page, 'empty.txt').getByText('It is empty.').waitFor();
    await visit.open(`/artifacts/${await idOf(house, 'model.bin')}`);
    await drawerOf(page, 'model.bin').getByText('Files of this type are not shown here').waitFor();
    assert.equal(fetched.length, 1, 'nothing of either was fetched');
  }),
);

test(
  'a download is saved under the end of its name, with all of its bytes',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open(`/artifacts/${await idOf(house, 'logs/long.txt')}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      drawerOf(page, 'long.txt').getByRole('link', { name: 'Download' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'long.txt');
    assert.equal(readFileSync(await download.path(), 'utf8'), LONG);
  }),
);

test(
  'an artifact is removed by typing its name, and not before; its task has it no more',
  inBrowser(
    async ({ house, visit, page }) => {
      const of = await leaveBehind(house, [{ name: 'draft.txt', type: 'text/plain', bytes: 'draft' }]);
      const id = await idOf(house, 'draft.txt');
      await visit.open(`/tasks/${of}`);
      const panel = page.getByRole('region', { name: 'Artifacts' });
      await panel.getByRole('link', { name: 'draft.txt' }).click();
      await page.waitForURL(new RegExp(`/artifacts/${id}\\?task=${of}$`));
      await drawerOf(page, 'draft.txt').getByRole('button', { name: 'Remove' }).click();
      const dialog = page.getByRole('dialog', { name: 'Remove draft.txt' });
      await dialog.getByText('5 bytes, which attempt 1 of the task').waitFor();
      const really = dialog.getByRole('button', { name: 'Remove the artifact' });
      await dialog.getByLabel('Type draft.txt to confirm').fill('draft');
      assert.equal(await really.isDisabled(), true);
      assert.equal((await house.call('getArtifact', { params: { id } })).name, 'draft.txt', 'asking removes nothing');
      await dialog.getByLabel('Type draft.txt to confirm').fill('draft.txt');
      await really.click();
      await page.getByRole('heading', { name: 'No artifact matches' }).waitFor();
      await assert.rejects(house.call('getArtifact', { params: { id } }), { code: 'NOT_FOUND' });
      await visit.open(`/tasks/${of}`);
      await page.getByRole('region', { name: 'Facts' }).waitFor();
      assert.equal(await page.getByRole('region', { name: 'Artifacts' }).count(), 0);
    },
    { as: 'operator' },
  ),
);

test(
  'who may only read looks and downloads, and removes nothing',
  inBrowser(
    async ({ house, visit, page }) => {
      const id = await idOf(house, 'out/report.txt');
      await visit.open(`/artifacts/${id}`);
      const drawer = drawerOf(page, 'report.txt');
      await drawer.getByText('Bees dance.').waitFor();
      await drawer.getByRole('link', { name: 'Download' }).waitFor();
      assert.equal(await drawer.getByRole('button', { name: 'Remove' }).count(), 0);
      const statuses = await page.evaluate(async (path) => {
        const headers = { 'x-leasehold-ui': '1' };
        const of = async (query: string) => (await fetch(path + query, { method: 'DELETE', headers })).status;
        return [await of(''), await of('?dryRun=1')];
      }, `/api/v1/artifacts/${id}`);
      assert.deepEqual(statuses, [403, 403]);
      assert.equal((await house.call('getArtifact', { params: { id } })).id, id);
    },
    { as: 'read', forgive: [/status of 403/] },
  ),
);

test(
  'the page of a run has the artifacts of all its tasks, and a task without any has no panel',
  inBrowser(async ({ house, visit, page }) => {
    await visit.open(`/runs/${task}`);
    const panel = page.getByRole('region', { name: 'Artifacts' });
    await panel.getByRole('link', { name: 'hive.png' }).waitFor();
    assert.equal(await panel.getByRole('listitem').count(), 6);
    await panel.getByRole('link', { name: 'As a list' }).click();
    await page.waitForURL((url) => url.pathname === '/ui/artifacts' && url.searchParams.get('run') === task);
    await page.getByText('6 artifacts, all of them').waitFor();

    const bare = await house.push({ queue: 'echo', input: {} });
    await house.becomes(bare, 'completed');
    const asked = page.waitForResponse((response) => response.url().includes(`/artifacts?task=${bare}`));
    await visit.open(`/tasks/${bare}`);
    await asked;
    await page.getByRole('region', { name: 'Facts' }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Artifacts' }).count(), 0);
  }),
);

test(
  'A18: whatever an artifact is called, says that it is, or holds, no page makes markup of it and nothing of it runs',
  inBrowser(
    async ({ house, visit, page }) => {
      await arm(visit);
      const { artifacts } = await house.call('listArtifacts', { query: { task: hostile, limit: 200 } });
      assert.ok(artifacts.length >= 20, `${artifacts.length} were taken`);
      for (const path of [`/artifacts?task=${hostile}`, `/tasks/${hostile}`, `/runs/${hostile}`]) {
        await visit.open(path);
        await page
          .getByText(artifacts[0]?.name.split('/').at(-1) as string)
          .first()
          .waitFor();
        assert.deepEqual(await markup(page), [], path);
      }
      for (const { id, name, type } of artifacts) {
        // As a click on a link goes: the page stays.
        await page.evaluate((to) => {
          history.pushState(null, '', to);
          dispatchEvent(new PopStateEvent('popstate'));
        }, `/ui/artifacts/${id}`);
        const drawer = page.getByRole('dialog').filter({ hasText: id });
        await drawer.getByRole('region', { name: 'Preview', exact: true }).waitFor();
        await visit.settled();
        const pictures = await drawer.locator('img').count();
        assert.deepEqual(await markup(page), [], `${name}, ${type}`);
        if (type !== 'image/png') assert.equal(pictures, 0, name);
      }
      const no = drawerOf(page, 'said-to-be-a-picture.svg');
      await visit.open(`/artifacts/${await idOf(house, 'said-to-be-a-picture.svg')}`);
      await no.getByText('These bytes are no picture that the browser can show.').waitFor();
      await visit.open(`/artifacts/${await idOf(house, 'said-to-be-text.html')}`);
      assert.equal(await drawerOf(page, 'said-to-be-text.html').locator('pre').innerText(), SCRIPT);
    },
    // The picture that is none: a browser tells of it in the console.
    { forgive: [/said-to-be-a-picture|Failed to decode|ERR_/] },
  ),
);

test(
  'A18: opened by its address, a page that a task has made is saved, and one that says that it is text runs nothing',
  inBrowser(async ({ house, visit, page }) => {
    await arm(visit);
    for (const name of ['page.html', 'drawing.svg']) {
      const path = `/api/v1/artifacts/${await idOf(house, name)}/content?inline=1`;
      const download = page.waitForEvent('download');
      await page.goto(house.url + path).catch(() => {});
      assert.equal((await download).suggestedFilename(), name);
    }
    await page.goto(`${house.url}/api/v1/artifacts/${await idOf(house, 'said-to-be-text.html')}/content?inline=1`);
    assert.equal(await page.locator('body').innerText(), SCRIPT);
    assert.equal(await page.evaluate(() => origin), 'null', 'it is on no origin');
  }),
);

/** What text would have become, had it been taken for markup. A picture of ours comes from the address of the bytes. */
function markup(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const made = document.body.querySelectorAll(
      'img, iframe, object, embed, script, style, base, meta, video, audio, math, animate, link',
    );
    const strange = [...made].filter(
      (one) =>
        !(
          one instanceof HTMLImageElement &&
          /^\/api\/v1\/artifacts\/art_[0-9a-f]+\/content\?inline=1$/.test(one.getAttribute('src') ?? '')
        ),
    );
    const listening = [...document.querySelectorAll('*')].filter((one) =>
      [...one.attributes].some(({ name }) => name.startsWith('on')),
    );
    const leading = [...document.querySelectorAll('[href], [src]')].filter((one) =>
      ['href', 'src'].some((name) => /^\s*(java|data|vb)/i.test(one.getAttribute(name) ?? '')),
    );
    return [...strange, ...listening, ...leading].map((one) => one.outerHTML.slice(0, 200));
  });
}
