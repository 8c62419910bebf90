import assert from 'node:assert/strict';
import type { TaskCount, TaskQuery } from '../../store.ts';
import { HOUR, MINUTE, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const ALL = { queues: [], handlers: [], states: [], limit: 1000 };

/** Three tasks at a time, with half an hour between; the time before each of them. */
async function threeTimes(scene: Scene): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    times.push((await scene.store.clock()).calendar);
    await scene.pushMany(3, { queue: `q${i}`, handler: i === 2 ? 'sort' : 'send' });
    await scene.pass(30 * MINUTE);
  }
  times.push((await scene.store.clock()).calendar);
  return times;
}

async function numbers(scene: Scene, query: Partial<TaskQuery>): Promise<readonly number[]> {
  return (await scene.store.taskList({ limit: 100, ...query })).map(({ task }) => task);
}

async function counted(scene: Scene, query: Partial<TaskCount> & Pick<TaskCount, 'from' | 'until' | 'stepMs'>) {
  const { counts, looked, last } = await scene.store.taskCount({ ...ALL, ...query });
  const text = counts.map(({ bucket, state, tasks }) => `${bucket} ${state} ${tasks}`).toSorted();
  return { text, looked, last };
}

export const INSIGHT: Topic = {
  name: 'insight',
  needs: ['whole'],
  cases: {
    'tasks are listed by when they were created: from then on, and before': async (scene) => {
      const [t0 = 0, t1 = 0, t2 = 0, t3 = 0] = await threeTimes(scene);
      assert.deepEqual(await numbers(scene, { from: t0 }), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
      assert.deepEqual(await numbers(scene, { from: t1 }), [9, 8, 7, 6, 5, 4]);
      assert.deepEqual(await numbers(scene, { from: t1, until: t2 }), [6, 5, 4]);
      assert.deepEqual(await numbers(scene, { until: t1 }), [3, 2, 1]);
      assert.deepEqual(await numbers(scene, { from: t3 }), []);
      assert.deepEqual(await numbers(scene, { until: t0 }), []);
      assert.deepEqual(await numbers(scene, { from: t2, until: t1 }), []);
      assert.deepEqual(await numbers(scene, { from: t1 + 10 * HOUR }), []);
      assert.deepEqual(await numbers(scene, { from: 0, until: t1 + 10 * HOUR }), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    },

    'tasks of one moment are told apart by it, though it lies close to others': async (scene) => {
      const times: number[] = [];
      for (let i = 0; i < 4; i++) {
        times.push((await scene.store.clock()).calendar);
        await scene.push();
        await scene.pass(1000);
      }
      const [, second = 0, third = 0] = times;
      assert.deepEqual(await numbers(scene, { from: second, until: third }), [2]);
    },

    'an empty store has no task at any time': async (scene) => {
      assert.deepEqual(await numbers(scene, { from: 0 }), []);
      assert.deepEqual(await numbers(scene, { until: HOUR }), []);
      const none = await counted(scene, { from: 0, until: HOUR, stepMs: MINUTE });
      assert.deepEqual(none, { text: [], looked: 0, last: undefined });
      assert.deepEqual(await scene.store.failureList({ limit: 10 }), []);
    },

    'tasks are listed by their handlers, page by page, with all other filters': async (scene) => {
      const [, t1 = 0] = await threeTimes(scene);
      assert.deepEqual(await numbers(scene, { handlers: ['sort'] }), [9, 8, 7]);
      assert.deepEqual(await numbers(scene, { handlers: ['sort', 'send'], limit: 4 }), [9, 8, 7, 6]);
      assert.deepEqual(await numbers(scene, { handlers: ['send'], before: 6, limit: 2 }), [5, 4]);
      assert.deepEqual(
        await numbers(scene, { handlers: ['send'], queue: 'q1', states: ['ready'], from: t1 }),
        [6, 5, 4],
      );
      assert.deepEqual(await numbers(scene, { handlers: ['none', "it's"] }), []);
      assert.deepEqual(await numbers(scene, { handlers: [] }), []);
    },

    'tasks are found by the time of their creation when they have ended, too': async (scene) => {
      const times = await threeTimes(scene);
      for (const grant of await scene.claim({ max: 2, lanes: [await scene.lane('q1', 'send')] })) {
        await scene.settle(grant, 'completed');
      }
      assert.deepEqual(await numbers(scene, { from: times[1] as number, until: times[2] as number }), [6, 5, 4]);
    },

    'tasks are counted by when they were created, and by state': async (scene) => {
      const [from = 0, , , until = 0] = await threeTimes(scene);
      const [grant] = await scene.claim({ lanes: [await scene.lane('q0', 'send')] });
      assert.ok(grant);
      await scene.settle(grant, 'completed');
      await scene.claim({ lanes: [await scene.lane('q1', 'send')] });
      const all = await counted(scene, { from, until, stepMs: 30 * MINUTE });
      assert.deepEqual(all.text, ['0 completed 1', '0 ready 2', '1 ready 2', '1 running 1', '2 ready 3']);
      assert.deepEqual([all.looked, all.last], [9, 1]);
      const wide = await counted(scene, { from, until, stepMs: 2 * HOUR });
      assert.deepEqual(wide.text, ['0 completed 1', '0 ready 7', '0 running 1']);
    },

    'only what fits is counted, and what does not was looked at all the same': async (scene) => {
      const [from = 0, , , until = 0] = await threeTimes(scene);
      const some = { from, until, stepMs: 30 * MINUTE };
      const sort = await counted(scene, { ...some, handlers: ['sort'] });
      assert.deepEqual([sort.text, sort.looked], [['2 ready 3'], 9]);
      const queues = await counted(scene, { ...some, queues: ['q0', 'q2'], states: ['ready', 'running'] });
      assert.deepEqual(queues.text, ['0 ready 3', '2 ready 3']);
      assert.deepEqual((await counted(scene, { ...some, states: ['failed'] })).text, []);
      assert.deepEqual((await counted(scene, { ...some, queues: ["it's"] })).text, []);
    },

    'what was created at another time is not even looked at': async (scene) => {
      const [, from = 0, until = 0] = await threeTimes(scene);
      const middle = await counted(scene, { from, until, stepMs: MINUTE });
      assert.deepEqual(middle, { text: ['0 ready 3'], looked: 3, last: 4 });
    },

    'a count that goes on below the last one counts every task once': async (scene) => {
      const [from = 0, , , until = 0] = await threeTimes(scene);
      await scene.settle(await scene.claimOne({ lanes: [await scene.lane('q1', 'send')] }), 'failed');
      const seen: string[] = [];
      let before: number | undefined;
      for (let page = 0; page < 5; page++) {
        const some = await counted(scene, { from, until, stepMs: 30 * MINUTE, limit: 2, before });
        seen.push(...some.text);
        before = some.last;
        assert.equal(some.looked, page < 4 ? 2 : 1);
      }
      assert.equal(before, 1);
      const sum = seen.reduce((all, text) => all + Number(text.split(' ')[2]), 0);
      assert.deepEqual([sum, seen.filter((text) => text.includes('failed'))], [9, ['1 failed 1']]);
    },

    'failures are listed, the newest first, with queue, handler and reason': async (scene) => {
      const tasks: number[] = [];
      for (const queue of ['a', 'b', 'c']) {
        const grant = await scene.running({ queue, handler: `of-${queue}` });
        tasks.unshift(grant.task);
        await scene.settle(grant, 'failed', { reason: 'gave_up', result: `{"message":"${queue}"}` });
      }
      await scene.settle(await scene.running({ queue: 'd' }), 'completed', { result: '1' });
      await scene.settle(await scene.running({ queue: 'e' }), 'cancelled');
      const failures = await scene.store.failureList({ limit: 10 });
      assert.deepEqual(
        failures.map(({ task, queue, handler, reason, error }) => [task, queue, handler, reason, error]),
        ['c', 'b', 'a'].map((queue, i) => [tasks[i], queue, `of-${queue}`, 'gave_up', `{"message":"${queue}"}`]),
      );
      const record = await scene.get(tasks[0] as number);
      assert.deepEqual([failures[0]?.createdAt, failures[0]?.endedAt], [record.createdAt, record.finishedAt]);
      const next = await scene.store.failureList({ limit: 1, before: tasks[0] as number });
      assert.deepEqual(
        next.map(({ task }) => task),
        [tasks[1]],
      );
    },

    'a failure without an error has none, and a long one is cut off, wherever it lies': async (scene) => {
      await scene.settle(await scene.running({ queue: 'a' }), 'failed', { reason: 'exhausted' });
      const long = JSON.stringify({ message: 'ä'.repeat(100_000) });
      await scene.settle(await scene.running({ queue: 'b' }), 'failed', { reason: 'gave_up', result: long });
      const [second, first] = await scene.store.failureList({ limit: 10 });
      assert.deepEqual([first?.error, first?.reason], [undefined, 'exhausted']);
      assert.equal(second?.error, long.slice(0, 2000));
    },

    'a task that runs again is a failure no longer': async (scene) => {
      const grant = await scene.running();
      await scene.settle(grant, 'failed', { reason: 'gave_up', result: '1' });
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.deepEqual(await scene.store.failureList({ limit: 10 }), []);
    },

    'handlers are known by the queues of their newest tasks, those that have ended too': async (scene) => {
      const { store } = scene;
      assert.deepEqual(await store.handlerQueues({ limit: 10 }), []);
      await store.laneIntern({
        lanes: [
          { queue: 'mail', handler: 'send' },
          { queue: 'mail', handler: 'print' },
          { queue: 'mail', handler: 'print', fairness: { key: 'anna', weight: 1 } },
          { queue: 'post', handler: 'print' },
        ],
      });
      const known = async (limit: number): Promise<readonly string[]> =>
        (await store.handlerQueues({ limit })).map(({ handler, queue }) => `${handler} ${queue}`).sort();
      assert.deepEqual(await known(10), ['print mail', 'print post', 'send mail']);
      assert.equal((await known(1)).length, 1);
    },
  },
};
