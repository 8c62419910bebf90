import assert from 'node:assert/strict';
import { type LinkTopic, refusal } from './scene.ts';

export const OPENING: LinkTopic = {
  name: 'opening',
  cases: {
    'opening registers the incarnation with all that it said of itself': async (scene) => {
      await scene.open({
        name: 'gpu-box',
        incarnation: 'first',
        slots: 3,
        tags: ['gpu', 'gpu=nvidia'],
        handlers: ['send', 'render'],
      });
      const { name, slots, tags, handlers } = await scene.worker('first');
      assert.deepEqual([name, slots, tags], ['gpu-box', 3, ['gpu', 'gpu=nvidia']]);
      assert.deepEqual(new Set(handlers), new Set(['send', 'render']));
    },

    'what its handlers take is known to all, as each worker said it': async (scene) => {
      const [text, number] = ['{"type":"string"}', '{"type":"number"}'];
      await scene.open({ handlers: ['send', 'render'], schemas: [{ handler: 'send', schema: text }] });
      const told = async (): Promise<readonly string[]> =>
        (await scene.operator.workers.schemas()).map(({ handler, schema }) => `${handler} ${schema}`);
      assert.deepEqual(await told(), [`send ${text}`]);
      await scene.open({ schemas: [{ handler: 'send', schema: number }] });
      await scene.open();
      assert.deepEqual((await told()).toSorted(), [`send ${number}`, `send ${text}`]);
    },

    'what its handlers take is refused where it is not theirs, or no schema': async (scene) => {
      const opening = (handler: string, schema: string) => scene.open({ schemas: [{ handler, schema }] });
      for (const schema of ['{', '[]', 'null', '"text"', '{"a":"\\u0000"}', `{"a":"${'x'.repeat(32_768)}"}`]) {
        assert.match(await refusal(opening('send', schema)), /^(INVALID_INPUT|TOO_LARGE)$/, schema.slice(0, 20));
      }
      assert.equal(await refusal(opening('render', '{}')), 'INVALID_INPUT');
      const handlers = Array.from({ length: 9 }, (_, n) => `h${n}`);
      const schemas = handlers.map((handler) => ({ handler, schema: `{"a":"${'x'.repeat(32_000)}"}` }));
      assert.equal(await refusal(scene.open({ name: 'another', handlers, schemas })), 'TOO_LARGE');
      assert.deepEqual([await scene.operator.workers.schemas(), await scene.operator.workers.list()], [[], []]);
    },

    'each start is a worker of its own, even under the same name': async (scene) => {
      const first = await scene.open({ name: 'box', incarnation: 'first' });
      await first.beat('offline');
      await first.close();
      await scene.open({ name: 'box', incarnation: 'second' });
      const names = (await scene.operator.workers.list()).map(({ name, incarnation }) => `${name} ${incarnation}`);
      assert.deepEqual(names.toSorted(), ['box first', 'box second']);
    },

    'what cannot be registered is refused, and nothing is': async (scene) => {
      assert.equal(await refusal(scene.open({ name: '' })), 'INVALID_INPUT');
      assert.equal(await refusal(scene.open({ slots: 0 })), 'INVALID_INPUT');
      assert.equal(await refusal(scene.open({ handlers: ['not a name!'] })), 'INVALID_INPUT');
      assert.deepEqual(await scene.operator.workers.list(), []);
    },

    'queues that cannot exist are refused at the opening, not at every claim': async (scene) => {
      assert.equal(await refusal(scene.open({ queues: ['no such queue!'] })), 'INVALID_INPUT');
      assert.deepEqual(await scene.operator.workers.list(), []);
    },

    'a beat shows in the list of workers': async (scene) => {
      const session = await scene.open({ incarnation: 'first' });
      await scene.open({ incarnation: 'second' });
      const before = await scene.worker('first');
      await scene.world.advance(4000);
      for (const state of ['online', 'draining', 'offline'] as const) {
        await session.beat(state);
        assert.equal((await scene.worker('first')).state, state);
      }
      assert.ok((await scene.worker('first')).seenAt >= before.seenAt + 4000);
      assert.equal((await scene.worker('second')).state, 'starting');
    },

    'a beat that says nothing new shows that the worker lives': async (scene) => {
      const session = await scene.open({ incarnation: 'first' });
      await session.beat('online');
      const { seenAt } = await scene.worker('first');
      for (const pauses of [1, 2, 3]) {
        await scene.world.advance(8000);
        await session.beat('online');
        // A beat may have no answer, but requests are answered in order.
        await session.cancels();
        // The node collects such beats for a second at most.
        await scene.world.advance(1000);
        const { state, seenAt: later } = await scene.worker('first');
        assert.equal(state, 'online');
        assert.ok(later >= seenAt + pauses * 8000, `${later - seenAt} ms after ${pauses} pauses`);
      }
    },

    'a session says how long its leases hold': async (scene) => {
      const session = await scene.open();
      const { task } = await scene.running(session);
      await scene.world.advance(session.leaseMs - 10);
      await scene.tick('reaper');
      assert.equal(await scene.brief(task), 'running none 1/1');
      await scene.world.advance(20);
      await scene.tick('reaper');
      assert.equal(await scene.brief(task), 'ready none 1/1');
    },

    'closing a session takes nothing from another one': async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()];
      const held = await scene.running(two);
      await one.close();
      await two.complete(held, 1);
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
    },
  },
};
