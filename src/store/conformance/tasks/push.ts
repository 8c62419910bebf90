import assert from 'node:assert/strict';
import { PRIORITY_MAX, PRIORITY_MIN } from '../../../core/task/task.ts';
import { DAY } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const PUSH: Topic = {
  name: 'push',
  cases: {
    'a pushed task is ready, has had no attempt, and stands in the feed and in the counters': async (scene) => {
      const item = await scene.draft({
        queue: 'mail',
        handler: 'send',
        priority: 7,
        maxTries: 5,
        payload: '{"to":"a"}',
      });
      const answer = await scene.pushAnswer(item);
      assert.ok(answer.ok);
      assert.deepEqual(answer, {
        ok: true,
        task: answer.task,
        createdAt: answer.createdAt,
        state: 'ready',
        fresh: true,
      });
      assert.deepEqual(await scene.get(answer.task), {
        task: answer.task,
        lane: item.lane,
        spec: item.spec,
        queue: 'mail',
        handler: 'send',
        state: 'ready',
        reason: 'none',
        priority: 7,
        attempt: 0,
        tries: 0,
        maxTries: 5,
        bounces: 0,
        holder: undefined,
        createdAt: answer.createdAt,
        startedAt: undefined,
        finishedAt: undefined,
        runAt: undefined,
        readySince: answer.createdAt,
        expiresAt: undefined,
        leaseUntil: undefined,
        cancelRequestedAt: undefined,
        payload: '{"to":"a"}',
        result: undefined,
        unique: undefined,
        parent: undefined,
        root: undefined,
      });
      const { events } = await scene.eventPage({ after: 0, limit: 10 });
      assert.deepEqual(events, [
        {
          seq: 1,
          at: answer.createdAt,
          queue: 'mail',
          change: 'created',
          state: 'ready',
          task: answer.task,
          attempt: 0,
          createdAt: answer.createdAt,
        },
      ]);
      assert.equal((await scene.stats()).ready, 1);
    },

    'the answers come in the order of the items, and later tasks have higher numbers': async (scene) => {
      const lane = await scene.lane();
      const spec = await scene.spec();
      const items = Array.from({ length: 50 }, (_, n) => ({ lane, spec, priority: 0, maxTries: 1, payload: `${n}` }));
      const answers = await scene.store.taskPush({ items });
      const tasks = answers.map((answer) => (answer.ok ? answer.task : -1));
      assert.deepEqual(
        tasks,
        tasks.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(tasks).size, 50);
      for (const [n, record] of (await scene.store.taskGet({ tasks })).entries()) assert.equal(record?.payload, `${n}`);
    },

    'pushes that are made at the same time are all there, each once': async (scene) => {
      const item = await scene.draft();
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, n) => scene.store.taskPush({ items: [{ ...item, payload: `${n}` }] })),
      );
      const tasks = answers.map(([answer]) => (answer?.ok ? answer.task : -1));
      const records = await scene.store.taskGet({ tasks });
      assert.deepEqual(
        records.map((record) => record?.payload),
        Array.from({ length: 40 }, (_, n) => `${n}`),
      );
      assert.equal((await scene.stats()).ready, 40);
    },

    'a push of nothing does nothing': async (scene) => {
      await scene.lane();
      assert.deepEqual(await scene.unchanged(() => scene.store.taskPush({ items: [] })), []);
    },

    "a task with a delay is scheduled, due that long after the store's own now": async (scene) => {
      const answer = await scene.pushAnswer({ delayMs: 1500 });
      assert.ok(answer.ok);
      assert.equal(answer.state, 'scheduled');
      const record = await scene.get(answer.task);
      assert.equal(record.state, 'scheduled');
      assert.equal(record.runAt, answer.createdAt + 1500);
      assert.equal((await scene.stats()).scheduled, 1);
    },

    'a task with a time is scheduled until then': async (scene) => {
      const runAt = scene.world.clock.wall() + 90_000;
      const answer = await scene.pushAnswer({ runAt });
      assert.ok(answer.ok && answer.state === 'scheduled');
      assert.equal((await scene.get(answer.task)).runAt, runAt);
    },

    'a time that has passed, a time that is now and a delay of nothing are ready at once': async (scene) => {
      const now = scene.world.clock.wall();
      for (const wish of [{ runAt: now - DAY }, { runAt: 0 }, { runAt: now }, { delayMs: 0 }]) {
        const answer = await scene.pushAnswer(wish);
        assert.ok(answer.ok && answer.state === 'ready', JSON.stringify(wish));
        assert.equal((await scene.get(answer.task)).runAt, undefined);
      }
      assert.deepEqual(await scene.stats(), { ...(await scene.stats()), ready: 4, scheduled: 0 });
    },

    'a delay beyond 24.8 days, where 32-bit timers end, is kept to the millisecond': async (scene) => {
      const answer = await scene.pushAnswer({ delayMs: 60 * DAY + 1 });
      assert.ok(answer.ok && answer.state === 'scheduled');
      assert.equal((await scene.get(answer.task)).runAt, answer.createdAt + 60 * DAY + 1);
    },

    'the highest and the lowest priority and a great many tries are kept': async (scene) => {
      for (const priority of [PRIORITY_MIN, -1, 0, 1, PRIORITY_MAX]) {
        const record = await scene.get(await scene.push({ priority, maxTries: 32_767 }));
        assert.ok(Object.is(record.priority, priority), `${record.priority}`);
        assert.equal(record.maxTries, 32_767);
      }
    },

    'a number that no task has is undefined, in its place among others': async (scene) => {
      const task = await scene.push();
      const [before, found, after] = await scene.store.taskGet({ tasks: [task + 1000, task, 0] });
      assert.equal(before, undefined);
      assert.equal(found?.task, task);
      assert.equal(after, undefined);
    },
  },
};
