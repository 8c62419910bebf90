/** A17: thirty ways to make a script run, written into everything that somebody may write; then every screen is looked at. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { isEngineError } from '../../src/core/errors.ts';
import { scaled } from '../support/scale.ts';
import { houseOfThisFile } from './support/browser-test.ts';
import type { House } from './support/house.ts';
import { PAYLOADS } from './support/payloads.ts';
import type { Visit } from './support/visit.ts';

/** Of what was written: how much the node took, by field. */
const taken = new Map<string, number>();
const pages: string[] = [];

/** Writes each payload somewhere; a refusal is fine, whatever is taken is shown later. */
async function plant(field: string, write: (payload: string, n: number) => Promise<unknown>): Promise<void> {
  let count = 0;
  for (const [n, payload] of PAYLOADS.entries()) {
    try {
      await write(payload, n);
      count++;
    } catch (error) {
      if (!isEngineError(error)) throw error;
    }
  }
  taken.set(field, count);
}

async function plantTasks(house: House): Promise<void> {
  const push = (task: { readonly queue: string } & Record<string, unknown>): Promise<string> => house.push(task);
  const all = Object.fromEntries(PAYLOADS.map((payload) => [payload, payload]));
  await plant('queue', (queue) => push({ queue, handler: 'echo', input: {} }));
  await plant('handler', (handler) => push({ queue: 'handlers', handler, input: {} }));
  await plant('input and result', (payload) =>
    push({ queue: 'inputs', handler: 'echo', input: { [payload]: payload } }),
  );
  await plant('error', (fail) => push({ queue: 'errors', handler: 'echo', input: { fail }, maxAttempts: 1 }));
  await plant('unique key', (unique) => push({ queue: 'uniques', handler: 'echo', input: {}, unique }));
  await plant('fairness key', (fairness) => push({ queue: 'fair', handler: 'echo', input: {}, fairness }));
  await plant('placement', (tag) => push({ queue: 'placed', handler: 'echo', placement: { requires: [tag] } }));
  await plant('only on', (name) => push({ queue: 'placed', handler: 'echo', placement: { only: [name] } }));
  await plant('signal channel', (channel) => push({ queue: 'listen', input: channel }));
  await plant('approval', (title) =>
    push({ queue: 'ask', input: { title, context: { [title]: title }, actions: [title, 'ok'] } }),
  );
  await plant('approval form', (word) =>
    push({
      queue: 'ask',
      input: {
        title: 'A form',
        form: {
          type: 'object',
          title: word,
          properties: { [word]: { type: 'string', title: word, description: word } },
        },
      },
    }),
  );
  pages.push(`/tasks/${await push({ queue: 'say', input: PAYLOADS })}`);
  pages.push(`/tasks/${await push({ queue: 'inputs', handler: 'echo', input: { all, list: PAYLOADS } })}`);
  pages.push(
    `/tasks/${await push({ queue: 'errors', handler: 'echo', input: { fail: PAYLOADS.join('\n') }, maxAttempts: 1 })}`,
  );
  pages.push(`/tasks/${await push({ queue: 'ask', input: { title: PAYLOADS.join(' '), context: all } })}`);
}

