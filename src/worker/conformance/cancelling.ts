import assert from 'node:assert/strict';
import type { LinkTopic } from './scene.ts';

export const CANCELLING: LinkTopic = {
  name: 'cancelling',
  cases: {
    'a session can ask which of its leases should stop': async (scene) => {
      const [mine, other] = [await scene.open(), await scene.open()];
      const held = await scene.running(mine);
      await scene.running(mine);
      const foreign = await scene.running(other);
      assert.deepEqual(await mine.cancels(), []);
      await scene.operator.cancel(held.task);
      await scene.operator.cancel(foreign.task);
      for (let n = 0; n < 2; n++) {
        assert.deepEqual(
          (await mine.cancels()).map(({ task, attempt }) => [task, attempt]),
          [[held.task, held.attempt]],
        );
      }
    },

    'what has ended need not be stopped': async (scene) => {
      const session = await scene.open();
      const one = await scene.running(session);
      const two = await scene.running(session);
      await scene.operator.cancel(one.task);
      await scene.operator.cancel(two.task);
      await session.cancelled(one);
      await session.complete(two, 1);
      assert.deepEqual(await session.cancels(), []);
    },

    'a request to stop is told soon': async (scene) => {
      const session = await scene.open();
      const told: number[] = [];
      session.onCancel((task) => told.push(task));
      const held = await scene.running(session);
      const waiting = await scene.push();
      await scene.operator.cancel(waiting.task);
      await scene.operator.cancel(held.task);
      await scene.world.advance(1000);
      assert.ok(told.includes(held.task));
      assert.ok(!told.includes(waiting.task), 'a task that nobody runs is nothing to stop');
    },

    'who does not want to hear of it any more hears nothing': async (scene) => {
      const session = await scene.open();
      const told: string[] = [];
      const end = session.onCancel(() => told.push('one'));
      session.onCancel(() => told.push('two'));
      end();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      await scene.world.advance(1000);
      assert.deepEqual(new Set(told), new Set(['two']));
    },

    'a pause of a queue is told soon, where the engine can call the worker': async (scene) => {
      const session = await scene.open();
      if (session.onPause === undefined) return;
      const told: string[] = [];
      const end = session.onPause((queue) => told.push(`one ${queue}`));
      session.onPause((queue) => told.push(`two ${queue}`));
      await scene.operator.pause('letters');
      await scene.world.advance(1000);
      assert.deepEqual(told.toSorted(), ['one letters', 'two letters']);
      end();
      await scene.operator.pause('parcels');
      await scene.world.advance(1000);
      assert.equal(told.at(-1), 'two parcels');
      assert.equal(told.length, 3);
    },

    'a result that was ready before the worker heard of it counts': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      await session.complete(held, 'done');
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
    },

    'a lease that runs out after a request ends as cancelled': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      await scene.expire(session);
      assert.equal(await scene.brief(held.task), 'cancelled requested 1/1');
    },
  },
};
