import assert from 'node:assert/strict';
import type { LinkTopic } from './scene.ts';

export const RENEWING: LinkTopic = {
  name: 'renewing',
  cases: {
    'a lease that is renewed holds for as long as it is': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      for (let n = 0; n < 4; n++) {
        await scene.world.advance(session.leaseMs * 0.9);
        assert.deepEqual(await session.renew([held]), ['held']);
        await scene.tick('reaper');
      }
      assert.equal(await scene.brief(held.task), 'running none 1/1');
      await session.complete(held, 1);
    },

    'nothing to renew is no fault': async (scene) => {
      assert.deepEqual(await (await scene.open()).renew([]), []);
    },

    'a renewal tells of a request to stop, each time, and keeps the lease': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      for (let n = 0; n < 3; n++) {
        await scene.world.advance(session.leaseMs * 0.9);
        assert.deepEqual(await session.renew([held]), ['cancel']);
        await scene.tick('reaper');
      }
      assert.equal((await scene.get(held.task)).state, 'running');
    },

    'a renewal is refused after the reap, not after the expiry': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.world.advance(3 * session.leaseMs);
      assert.deepEqual(await session.renew([held]), ['held']);
      await scene.tick('reaper');
      assert.equal((await scene.get(held.task)).state, 'running');
      await scene.expire(session);
      assert.deepEqual(await session.renew([held]), ['lost']);
      assert.equal((await scene.get(held.task)).state, 'ready');
    },

    'a renewal is refused when another attempt owns the task, which it does not prolong': async (scene) => {
      const session = await scene.open();
      const { stale, fresh } = await scene.overtaken(session);
      await scene.world.advance(session.leaseMs * 0.9);
      assert.deepEqual(await session.renew([stale]), ['lost']);
      await scene.world.advance(session.leaseMs * 0.2);
      await scene.tick('reaper');
      assert.deepEqual(await session.renew([fresh]), ['lost']);
    },

    'what is settled cannot be renewed': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.complete(held, 1);
      assert.deepEqual(await session.renew([held]), ['lost']);
    },

    'many are renewed at once, each with its own answer in its own place': async (scene) => {
      const session = await scene.open();
      const { stale, fresh } = await scene.overtaken(session);
      const plain = await scene.running(session);
      const unwanted = await scene.running(session);
      await scene.operator.cancel(unwanted.task);
      const unknown = { task: 4711, attempt: 1 };
      assert.deepEqual(await session.renew([stale, plain, unwanted, unknown, fresh]), [
        'lost',
        'held',
        'cancel',
        'lost',
        'held',
      ]);
    },

    'a task and an attempt are all that a renewal needs': async (scene) => {
      const session = await scene.open();
      const { task, attempt } = await scene.running(session);
      assert.deepEqual(await session.renew([{ task, attempt }]), ['held']);
      assert.deepEqual(await session.renew([{ task, attempt: attempt + 1 }]), ['lost']);
    },
  },
};