async function plantRest(house: House): Promise<void> {
  await plant('worker name', (name) => house.call('createWorker', { body: { name } }));
  await plant('tag', (tag) => house.call('editWorker', { params: { name: 'node' }, body: { addTags: [tag] } }));
  await plant('limit name', (name) => house.call('createLimit', { body: { name, concurrent: 1 } }));
  await house.call('createLimit', { body: { name: 'keyed', perKey: 1 } });
  await plant('limit key', (key) =>
    house.push({ queue: 'keyed', handler: 'echo', input: { delay_ms: 60_000 }, limits: [{ name: 'keyed', key }] }),
  );
  await plant('who changed a limit', (by) =>
    house.call('editLimit', { params: { name: 'keyed' }, body: { perKey: 2 }, by }),
  );
  await plant('pool name', (name) => house.call('putPool', { body: { name } }));
  await plant('tag of a pool', (tag) =>
    house.call('putPool', { body: { name: 'tagged', enabled: false, worker: { tags: [tag] } } }),
  );
  await plant('who changed a pool', (by) => house.call('putPool', { body: { name: 'hostile', enabled: false }, by }));
  const placement = { requires: ['of-no-worker'] };
  for (let i = 0; i < PAYLOADS.length; i++)
    await house.push({ queue: 'hostile', handler: 'echo', input: {}, placement });
  await plant('what a launcher says', async (text) => {
    const launcher = { kind: 'command', argv: ['printf', '%s', text] };
    const policy = { max: 40, burst: 1, startMs: '1h' };
    const worker = { tags: ['of-no-worker'] };
    await house.call('putPool', { body: { name: 'hostile', policy, worker, launcher } });
    await house.call('checkPool', { params: { name: 'hostile' }, body: {} });
  });
  await plant('trigger name', (name) =>
    house.call('putTrigger', { body: { name, kind: 'manual', push: { queue: 'echo' } } }),
  );
  await plant('folder and files of a trigger', (match) =>
    house.call('putTrigger', {
      body: { name: 'folder', kind: 'file', folder: `/${match}`, match: '*', push: { queue: 'echo' } },
    }),
  );
  await plant('input and title of a trigger', (title) =>
    house.call('putTrigger', {
      body: { name: 'titled', kind: 'manual', run: { use: title, title }, input: { [title]: title } },
    }),
  );
  await house.call('fireTrigger', { params: { name: 'titled' }, body: {} });
  await plant('credential name', (name) => house.call('setCredential', { body: { name, value: 'nothing at all' } }));
  await plant('type of a credential', (type) =>
    house.call('setCredential', { body: { name: 'typed', fields: { [type]: type }, type, tags: ['gpu'] } }),
  );
  await plant('tag of a credential', (tag) =>
    house.call('grantCredential', { params: { name: 'typed' }, body: { tags: [tag] } }),
  );
  await plant('saved view', (name) =>
    house.call('saveView', { body: { name, screen: 'tasks', query: `queue=${name}` } }),
  );
  await plant('token name', (name) => house.call('createToken', { body: { name, role: 'read' } }));
}

const inBrowser = houseOfThisFile({
  furnish: async (house) => {
    await plantTasks(house);
    await plantRest(house);
  },
});

/** From the top to the end, so that every row of a long list was drawn. */
async function scrollThrough(page: Page): Promise<void> {
  for (let end = false; !end; ) {
    end = await page.evaluate(async () => {
      scrollBy(0, innerHeight * 0.8);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    });
  }
}

/** What text would have become, had it been taken for markup. */
async function markup(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const made = document.body.querySelectorAll(
      'img, iframe, object, embed, script, style, base, meta, video, audio, math, animate, link',
    );
    const handlers = [...document.querySelectorAll('*')].filter((one) =>
      [...one.attributes].some(({ name }) => name.startsWith('on')),
    );
    const links = [...document.querySelectorAll('[href], [src], [action], [formaction]')].filter((one) =>
      ['href', 'src', 'action', 'formaction'].some((name) => /^\s*(java|data|vb)/i.test(one.getAttribute(name) ?? '')),
    );
    return [...made, ...handlers, ...links].map((one) => one.outerHTML.slice(0, 200));
  });
}

async function check(visit: Visit, path: string): Promise<void> {
  await visit.open(path);
  await scrollThrough(visit.page);
  assert.deepEqual(await markup(visit.page), [], path);
}

/** A script that runs notes itself, and so fails the test. */
async function arm(visit: Visit): Promise<void> {
  await visit.context.exposeBinding('xss', (_source, n: number) => void visit.troubles.push(`payload ${n} has run`));
}

test(
  'A17: the alarm works: a script that calls it is noticed',
  inBrowser(async ({ visit, page }) => {
    await arm(visit);
    await visit.open('/');
    await page.evaluate(() => (globalThis as unknown as { xss: (n: number) => void }).xss(0));
    assert.deepEqual(visit.troubles.splice(0), ['payload 0 has run']);
  }),
);

