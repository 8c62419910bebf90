import assert from 'node:assert/strict';
import { type LinkTopic, refusal } from './scene.ts';

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

export const STORING: LinkTopic = {
  name: 'storing',
  cases: {
    'a result that no store can keep is refused with its reason, and the lease stays usable': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      for (const result of [
        1n,
        () => 1,
        Number.NaN,
        cyclic,
        new Map(),
        { deep: [Symbol('s')] },
        'a\u0000b',
        '\ud800',
      ]) {
        assert.equal(await refusal(session.complete(held, result)), 'INVALID_INPUT', String(typeof result));
      }
      assert.equal(await scene.brief(held.task), 'running none 1/1');
      await session.complete(held, 'plain');
      assert.equal((await scene.get(held.task)).result, '"plain"');
    },

    'a result that is too large is refused as such': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.equal(await refusal(session.complete(held, 'x'.repeat(3_000_000))), 'TOO_LARGE');
      await session.release(held);
      assert.equal(await scene.brief(held.task), 'ready none 0/1');
    },

    'whatever a handler throws, its task can fail': async (scene) => {
      const session = await scene.open();
      const huge = new Error('x'.repeat(5_000_000));
      const hostile = {
        toJSON() {
          throw new Error('no');
        },
        toString() {
          throw new Error('no');
        },
      };
      for (const error of [null, undefined, 'text', 0, 1n, Symbol('s'), cyclic, huge, hostile, new Error('a\u0000b')]) {
        const held = await scene.running(session, { maxAttempts: 1 });
        assert.equal(await session.fail(held, error), 'failed');
        const { result } = await scene.get(held.task);
        assert.ok(result === undefined || result.length < 100_000);
      }
    },

    'a text or a plain value that was thrown is kept as it is': async (scene) => {
      const session = await scene.open();
      for (const error of ['text', { code: 42, nested: [1, 2] }, 17]) {
        const held = await scene.running(session, { maxAttempts: 1 });
        await session.fail(held, error);
        assert.deepEqual(await scene.errorOf(held.task), error);
      }
    },
  },
};
