import assert from 'node:assert/strict';
import type { NewView, Store, ViewRecord } from '../../store.ts';
import { MINUTE } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const VIEW = { name: 'my failures', screen: 'tasks', query: 'state=failed&queue=mail', by: 'anna' };

async function put(store: Store, view: Partial<NewView> = {}): Promise<ViewRecord> {
  const saved = await store.viewPut({ view: { ...VIEW, ...view }, most: 500 });
  assert.ok(saved);
  return saved;
}

/** Saved queries of the web UI. The SQL views have a suite of their own in `views.ts`. */
export const SAVED_VIEWS: Topic = {
  name: 'saved views',
  needs: ['whole'],
  cases: {
    'a view is kept under its name, with who saved it and when': async ({ store }) => {
      const { calendar } = await store.clock();
      const saved = await put(store);
      assert.deepEqual(saved, { ...VIEW, savedAt: saved.savedAt });
      assert.ok(saved.savedAt >= calendar);
      assert.deepEqual(await store.viewList(), [saved]);
    },

    'another view of the same name takes its place': async (scene) => {
      const { store } = scene;
      const before = await put(store);
      await scene.pass(MINUTE);
      const after = await put(store, { screen: 'events', query: '', by: 'bob' });
      assert.deepEqual(await store.viewList(), [after]);
      assert.ok(after.savedAt >= before.savedAt + MINUTE);
      assert.deepEqual([after.screen, after.query, after.by], ['events', '', 'bob']);
    },

    'views are listed by name, whatever letters it has': async ({ store }) => {
      for (const name of ['b', 'a', 'Ä', "it's", '"; DROP TABLE task; --', 'A']) {
        await put(store, { name });
      }
      const names = (await store.viewList()).map(({ name }) => name);
      assert.deepEqual(names, ['"; DROP TABLE task; --', 'A', 'a', 'b', "it's", 'Ä']);
    },

    'a view is dropped once, and one that is not there never': async ({ store }) => {
      await put(store);
      assert.equal(await store.viewDrop({ name: 'another' }), false);
      assert.equal(await store.viewDrop({ name: VIEW.name }), true);
      assert.equal(await store.viewDrop({ name: VIEW.name }), false);
      assert.deepEqual(await store.viewList(), []);
    },

    'no more are kept than are asked for, and those that are there can be saved anew': async ({ store }) => {
      const save = (name: string, query: string) => store.viewPut({ view: { ...VIEW, name, query }, most: 2 });
      assert.ok(await save('a', ''));
      assert.ok(await save('b', ''));
      assert.equal(await save('c', ''), undefined);
      assert.equal((await save('a', 'state=ready'))?.query, 'state=ready');
      await store.viewDrop({ name: 'b' });
      assert.ok(await save('c', ''));
      assert.deepEqual(
        (await store.viewList()).map(({ name, query }) => [name, query]),
        [
          ['a', 'state=ready'],
          ['c', ''],
        ],
      );
    },

    'no more are kept than are asked for, however many save at once': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen()];
      const saved = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (stores[n % 2] as Store).viewPut({ view: { ...VIEW, name: `${n}` }, most: 7 }),
        ),
      );
      assert.equal(saved.filter((one) => one !== undefined).length, 7);
      assert.equal((await scene.store.viewList()).length, 7);
    }),

    'a view is there for every process, and after a restart': needing(['reopen'], async (scene) => {
      const saved = await put(scene.store);
      const other = await scene.reopen();
      assert.deepEqual(await other.viewList(), [saved]);
    }),
  },
};