test(
  `A17: none of ${PAYLOADS.length} payloads in any field runs on any screen`,
  inBrowser(async ({ visit, page }) => {
    assert.equal(PAYLOADS.length, 30);
    await arm(visit);
    console.log(`payloads taken of 30: ${[...taken].map(([field, n]) => `${field} ${n}`).join(', ')}`);
    // Were nothing taken, this test would look at nothing; and what is a name takes no markup at all.
    for (const field of ['input and result', 'error', 'approval', 'approval form', 'signal channel'])
      assert.equal(taken.get(field), 30, field);
    for (const field of [
      'unique key',
      'fairness key',
      'tag',
      'limit key',
      'what a launcher says',
      'who changed a limit',
      'type of a credential',
      'tag of a credential',
      'saved view',
      'token name',
    ])
      assert.ok((taken.get(field) ?? 0) >= 28, field);
    for (const field of [
      'queue',
      'handler',
      'worker name',
      'limit name',
      'placement',
      'only on',
      'pool name',
      'trigger name',
      'credential name',
    ])
      assert.equal(taken.get(field), 0, field);
    const screens = [
      '/',
      '/tasks',
      '/queues',
      '/workers',
      '/workers/node',
      '/releases',
      '/limits',
      '/limits/keyed',
      '/schedules',
      '/pools',
      '/pools/hostile',
      '/pools/tagged',
      '/triggers',
      '/triggers/folder',
      '/triggers/titled',
      '/approvals',
      '/failed',
      '/cluster',
      '/credentials',
      '/credentials/typed',
      '/events',
      '/audit',
      '/settings',
    ];
    for (const path of [...screens, ...pages]) await check(visit, path);

    await visit.open('/tasks');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByText('Save this filter').or(page.getByText('Set a filter to save it')).waitFor();
    assert.deepEqual(await markup(page), [], 'saved views');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('script');
    assert.deepEqual(await markup(page), [], 'suggestions of the filter');
    await visit.open('/push');
    await page.getByLabel('Handler').fill(PAYLOADS[0] as string);
    assert.deepEqual(await markup(page), [], 'the form of a push');
    assert.equal(page.url().startsWith(visit.house.url), true);
  }),
);

test(
  'A17: tasks, queues, limits and workers with such names have pages of their own, on which nothing runs',
  inBrowser(
    async ({ house, visit, page }) => {
      await arm(visit);
      const { queues } = await house.call('listQueues');
      const { limits } = await house.call('listLimits');
      const { workers, absent } = await house.call('listWorkers');
      const seg = encodeURIComponent;
      for (const { name } of queues) await check(visit, `/queues/${seg(name)}`);
      for (const { name } of limits) await check(visit, `/limits/${seg(name)}`);
      for (const { name } of [...workers, ...absent]) await check(visit, `/workers/${seg(name)}`);
      for (const queue of ['ask', 'handlers', 'placed', 'listen', 'fair', 'uniques']) {
        const { tasks } = await house.call('listTasks', { query: { queue: [queue], limit: 100 } });
        for (const { id } of tasks.slice(0, 3)) {
          await check(visit, `/tasks/${id}`);
          await page.keyboard.press('e');
          await page.getByRole('dialog').waitFor();
          await visit.settled();
          assert.deepEqual(await markup(page), [], `explain ${id}`);
        }
      }
    },
    { forgive: [/status of 404/] },
  ),
);

test(
  'A17: nor does anything run that stands in an address',
  inBrowser(
    async ({ visit }) => {
      await arm(visit);
      const each = Math.min(5, scaled(1, 25));
      for (const [n, payload] of PAYLOADS.entries()) {
        const word = encodeURIComponent(payload);
        const paths = [
          `/${word}`,
          `/tasks?queue=${word}&handler=${word}`,
          `/events?text=${word}&kind=${word}`,
          `/push?handler=${word}&queue=${word}`,
          `/login#code=${word}`,
        ];
        for (let i = 0; i < each; i++) await check(visit, paths[(n + i) % paths.length] as string);
      }
    },
    { forgive: [/status of 4\d\d/] },
  ),
);
