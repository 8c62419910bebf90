import assert from 'node:assert/strict';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import { MOST_SCHEMAS } from '../../port/insight-store.ts';
import { MINUTE } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const SEND: HandlerSchema = { handler: 'send', schema: '{"type":"object","title":"it\'s \\"a\\" {list}, \\\\ ä"}' };

/** The input schemas of handlers, as workers report them. */
export const HANDLER_SCHEMAS: Topic = {
  name: 'schemas of handlers',
  needs: ['whole'],
  cases: {
    'what handlers take is kept as it was told, and listed by name': async ({ store }) => {
      assert.deepEqual(await store.schemaList(), []);
      await store.schemaPut({ schemas: [SEND, { handler: 'Zip', schema: '{}' }] });
      await store.schemaPut({ schemas: [{ handler: 'ask', schema: '{}' }] });
      assert.deepEqual(await store.schemaList(), [
        { handler: 'Zip', schema: '{}' },
        { handler: 'ask', schema: '{}' },
        SEND,
      ]);
    },

    'what is told last of a handler takes the place of what was told before': async ({ store }) => {
      await store.schemaPut({ schemas: [SEND, { handler: 'zip', schema: '{}' }] });
      await store.schemaPut({ schemas: [{ ...SEND, schema: '{"type":"string"}' }] });
      assert.deepEqual(await store.schemaList(), [
        { ...SEND, schema: '{"type":"string"}' },
        { handler: 'zip', schema: '{}' },
      ]);
    },

    'of more than anybody offers the newest are kept': async (scene) => {
      const { store } = scene;
      const named = (prefix: string, count: number): readonly HandlerSchema[] =>
        Array.from({ length: count }, (_, i) => ({ handler: `${prefix}${i}`, schema: '{}' }));
      await store.schemaPut({ schemas: named('old', 10) });
      await scene.pass(MINUTE);
      await store.schemaPut({ schemas: named('new', MOST_SCHEMAS) });
      const kept = await store.schemaList();
      assert.equal(kept.length, MOST_SCHEMAS);
      assert.ok(kept.every(({ handler }) => handler.startsWith('new')));
    },

    'workers that come together, each with some of the same, all get through': async ({ store }) => {
      const all = ['a', 'b', 'c', 'd', 'e'].map((handler) => ({ handler, schema: '' }));
      const told = Array.from({ length: 10 }, (_, i) => ({
        schemas: (i % 2 === 0 ? all : all.toReversed()).map((one) => ({ ...one, schema: `{"$id":"${i}"}` })),
      }));
      await Promise.all(told.map((one) => store.schemaPut(one)));
      assert.equal((await store.schemaList()).length, all.length);
    },

    'they are there for every process, and after a restart': needing(['reopen'], async (scene) => {
      await scene.store.schemaPut({ schemas: [SEND] });
      assert.deepEqual(await (await scene.reopen()).schemaList(), [SEND]);
    }),
  },
};
