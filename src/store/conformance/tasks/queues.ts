import assert from 'node:assert/strict';
import { EMPTY_STATS } from '../../../core/task/event.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import { allTasks, countStates } from '../kit/snapshot.ts';
import type { Topic } from '../kit/topic.ts';

/** The counters against a count of the rows. */
async function assertExact(scene: Scene, queues: readonly string[], step: string): Promise<void> {
  const tasks = await allTasks(scene.store);
  for (const queue of queues) {
    const counted = countStates(tasks.filter((task) => task.queue === queue));
    assert.deepEqual(await scene.stats(queue), counted, `${queue} after ${step}`);
  }
}

export const QUEUES: Topic = {
  name: 'queues',
  cases: {
    'a queue that nobody has named is unknown, and one without tasks counts nothing': async (scene) => {
      assert.equal(await scene.store.queueStats({ queue: 'mail' }), undefined);
      await scene.lane('mail');
      assert.deepEqual(await scene.stats('mail'), EMPTY_STATS);
      assert.deepEqual(await scene.store.queueList(), [{ name: 'mail', paused: false, stats: EMPTY_STATS }]);
    },

    'the counters are exact after every step': async (scene) => {
      const duty = await scene.duty('any', DAY);
      const queues = ['a', 'b'];
      const a = await scene.draft({ queue: 'a' });
      const b = await scene.draft({ queue: 'b', handler: 'other' });
      const lanes = [a.lane, b.lane];
      const step = async (name: string, act: () => Promise<unknown>): Promise<void> => {
        await act();
        await assertExact(scene, queues, name);
      };
      await step('push', () => scene.pushMany(9, a));
      await step('push elsewhere', () => scene.pushMany(7, b));
      await step('push for later', () => scene.pushMany(3, { ...a, delayMs: 50 }));
      const grants = await scene.claim({ max: 12, lanes });
      await step('claim', async () => assert.equal(grants.length, 12));
      const [g0, g1, g2, g3, g4, g5] = grants;
      assert.ok(g0 && g1 && g2 && g3 && g4 && g5);
      await step('complete', () => scene.settle(g0, 'completed'));
      await step('complete again', () => scene.settle(g0, 'completed'));
      await step('fail', () => scene.settle(g1, 'failed'));
      await step('retry later', () => scene.giveBack(g2, { delayMs: HOUR }));
      await step('retry now', () => scene.giveBack(g3));
      await step('release', () => scene.giveBack(g4, { change: 'released', refund: true }));
      await step('request a cancel', () => scene.store.taskCancel({ tasks: [g5.task] }));
      await step('give back after the request', () => scene.giveBack(g5));
      await step('cancel what waits', () => scene.store.taskCancel({ tasks: [g2.task, g3.task] }));
      await scene.pass(50);
      await step('stage', () => scene.store.taskStage({ duty, limit: 2 }));
      await scene.pass(TTL + 1);
      await step('reap', () => scene.reap(duty));
      await step('revive', () => scene.store.taskRevive({ tasks: [g0.task, g1.task, g2.task] }));
      await step('claim the rest', () => scene.claim({ max: 100, lanes }));
      await scene.pass(TTL + 1);
      await step('reap for good', () => scene.reap(duty, 'failed'));
    },

    'many changes of one task within one write count once each': async (scene) => {
      const item = await scene.draft();
      const answers = Promise.all([
        scene.store.taskPush({ items: [item] }),
        scene.claim({ max: 5 }),
        scene.store.taskPush({ items: [item, item] }),
        scene.claim({ max: 5 }),
      ]);
      await answers;
      await assertExact(scene, ['mail'], 'all at once');
    },

    'a pause is seen by everybody who looks at the lanes of the queue': async (scene) => {
      await scene.push({ queue: 'mail', handler: 'send' });
      await scene.push({ queue: 'mail', handler: 'sort' });
      await scene.push({ queue: 'post' });
      await scene.store.queuePause({ queue: 'mail', paused: true });
      const lanes = (await scene.store.laneScan({ after: 0, limit: 10 })).map(({ id }) => id);
      const seen = (await scene.store.laneGet({ lanes })).map((lane) => [lane?.queue, lane?.paused]);
      assert.deepEqual(seen, [
        ['mail', true],
        ['mail', true],
        ['post', false],
      ]);
      const [lane] = await scene.store.laneIntern({ lanes: [{ queue: 'mail', handler: 'new' }] });
      assert.equal(lane?.paused, true);
      const listed = (await scene.store.queueList()).map(({ name, paused }) => [name, paused]);
      assert.deepEqual(listed, [
        ['mail', true],
        ['post', false],
      ]);
    },

    'a resumed queue is not paused, and both may be said twice': async (scene) => {
      const lane = await scene.lane('mail', 'send');
      for (const paused of [true, true, false, false]) {
        await scene.store.queuePause({ queue: 'mail', paused });
        assert.equal((await scene.store.laneGet({ lanes: [lane] }))[0]?.paused, paused);
      }
    },

    'a queue may be paused before it has its first task': async (scene) => {
      await scene.store.queuePause({ queue: 'mail', paused: true });
      const [lane] = await scene.store.laneIntern({ lanes: [{ queue: 'mail', handler: 'send' }] });
      assert.equal(lane?.paused, true);
    },

    'a pause takes nothing from those who hold a lease': async (scene) => {
      const grant = await scene.running();
      await scene.store.queuePause({ queue: 'mail', paused: true });
      const [renewal] = await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] });
      assert.equal(renewal?.held, true);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'queues are listed by name, each with its counters': async (scene) => {
      for (const queue of ['c', 'a', 'b']) await scene.pushMany(queue.charCodeAt(0) - 96, { queue });
      const listed = (await scene.store.queueList()).map(({ name, stats }) => [name, stats.ready]);
      assert.deepEqual(listed, [
        ['a', 1],
        ['b', 2],
        ['c', 3],
      ]);
    },

    'tasks are listed newest first, page by page, by queue and by state': async (scene) => {
      const mail = await scene.pushMany(5, { queue: 'mail' });
      const post = await scene.pushMany(3, { queue: 'post' });
      const later = await scene.pushMany(2, { queue: 'mail', delayMs: HOUR });
      const list = async (query: Parameters<typeof scene.store.taskList>[0]): Promise<readonly number[]> =>
        (await scene.store.taskList(query)).map(({ task }) => task);
      const all = [...mail, ...post, ...later].reverse();
      assert.deepEqual(await list({ limit: 100 }), all);
      assert.deepEqual(await list({ limit: 3 }), all.slice(0, 3));
      assert.deepEqual(await list({ limit: 3, before: all[2] as number }), all.slice(3, 6));
      assert.deepEqual(await list({ limit: 100, queue: 'post' }), post.toReversed());
      assert.deepEqual(await list({ limit: 100, states: ['scheduled'] }), later.toReversed());
      assert.deepEqual(await list({ limit: 100, queue: 'mail', states: ['ready', 'completed'] }), mail.toReversed());
      assert.deepEqual(await list({ limit: 100, states: [] }), []);
      assert.deepEqual(await list({ limit: 100, queue: 'none' }), []);
      assert.deepEqual(await list({ limit: 0 }), []);
    },
  },
};
