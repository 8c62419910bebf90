import assert from 'node:assert/strict';
import { DAY, HOUR, MINUTE, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const OP: Topic = {
  name: 'operation ids',
  cases: {
    'a push that is repeated with its operation id gets the first answer and adds nothing': async (scene) => {
      const first = await scene.pushAnswer({ op: 'op-1' });
      const again = await scene.unchanged(() => scene.pushAnswer({ op: 'op-1' }));
      assert.ok(first.ok && again.ok);
      assert.deepEqual(again, { ...first, fresh: false });
    },

    'a repeated push tells the state that the task has now': async (scene) => {
      await scene.push({ op: 'op-1' });
      await scene.settle(await scene.claimOne(), 'completed');
      const again = await scene.pushAnswer({ op: 'op-1' });
      assert.ok(again.ok);
      assert.equal(again.state, 'completed');
    },

    'an operation id that comes twice in one call makes one task': async (scene) => {
      const item = await scene.draft({ op: 'op-1' });
      const [first, twin] = await scene.store.taskPush({ items: [item, item] });
      assert.ok(first?.ok && twin?.ok);
      assert.deepEqual([first.task, first.fresh, twin.fresh], [twin.task, true, false]);
    },

    'an operation id that is sent many times at once makes one task': async (scene) => {
      const item = await scene.draft({ op: 'op-1' });
      const answers = await Promise.all(Array.from({ length: 30 }, () => scene.store.taskPush({ items: [item] })));
      assert.equal(new Set(answers.map(([answer]) => answer?.ok && answer.task)).size, 1);
      assert.equal((await scene.stats()).ready, 1);
    },

    'other operation ids make other tasks': async (scene) => {
      assert.notEqual(await scene.push({ op: 'op-1' }), await scene.push({ op: 'op-2' }));
    },

    'an operation id stands for what it was first used for: other content is refused, and nothing is stored': async (
      scene,
    ) => {
      const task = await scene.push({ op: 'op-1', opHash: 1 });
      const other = { ok: false, conflict: task, byOp: true };
      assert.deepEqual(await scene.unchanged(() => scene.pushAnswer({ op: 'op-1', opHash: 2 })), other);
      const again = await scene.pushAnswer({ op: 'op-1', opHash: 1 });
      assert.ok(again.ok && again.task === task);
      const unique = { key: 'k', hash: 1, windowMs: MINUTE };
      await scene.push({ unique });
      const refused = await scene.pushAnswer({ unique: { ...unique, hash: 2 }, op: 'op-2', opHash: 2 });
      assert.ok(!refused.ok && !('byOp' in refused));
      assert.deepEqual(await scene.pushAnswer({ unique: { ...unique, hash: 2 }, op: 'op-2', opHash: 2 }), refused);
      const third = await scene.pushAnswer({ unique, op: 'op-2', opHash: 1 });
      assert.ok(!third.ok && 'byOp' in third && third.byOp === true);
    },

    'an operation id is remembered for a day': async (scene) => {
      const task = await scene.push({ op: 'op-1' });
      await scene.pass(DAY - MINUTE);
      const again = await scene.pushAnswer({ op: 'op-1' });
      assert.ok(again.ok && !again.fresh && again.task === task);
    },

    'a push that a unique key answered is answered the same when it is repeated, also after the key is free': async (
      scene,
    ) => {
      const unique = { key: 'k', hash: 1, windowMs: MINUTE };
      const task = await scene.push({ unique });
      const first = await scene.pushAnswer({ unique, op: 'op-1' });
      assert.ok(first.ok && first.task === task);
      await scene.settle(await scene.claimOne(), 'completed');
      await scene.pass(HOUR);
      const again = await scene.unchanged(() => scene.pushAnswer({ unique, op: 'op-1' }));
      assert.deepEqual(again, { ...first, state: 'completed' });
    },

    'a push that was refused for its unique key is refused the same when it is repeated': async (scene) => {
      const task = await scene.push({ unique: { key: 'k', hash: 1, windowMs: MINUTE } });
      const wish = { unique: { key: 'k', hash: 2, windowMs: MINUTE }, op: 'op-1' };
      assert.deepEqual(await scene.pushAnswer(wish), { ok: false, conflict: task });
      await scene.settle(await scene.claimOne(), 'completed');
      await scene.pass(HOUR);
      assert.deepEqual(await scene.unchanged(() => scene.pushAnswer(wish)), { ok: false, conflict: task });
    },

    'a claim that is repeated with its operation id gets the same grants and takes nothing more': async (scene) => {
      await scene.pushMany(5);
      const first = await scene.claim({ max: 3, op: 'op-1' });
      assert.equal(first.length, 3);
      assert.deepEqual(await scene.unchanged(() => scene.claim({ max: 3, op: 'op-1' })), first);
    },

    'a repeated claim shows the lease as it is now, after a renewal': async (scene) => {
      await scene.push();
      const [grant] = await scene.claim({ op: 'op-1' });
      assert.ok(grant);
      await scene.pass(10_000);
      await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: grant.attempt, ttlMs: TTL }] });
      const [again] = await scene.claim({ op: 'op-1' });
      assert.deepEqual(again, { ...grant, leaseUntil: grant.leaseUntil + 10_000 });
    },

    'a repeated claim leaves out what was completed, given back or reaped since': async (scene) => {
      await scene.pushMany(4);
      const [done, back, late, held] = await scene.claim({ max: 4, op: 'op-1' });
      assert.ok(done && back && late && held);
      await scene.settle(done, 'completed');
      await scene.giveBack(back, { delayMs: HOUR });
      await scene.store.leaseRenew({ items: [{ task: held.task, attempt: held.attempt, ttlMs: HOUR }] });
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(await scene.duty()), 1);
      const again = await scene.unchanged(() => scene.claim({ max: 4, op: 'op-1' }));
      assert.deepEqual(
        again.map(({ task }) => task),
        [held.task],
      );
    },

    'a repeated claim does not show a task that a newer attempt holds': async (scene) => {
      await scene.push();
      const [grant] = await scene.claim({ op: 'op-1' });
      assert.ok(grant);
      await scene.giveBack(grant);
      const newer = await scene.claimOne();
      assert.equal(newer.attempt, 2);
      assert.equal(await scene.unchanged(() => scene.rawClaim({ op: 'op-1' })), undefined);
    },

    'two workers that choose the same operation id get tasks of their own': async (scene) => {
      const [first, second] = await scene.pushMany(2);
      const one = await scene.claim({ op: 'op-1', holder: await scene.newWorker() });
      const two = await scene.claim({ op: 'op-1', holder: await scene.newWorker() });
      assert.deepEqual([one.map(({ task }) => task), two.map(({ task }) => task)], [[first], [second]]);
    },

    'a claim that found nothing may be repeated until it finds something': async (scene) => {
      assert.deepEqual(await scene.claim({ op: 'op-1' }), []);
      const task = await scene.push();
      assert.deepEqual(
        (await scene.claim({ op: 'op-1' })).map((grant) => grant.task),
        [task],
      );
    },

    'the operation ids of pushes and of claims never meet': async (scene) => {
      const task = await scene.push({ op: 'op-1' });
      const [grant] = await scene.claim({ op: 'op-1' });
      assert.equal(grant?.task, task);
      const again = await scene.pushAnswer({ op: 'op-1' });
      assert.ok(again.ok && again.task === task);
    },
  },
};
