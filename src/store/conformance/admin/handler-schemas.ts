import assert from 'node:assert/strict';
import type { HandlerSchema } from '../../../core/placement/worker.ts';
import { MOST_SCHEMAS, MOST_SCHEMAS_OF_ONE } from '../../port/insight-store.ts';
import { MINUTE } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const SEND: HandlerSchema = { handler: 'send', schema: '{"type":"object","title":"it\'s \\"a\\" {list}, \\\\ ä"}' };
const worker = 'box';

const named = (prefix: string, count: number): readonly HandlerSchema[] =>
  Array.from({ length: count }, (_, i) => ({ handler: `${prefix}${i}`, schema: '{}' }));

/** The input schemas of handlers, as workers report them. */
export const HANDLER_SCHEMAS: Topic = {
  name: 'schemas of handlers',
  needs: ['whole'],
  cases: {
    'what handlers take is kept as it was told, and listed by name': async ({ store }) => {
      assert.deepEqual(await store.schemaList(), []);
      await store.schemaPut({ worker, schemas: [SEND, { handler: 'Zip', schema: '{}' }] });
      await store.schemaPut({ worker, schemas: [{ handler: 'ask', schema: '{}' }] });
      assert.deepEqual(await store.schemaList(), [
        { worker, handler: 'Zip', schema: '{}' },
        { worker, handler: 'ask', schema: '{}' },
        { worker, ...SEND },
      ]);
    },

    'what a worker tells last of a handler takes the place of what it told before': async ({ store }) => {
      await store.schemaPut({ worker, schemas: [SEND, { handler: 'zip', schema: '{}' }] });
      await store.schemaPut({ worker, schemas: [{ ...SEND, schema: '{"type":"string"}' }] });
      assert.deepEqual(await store.schemaList(), [
        { worker, ...SEND, schema: '{"type":"string"}' },
        { worker, handler: 'zip', schema: '{}' },
      ]);
    },

    'no worker replaces what another one told': async ({ store }) => {
      await store.schemaPut({ worker: 'b', schemas: [SEND] });
      await store.schemaPut({ worker: 'a', schemas: [{ ...SEND, schema: '{"type":"string"}' }] });
      assert.deepEqual(await store.schemaList(), [
        { worker: 'a', ...SEND, schema: '{"type":"string"}' },
        { worker: 'b', ...SEND },
      ]);
    },

    'a worker that is forgotten leaves no schemas': async ({ store }) => {
      await store.schemaPut({ worker: 'a', schemas: [SEND] });
      await store.schemaPut({ worker: 'b', schemas: [SEND] });
      await store.workerForget({ name: 'a' });
      assert.deepEqual(await store.schemaList(), [{ worker: 'b', ...SEND }]);
    },

    'of one worker the newest are kept, and it crowds out no other': async (scene) => {
      const { store } = scene;
      await store.schemaPut({ worker: 'a', schemas: [SEND] });
      await store.schemaPut({ worker, schemas: named('old', 10) });
      await scene.pass(MINUTE);
      await store.schemaPut({ worker, schemas: named('new', MOST_SCHEMAS_OF_ONE) });
      const kept = await store.schemaList();
      assert.deepEqual(
        kept.filter((one) => one.worker === 'a'),
        [{ worker: 'a', ...SEND }],
      );
      const own = kept.filter((one) => one.worker === worker);
      assert.equal(own.length, MOST_SCHEMAS_OF_ONE);
      assert.ok(own.every(({ handler }) => handler.startsWith('new')));
    },

    'of more than anybody offers the newest are kept': async (scene) => {
      const { store } = scene;
      await store.schemaPut({ worker: 'first', schemas: named('old', 10) });
      await scene.pass(MINUTE);
      for (let i = 0; i < MOST_SCHEMAS / MOST_SCHEMAS_OF_ONE; i++) {
        await store.schemaPut({ worker: `w${i}`, schemas: named('new', MOST_SCHEMAS_OF_ONE) });
      }
      const kept = await store.schemaList();
      assert.equal(kept.length, MOST_SCHEMAS);
      assert.ok(kept.every(({ handler }) => handler.startsWith('new')));
    },

    'workers that come together, each with some of the same, all get through': async ({ store }) => {
      const all = ['a', 'b', 'c', 'd', 'e'].map((handler) => ({ handler, schema: '' }));
      const told = Array.from({ length: 10 }, (_, i) => ({
        worker,
        schemas: (i % 2 === 0 ? all : all.toReversed()).map((one) => ({ ...one, schema: `{"$id":"${i}"}` })),
      }));
      await Promise.all(told.map((one) => store.schemaPut(one)));
      assert.equal((await store.schemaList()).length, all.length);
    },

    'they are there for every process, and after a restart': needing(['reopen'], async (scene) => {
      await scene.store.schemaPut({ worker, schemas: [SEND] });
      assert.deepEqual(await (await scene.reopen()).schemaList(), [{ worker, ...SEND }]);
    }),
  },
};
