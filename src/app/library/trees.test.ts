import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { giveUp } from '../../worker/define/outcome.ts';
import { task } from '../../worker/define/task.ts';
import { type App, open } from '../open.ts';

// Trees of real handlers that spawn, fail and wait, on each store.

const STORES: Readonly<Record<string, () => Promise<string>>> = {
  memory: () => Promise.resolve('memory:'),
  postgres: () => freshDatabase('subtrees'),
};

interface Scene {
  readonly app: App;
  /** Children that fail. */
  readonly broken: Set<string>;
  /** Names of the runs, in order. */
  readonly ran: string[];
  readonly push: () => ReturnType<App['push']>;
}

async function scene(t: TestContext, url: string): Promise<Scene> {
  const app = await open(url, { housekeeping: false });
  t.after(() => app.close({ drainMs: 0 }));
  const broken = new Set<string>();
  const ran: string[] = [];
  const leaf = task('leaf', {
    run: (input) => {
      const name = String(input as string);
      ran.push(name);
      return broken.has(name) ? giveUp(new Error(`${name} is broken`)) : `${name} is fine`;
    },
  });
  const middle = task('middle', {
    async run(_, ctx) {
      await ctx.step('prepare', () => void ran.push('prepare'));
      const names = ['one', 'two', 'three'];
      const children = await Promise.all(names.map((name) => ctx.spawn(leaf, name)));
      const { value } = await ctx.wait('leaves', { children });
      if (value.some(({ state }) => state !== 'completed')) return giveUp(new Error('a leaf has failed'));
      return value.map(({ result }) => result);
    },
  });
  const top = task('top', {
    async run(_, ctx) {
      const child = await ctx.spawn(middle, undefined);
      const { value } = await ctx.wait('middle', { children: [child] });
      return value[0]?.state === 'completed' ? value[0].result : giveUp(new Error('the middle has failed'));
    },
  });
  const worker = app.worker({ tasks: [leaf, middle, top], slots: 8 });
  await worker.start();
  return { app, broken, ran, push: () => app.push(top) };
}

for (const [name, url] of Object.entries(STORES)) {
  test(`failed children run again with the tasks that waited for them, and nothing else does (${name})`, async (t) => {
    const { app, broken, ran, push } = await scene(t, await url());
    broken.add('two');
    const handle = await push();
    await assert.rejects(handle.result(), /the middle has failed/);
    assert.deepEqual(ran.toSorted(), ['one', 'prepare', 'three', 'two']);
    const dry = await handle.retryTree({ dryRun: true });
    assert.deepEqual(dry.counts, { again: 3, kept: 2, unfinished: 0, blocked: 0 });
    broken.clear();
    ran.length = 0;
    const { counts, tasks } = await app.retryTree(handle.id);
    assert.deepEqual(counts, dry.counts);
    assert.deepEqual(tasks.at(-1)?.id, handle.id, 'what waits for others comes after them');
    assert.deepEqual(await handle.result(), ['one is fine', 'two is fine', 'three is fine']);
    assert.deepEqual(ran, ['two']);
  });

  test(`a waiting parent is cancelled with its children, and continues when it is run again (${name})`, async (t) => {
    const { app, ran, push } = await scene(t, await url());
    await app.engine.pause('leaf');
    const handle = await push();
    while ((await app.stats('leaf')).ready < 3 || (await app.stats('middle')).waiting < 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    while ((await handle.state()) !== 'waiting') await new Promise((resolve) => setTimeout(resolve, 5));
    const { counts } = await handle.cancelTree();
    assert.deepEqual(counts, { cancelled: 5, requested: 0, finished: 0 });
    await assert.rejects(handle.result(), /cancelled/);
    await app.engine.resume('leaf');
    assert.equal((await app.retryTree(handle.id)).counts.again, 5);
    assert.equal(((await handle.result()) as string[]).length, 3);
    assert.deepEqual(ran.toSorted(), ['one', 'prepare', 'three', 'two']);
  });
}
