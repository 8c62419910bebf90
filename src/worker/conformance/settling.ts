import assert from 'node:assert/strict';
import type { LinkTopic } from './scene.ts';

export const SETTLING: LinkTopic = {
  name: 'settling',
  cases: {
    'complete ends the task and keeps its result': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.complete(held, { sent: true, to: ['ü'] });
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
      assert.equal((await scene.get(held.task)).result, '{"sent":true,"to":["ü"]}');
    },

    'a task may be completed without a result': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.complete(held, undefined);
      assert.equal((await scene.get(held.task)).result, undefined);
      const other = await scene.running(session);
      await session.complete(other, null);
      assert.equal((await scene.get(other.task)).result, 'null');
    },

    'a repeated complete is harmless, and the first result stays': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.complete(held, 'first');
      await session.complete(held, 'first');
      await session.complete(held, 'second').catch(() => {});
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
      assert.equal((await scene.get(held.task)).result, '"first"');
    },

    'ends that are reported together each have their own answer, and a stale one is refused': async (scene) => {
      const session = await scene.open();
      const good = await scene.running(session);
      const stale = await scene.running(session);
      await session.release(stale);
      const [again] = await scene.claim(session);
      const together = [good, stale].map((lease) => ({ lease, result: 1 }));
      // A link without it reports each by itself.
      const answers = (await session.completeMany?.(together)) ?? [
        await session.complete(good, 1).then(() => undefined),
        await session.complete(stale, 1).catch((error: unknown) => error),
      ];
      assert.deepEqual(
        answers.map((error) => (error as { code?: string } | undefined)?.code),
        [undefined, 'LEASE_LOST'],
      );
      assert.equal(await scene.brief(good.task), 'completed none 1/1');
      assert.equal((await scene.get(stale.task)).state, 'running');
      assert.equal(again?.attempt, 2);
    },

    'a completed task cannot be failed, released or cancelled afterwards': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.complete(held, 1);
      await session.fail(held, 'too late').catch(() => {});
      await session.release(held).catch(() => {});
      await session.cancelled(held).catch(() => {});
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
    },

    'a failed attempt comes back after a pause while tries are left': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { maxAttempts: 2, retry: { baseMs: 10_000 } });
      assert.equal(await session.fail(held, new Error('no luck')), 'scheduled');
      assert.equal(await scene.brief(held.task), 'scheduled none 1/1');
      assert.deepEqual(await scene.claim(session), []);
      const [attempt] = await scene.operator.attempts(held.task);
      assert.equal(attempt?.attempt, 1);
      assert.match(attempt?.error ?? '', /no luck/);
      await scene.world.advance(10_001);
      await scene.tick('stager');
      assert.equal((await scene.claimOne(session)).attempt, 2);
    },

    'the last failed attempt ends the task, and its error is kept': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { maxAttempts: 1 });
      assert.equal(await session.fail(held, new TypeError('no luck')), 'failed');
      assert.equal(await scene.brief(held.task), 'failed exhausted 1/1');
      const { name, message } = (await scene.errorOf(held.task)) as { name: string; message: string };
      assert.deepEqual([name, message], ['TypeError', 'no luck']);
    },

    'giving up ends the task, whatever tries are left': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { maxAttempts: 10 });
      assert.equal(await session.fail(held, { message: 'hopeless' }, { giveUp: true }), 'failed');
      assert.equal(await scene.brief(held.task), 'failed gave_up 1/1');
      assert.deepEqual(await scene.errorOf(held.task), { message: 'hopeless' });
    },

    'coming back later costs no try, however often': async (scene) => {
      const session = await scene.open();
      const { task } = await scene.push({ maxAttempts: 1 });
      for (let n = 1; n <= 3; n++) {
        const held = await scene.claimOne(session);
        assert.deepEqual([held.task, held.attempt, held.tries], [task, n, 1]);
        assert.equal(await session.fail(held, 'busy', { retryAfterMs: 5000 }), 'scheduled');
        assert.equal(await scene.brief(task), `scheduled none 0/${n}`);
        await scene.world.advance(5001);
        await scene.tick('stager');
      }
    },

    'release gives the task back with its try': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.equal(await session.release(held), 'ready');
      assert.equal(await scene.brief(held.task), 'ready none 0/1');
      assert.equal((await scene.claimOne(session)).tries, 1);
    },

    'release may say how much later': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.equal(await session.release(held, { delayMs: 7000 }), 'scheduled');
      await scene.world.advance(6000);
      await scene.tick('stager');
      assert.equal(await scene.brief(held.task), 'scheduled none 0/1');
      await scene.world.advance(1001);
      await scene.tick('stager');
      assert.equal(await scene.brief(held.task), 'ready none 0/1');
    },

    'a task that bounces twenty times in a row is undeliverable; plain releases are never counted': async (scene) => {
      const session = await scene.open();
      const { task } = await scene.push();
      for (let n = 1; n <= 25; n++) await session.release(await scene.claimOne(session));
      assert.equal(await scene.brief(task), 'ready none 0/25');
      for (let n = 1; n < 20; n++) {
        assert.equal(await session.release(await scene.claimOne(session), { bounced: true }), 'ready');
      }
      assert.equal(await session.release(await scene.claimOne(session), { bounced: true }), 'failed');
      assert.match(await scene.brief(task), /^failed undeliverable/);
    },

    'cancelled ends the task': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      await session.cancelled(held);
      assert.equal(await scene.brief(held.task), 'cancelled requested 1/1');
    },

    'what is given back after somebody asked to stop it does not come again': async (scene) => {
      const session = await scene.open();
      const one = await scene.running(session);
      await scene.operator.cancel(one.task);
      assert.equal(await session.release(one), 'cancelled');
      const two = await scene.running(session);
      await scene.operator.cancel(two.task);
      assert.equal(await session.fail(two, 'stopped'), 'cancelled');
      const three = await scene.running(session);
      await scene.operator.cancel(three.task);
      assert.equal(await session.fail(three, 'later', { retryAfterMs: 10 }), 'cancelled');
      for (const { task } of [one, two, three]) assert.match(await scene.brief(task), /^cancelled requested/);
    },

    'a result that comes after the expiry and before the reap is kept': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.world.advance(10 * session.leaseMs);
      await session.complete(held, 'late');
      await scene.tick('reaper');
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
    },
  },
};
