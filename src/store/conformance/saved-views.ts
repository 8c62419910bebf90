import assert from 'node:assert/strict';
import { MINUTE } from './scene.ts';
import { needing, type Topic } from './topic.ts';

const VIEW = { name: 'my failures', screen: 'tasks', query: 'state=failed&queue=mail', by: 'anna' };

/** Questions that people keep; the views of SQL have a suite of their own in `views.ts`. */
export const SAVED_VIEWS: Topic = {
  name: 'saved views',
  cases: {
    'a view is kept under its name, with who saved it and when': async ({ store }) => {
      const { calendar } = await store.clock();
      const saved = await store.viewPut({ view: VIEW });
      assert.deepEqual(saved, { ...VIEW, savedAt: saved.savedAt });
      assert.ok(saved.savedAt >= calendar);
      assert.deepEqual(await store.viewList(), [saved]);
    },

    'another view of the same name takes its place': async (scene) => {
      const { store } = scene;
      const before = await store.viewPut({ view: VIEW });
      await scene.pass(MINUTE);
      const after = await store.viewPut({ view: { ...VIEW, screen: 'events', query: '', by: 'bob' } });
      assert.deepEqual(await store.viewList(), [after]);
      assert.ok(after.savedAt >= before.savedAt + MINUTE);
      assert.deepEqual([after.screen, after.query, after.by], ['events', '', 'bob']);
    },

    'views are listed by name, whatever letters it has': async ({ store }) => {
      for (const name of ['b', 'a', 'Ä', "it's", '"; DROP TABLE task; --', 'A']) {
        await store.viewPut({ view: { ...VIEW, name } });
      }
      const names = (await store.viewList()).map(({ name }) => name);
      assert.deepEqual(names, ['"; DROP TABLE task; --', 'A', 'a', 'b', "it's", 'Ä']);
    },

    'a view is dropped once, and one that is not there never': async ({ store }) => {
      await store.viewPut({ view: VIEW });
      assert.equal(await store.viewDrop({ name: 'another' }), false);
      assert.equal(await store.viewDrop({ name: VIEW.name }), true);
      assert.equal(await store.viewDrop({ name: VIEW.name }), false);
      assert.deepEqual(await store.viewList(), []);
    },

    'a view is there for every process, and after a restart': needing(['reopen'], async (scene) => {
      const saved = await scene.store.viewPut({ view: VIEW });
      const other = await scene.reopen();
      assert.deepEqual(await other.viewList(), [saved]);
    }),
  },
};
