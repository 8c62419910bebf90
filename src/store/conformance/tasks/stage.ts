import assert from 'node:assert/strict';
import { DAY, HOUR } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const STAGE: Topic = {
  name: 'stage',
  cases: {
    'a task becomes ready when its time has come, and not before': async (scene) => {
      const task = await scene.push({ delayMs: 1000 });
      const duty = await scene.duty('stager');
      await scene.pass(999);
      assert.deepEqual(await scene.unchanged(() => scene.store.taskStage({ duty, limit: 10 })), {
        staged: 0,
        lanes: [],
        nextInMs: 1,
      });
      assert.deepEqual(await scene.claim(), []);
      await scene.pass(1);
      const lane = await scene.lane();
      assert.deepEqual(await scene.store.taskStage({ duty, limit: 10 }), {
        staged: 1,
        lanes: [lane],
        nextInMs: undefined,
      });
      const record = await scene.get(task);
      assert.deepEqual([record.state, record.runAt], ['ready', undefined]);
      const stats = await scene.stats();
      assert.deepEqual([stats.scheduled, stats.ready], [0, 1]);
      assert.equal((await scene.claimOne()).task, task);
    },

    'a delay of sixty days comes due after sixty days': async (scene) => {
      await scene.push({ delayMs: 60 * DAY });
      const stage = async (): Promise<number> => {
        const duty = await scene.duty('stager');
        const { staged } = await scene.store.taskStage({ duty, limit: 10 });
        await scene.store.dutyRelease({ duty });
        return staged;
      };
      await scene.pass(25 * DAY);
      assert.equal(await stage(), 0);
      await scene.pass(35 * DAY - 1);
      assert.equal(await stage(), 0);
      await scene.pass(1);
      assert.equal(await stage(), 1);
    },

    'the earliest go first, no more than asked for, and the rest is due at once': async (scene) => {
      const late = await scene.push({ delayMs: 300 });
      const early = await scene.push({ delayMs: 100 });
      const middle = await scene.push({ delayMs: 200 });
      const duty = await scene.duty('stager');
      await scene.pass(1000);
      assert.deepEqual(await scene.store.taskStage({ duty, limit: 2 }), {
        staged: 2,
        lanes: [await scene.lane()],
        nextInMs: 0,
      });
      const states = (await scene.store.taskGet({ tasks: [early, middle, late] })).map((record) => record?.state);
      assert.deepEqual(states, ['ready', 'ready', 'scheduled']);
    },

    'a staged task goes in the order of its push, as if it had never waited': async (scene) => {
      const waited = await scene.push({ delayMs: 100 });
      const younger = await scene.push();
      const duty = await scene.duty('stager');
      await scene.pass(100);
      await scene.store.taskStage({ duty, limit: 10 });
      assert.equal((await scene.claimOne()).task, waited);
      assert.equal((await scene.claimOne()).task, younger);
    },

    'a retried task is staged with its attempts as they were': async (scene) => {
      const grant = await scene.running();
      await scene.giveBack(grant, { delayMs: 100 });
      const duty = await scene.duty('stager');
      await scene.pass(100);
      assert.equal((await scene.store.taskStage({ duty, limit: 10 })).staged, 1);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.attempt, record.tries], ['ready', 1, 1]);
    },

    'the lanes of staged tasks are named once each, and the next time is told': async (scene) => {
      await scene.pushMany(3, { queue: 'a', delayMs: 100 });
      await scene.pushMany(2, { queue: 'b', delayMs: 100 });
      await scene.push({ queue: 'c', delayMs: HOUR });
      const duty = await scene.duty('stager');
      await scene.pass(100);
      const answer = await scene.store.taskStage({ duty, limit: 10 });
      assert.equal(answer.staged, 5);
      assert.equal(answer.nextInMs, HOUR - 100);
      assert.deepEqual(
        answer.lanes.toSorted((a, b) => a - b),
        [await scene.lane('a'), await scene.lane('b')].sort((a, b) => a - b),
      );
    },
  },
};
