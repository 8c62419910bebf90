import assert from 'node:assert/strict';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

/**
 * A store may keep its newest task, so that numbers are never used again. One more task is pushed after those that are
 * to go.
 */
const younger = (scene: Scene): Promise<number> => scene.push({ queue: 'young' });

async function finished(scene: Scene, queue = 'mail'): Promise<number> {
  const grant = await scene.running({ queue });
  assert.equal(await scene.settle(grant, 'completed', { result: '1' }), 'done');
  return grant.task;
}

const gone = async (scene: Scene, task: number): Promise<boolean> =>
  (await scene.store.taskGet({ tasks: [task] }))[0] === undefined;

export const PRUNE: Topic = {
  name: 'prune',
  cases: {
    'finished tasks go when they ended longer ago than the retention, and not before': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const old = await finished(scene);
      await scene.pass(HOUR);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
      await scene.pass(1);
      const young = await finished(scene);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.deepEqual([await gone(scene, old), await gone(scene, young)], [true, false]);
    },

    'completed, failed and cancelled tasks all go': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        await scene.settle(await scene.running({ queue: to }), to);
      }
      await scene.store.taskCancel({ tasks: [await scene.push()] });
      const young = await younger(scene);
      await scene.pass(DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 4);
      assert.deepEqual(
        (await scene.look()).tasks.map(({ task }) => task),
        [young],
      );
    },

    'what is not finished stays, however old it is': async (scene) => {
      const duty = await scene.duty('pruner', 900 * DAY);
      const tasks = [
        await scene.push({ queue: 'a' }),
        await scene.push({ queue: 'b', delayMs: 800 * DAY }),
        (await scene.running({ queue: 'c' })).task,
      ];
      const revived = await finished(scene, 'd');
      await scene.store.taskRevive({ tasks: [revived] });
      await scene.pass(400 * DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
      for (const task of [...tasks, revived]) assert.equal(await gone(scene, task), false);
    },

    'the retention counts from the end of a task, not from its push': async (scene) => {
      const duty = await scene.duty('pruner', 900 * DAY);
      const grant = await scene.running();
      await scene.pass(30 * DAY);
      await scene.settle(grant, 'completed');
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
    },

    'the attempts of a pruned task go with it': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const grant = await scene.running();
      await scene.giveBack(grant);
      await scene.settle(await scene.claimOne(), 'completed');
      await younger(scene);
      await scene.pass(DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.deepEqual(await scene.store.attemptList({ task: grant.task }), []);
    },

    'the totals of finished tasks are not lowered': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      for (let n = 0; n < 5; n++) await finished(scene);
      await younger(scene);
      await scene.pass(DAY);
      const before = await scene.stats();
      assert.equal((await scene.prune(duty, HOUR)).tasks, 5);
      assert.deepEqual(await scene.stats(), before);
    },

    'a step removes no more than it was asked for, and the steps together remove everything': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      scene.forgets = true;
      const tasks = await scene.pushMany(50);
      const grants = await scene.claim({ max: 50 });
      await scene.store.taskSettle({
        items: grants.map(({ task, attempt }) => ({ task, attempt, to: 'completed', reason: 'none' }) as const),
      });
      const kept = await scene.push();
      await scene.pass(DAY);
      let steps = 0;
      for (let done = false; !done; steps++) {
        const answer = await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 7 });
        assert.ok(answer.tasks <= 7);
        done = answer.done;
        assert.ok(steps < 100, 'it never comes round');
      }
      assert.ok(steps >= 7);
      for (const task of tasks) assert.ok(await gone(scene, task));
      assert.equal(await gone(scene, kept), false);
    },

    'the next holder of the duty goes on where the one before stopped': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      scene.forgets = true;
      await scene.pushMany(20);
      for (const grant of await scene.claim({ max: 20 })) await scene.settle(grant, 'completed');
      await scene.pass(DAY);
      await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 7 });
      await scene.store.dutyRelease({ duty });
      const next = await scene.duty('pruner', 30 * DAY);
      assert.ok(next.cursor > 0, `the cursor is ${next.cursor}`);
    },

    'the number of a pruned task never comes back': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const task = await finished(scene);
      await scene.pass(DAY);
      await scene.prune(duty, HOUR);
      const next = await scene.push();
      assert.ok(next > task);
      await scene.store.taskCancel({ tasks: [next] });
      await scene.pass(DAY);
      await scene.prune(duty, HOUR);
      assert.ok((await scene.push()) > next);
    },

    'a pruned task is unknown to every verb': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const task = await finished(scene);
      await younger(scene);
      await scene.pass(DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      const lease = { task, attempt: 1 };
      await scene.unchanged(async () => {
        assert.equal(await scene.settle(lease, 'completed'), 'lost');
        assert.equal(await scene.giveBack(lease), 'lost');
        assert.deepEqual(await scene.store.leaseRenew({ items: [{ ...lease, ttlMs: HOUR }] }), [{ held: false }]);
        assert.deepEqual(await scene.store.taskCancel({ tasks: [task] }), ['unknown']);
        assert.deepEqual(await scene.store.taskRevive({ tasks: [task] }), [{ ok: false, state: undefined }]);
      });
    },

    'a unique key outlives its window while its task is unfinished': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const task = await scene.push({ unique });
      await scene.pass(2 * DAY);
      await scene.prune(duty, HOUR);
      const again = await scene.pushAnswer({ unique });
      assert.ok(again.ok && !again.fresh && again.task === task);
    },

    'a unique key is free after its window when its task was pruned': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const task = await scene.push({ unique });
      await scene.settle(await scene.claimOne(), 'completed');
      await younger(scene);
      await scene.pass(2 * DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.notEqual(await scene.push({ unique: { ...unique, hash: 2 } }), task);
    },

    'an operation id is remembered for its day, whatever the retention': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const task = await scene.push({ op: 'op-1' });
      await scene.pass(20 * HOUR);
      await scene.prune(duty, 1);
      const again = await scene.pushAnswer({ op: 'op-1' });
      assert.ok(again.ok && !again.fresh && again.task === task);
    },

    'there is nothing to prune in a new store': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      assert.deepEqual(await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 10 }), {
        tasks: 0,
        events: 0,
        workers: 0,
        done: true,
      });
    },
  },
};
