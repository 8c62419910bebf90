import assert from 'node:assert/strict';
import type { Assignment, Session } from '../../protocol/link.ts';
import { type LinkPush, type LinkScene, type LinkTopic, refusal } from './scene.ts';

/** A task that equals the others of its case, claimed by the session. */
const like = (scene: LinkScene, session: Session, more: Partial<LinkPush> = {}): Promise<Assignment> =>
  scene.running(session, { reuse: true, input: { a: 1, b: 2 }, ...more });

export const REUSING: LinkTopic = {
  name: 'reusing results',
  cases: {
    'only what was pushed so takes the result of another task, and keeps its own': async (scene) => {
      const session = await scene.open();
      const plain = await scene.running(session, { input: { a: 1, b: 2 } });
      assert.ok(!plain.reuses);
      await session.keep(plain, 'plain');
      const one = await like(scene, session);
      assert.equal(one.reuses, true);
      assert.equal(await session.reusable(one), undefined);
      await session.keep(one, { n: 1 });
      await session.complete(one, { n: 1 });
      assert.equal(await session.reusable(plain), undefined);
      const two = await like(scene, session, { input: { b: 2, a: 1 } });
      assert.deepEqual(await session.reusable(two), { id: one.id, result: '{"n":1}' });
    },

    'another input, handler or key has another result': async (scene) => {
      const session = await scene.open({ handlers: ['send', 'print'] });
      await session.keep(await like(scene, session), 1);
      for (const other of [{ input: { a: 1 } }, { input: null }, { handler: 'print' }, { reuse: { key: 'k' } }]) {
        assert.equal(await session.reusable(await like(scene, session, other)), undefined, JSON.stringify(other));
      }
      const elsewhere = await like(scene, session, { queue: 'other' });
      assert.equal((await session.reusable(elsewhere))?.result, '1', 'the queue is not part of it');
    },

    'a key stands for the input': async (scene) => {
      const session = await scene.open();
      const one = await like(scene, session, { reuse: { key: 'order-7' }, input: 1 });
      await session.keep(one, 'paid');
      const two = await like(scene, session, { reuse: { key: 'order-7' }, input: 2 });
      assert.deepEqual(await session.reusable(two), { id: one.id, result: '"paid"' });
      assert.equal(
        await session.reusable(await like(scene, session, { reuse: { key: 'order-8' }, input: 1 })),
        undefined,
      );
    },

    'the next attempt of a task whose worker died after it had kept its result finds it': async (scene) => {
      const session = await scene.open();
      const crashed = await like(scene, session, { maxAttempts: 5 });
      await session.keep(crashed, 'done');
      await scene.expire(session);
      const next = await scene.claimOne(session);
      assert.deepEqual([next.task, next.attempt], [crashed.task, 2]);
      assert.deepEqual(await session.reusable(next), { id: crashed.id, result: '"done"' });
    },

    'a result counts up to its age, and then no more': async (scene) => {
      const session = await scene.open();
      const [long, short] = [await like(scene, session), await like(scene, session, { reuse: 5000, input: 5 })];
      await session.keep(long, 'long');
      await session.keep(short, 'short');
      await scene.world.advance(4999);
      const again = await like(scene, session, { reuse: 5000, input: 5 });
      assert.equal((await session.reusable(again))?.result, '"short"');
      await scene.world.advance(1);
      assert.equal(await session.reusable(again), undefined);
      assert.equal((await session.reusable(await like(scene, session)))?.result, '"long"');
      // The task that asks says how old a result may be.
      assert.equal(await session.reusable(await like(scene, session, { reuse: 5000 })), undefined);
    },

    'the first result stays, and keeping one again changes nothing': async (scene) => {
      const session = await scene.open();
      const [one, two] = [await like(scene, session), await like(scene, session)];
      for (const lease of [one, one, two]) await session.keep(lease, lease === one ? 1 : 2);
      assert.deepEqual(await session.reusable(two), { id: one.id, result: '1' });
    },

    'no result at all can be kept, too': async (scene) => {
      const session = await scene.open();
      const one = await like(scene, session);
      await session.keep(one, undefined);
      assert.deepEqual(await session.reusable(await like(scene, session)), { id: one.id, result: undefined });
    },

    'a result that no store can keep is refused, and the lease stays usable': async (scene) => {
      const session = await scene.open();
      const held = await like(scene, session);
      assert.equal(await refusal(session.keep(held, 1n)), 'INVALID_INPUT');
      assert.equal(await refusal(session.keep(held, 'x'.repeat(3_000_000))), 'TOO_LARGE');
      await session.complete(held, 1);
      assert.equal(await session.reusable(await like(scene, session)), undefined);
    },

    'an attempt that was overtaken keeps nothing': async (scene) => {
      const session = await scene.open();
      for (const reuse of [true, { key: 'k' }] as const) {
        const { stale, fresh } = await scene.overtaken(session, { reuse });
        assert.equal(await refusal(session.keep(stale, 'stale')), 'LEASE_LOST');
        assert.equal(await session.reusable(fresh), undefined);
        await session.keep(fresh, 'fresh');
        await session.complete(fresh, 'fresh');
        assert.equal(await refusal(session.keep(stale, 'stale')), 'LEASE_LOST');
        const next = await scene.running(session, { reuse });
        assert.equal((await session.reusable(next))?.result, '"fresh"');
        await session.complete(next, 1);
      }
    },
  },
};
