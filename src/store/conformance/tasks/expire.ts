import assert from 'node:assert/strict';
import type { NamedTask } from '../../store.ts';
import { DAY, HOUR, MINUTE, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const state = async (scene: Scene, task: number): Promise<readonly unknown[]> => {
  const record = await scene.get(task);
  return [record.state, record.reason];
};

export const EXPIRE: Topic = {
  name: 'waiting too long',
  cases: {
    'a task that waited longer than it may fails, when its time has come and not before': async (scene) => {
      const duty = await scene.duty('stager');
      const task = await scene.push({ waitTimeoutMs: 1000 });
      const { createdAt, expiresAt } = await scene.get(task);
      assert.equal(expiresAt, createdAt + 1000);
      await scene.pass(999);
      const look = await scene.unchanged(() => scene.store.taskExpire({ duty, limit: 10 }));
      assert.deepEqual(look, { expired: 0, nextInMs: 1 });
      await scene.pass(1);
      assert.deepEqual(await scene.store.taskExpire({ duty, limit: 10 }), { expired: 1, nextInMs: undefined });
      const record = await scene.get(task);
      assert.deepEqual(
        [record.state, record.reason, record.finishedAt, record.attempt, record.tries],
        ['failed', 'timeout', createdAt + 1000, 0, 0],
      );
      const stats = await scene.stats();
      assert.deepEqual([stats.ready, stats.failed], [0, 1]);
      const { events } = await scene.look();
      assert.deepEqual([events.at(-1)?.change, events.at(-1)?.state], ['timed_out', 'failed']);
      assert.deepEqual(await scene.claim(), []);
    },

    'the wait of a delayed task counts from its due time, by delay and by calendar': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const now = scene.world.clock.wall();
      const delayed = await scene.push({ delayMs: HOUR, waitTimeoutMs: MINUTE });
      const dated = await scene.push({ runAt: now + HOUR, waitTimeoutMs: MINUTE });
      const past = await scene.push({ runAt: now - HOUR, waitTimeoutMs: MINUTE });
      assert.equal((await scene.get(delayed)).expiresAt, now + HOUR + MINUTE);
      assert.equal((await scene.get(dated)).expiresAt, now + HOUR + MINUTE);
      assert.equal((await scene.get(past)).expiresAt, now + MINUTE);
      await scene.pass(MINUTE);
      assert.deepEqual(await scene.store.taskExpire({ duty, limit: 10 }), { expired: 1, nextInMs: HOUR });
      assert.deepEqual(await state(scene, past), ['failed', 'timeout']);
      await scene.pass(HOUR);
      // They were never staged, and have waited too long all the same.
      assert.equal((await scene.store.taskExpire({ duty, limit: 10 })).expired, 2);
      assert.equal((await scene.get(delayed)).runAt, undefined);
      assert.deepEqual(await state(scene, dated), ['failed', 'timeout']);
      assert.equal((await scene.store.taskStage({ duty, limit: 10 })).staged, 0);
    },

    'a task that is staged and has waited too long in one turn is told in that order': needing(
      ['sharesCommits'],
      async (scene) => {
        const duty = await scene.duty('stager', DAY);
        await scene.push({ delayMs: 10, waitTimeoutMs: 10 });
        await scene.push({ waitTimeoutMs: 10 });
        await scene.pass(20);
        const [staged, late] = await Promise.all([
          scene.store.taskStage({ duty, limit: 10 }),
          scene.store.taskExpire({ duty, limit: 10 }),
        ]);
        assert.deepEqual([staged.staged, late.expired], [1, 2]);
      },
    ),

    'the earliest go first, and no more than asked for': async (scene) => {
      const duty = await scene.duty('stager');
      const second = await scene.push({ waitTimeoutMs: 20 });
      const first = await scene.push({ waitTimeoutMs: 10 });
      const third = await scene.push({ waitTimeoutMs: 30 });
      await scene.pass(25);
      assert.deepEqual(await scene.store.taskExpire({ duty, limit: 1 }), { expired: 1, nextInMs: 0 });
      assert.deepEqual(await state(scene, first), ['failed', 'timeout']);
      assert.deepEqual(await scene.store.taskExpire({ duty, limit: 5 }), { expired: 1, nextInMs: 5 });
      assert.deepEqual(await state(scene, second), ['failed', 'timeout']);
      assert.deepEqual(await state(scene, third), ['ready', 'none']);
    },

    'a task that was claimed has had its start: its wait never ends it again': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const running = await scene.running({ queue: 'running', waitTimeoutMs: 10 }, { ttlMs: DAY });
      const back = await scene.running({ queue: 'back', waitTimeoutMs: 10 });
      assert.equal(back.attempt, 1);
      await scene.giveBack(back, { change: 'released', refund: true });
      const later = await scene.running({ queue: 'later', waitTimeoutMs: 10 });
      await scene.giveBack(later, { delayMs: HOUR });
      assert.equal((await scene.get(running.task)).expiresAt, undefined);
      await scene.pass(HOUR);
      assert.deepEqual(await scene.unchanged(() => scene.store.taskExpire({ duty, limit: 10 })), {
        expired: 0,
        nextInMs: undefined,
      });
      assert.equal(await scene.settle(running, 'completed'), 'done');
    },

    'a task without a limit to its wait waits for ever, also beside those that have one': async (scene) => {
      const duty = await scene.duty('stager', 30 * DAY);
      const item = await scene.draft();
      const items = Array.from({ length: 40 }, (_, i) => (i % 3 === 0 ? { ...item, waitTimeoutMs: 5 + i } : item));
      const answers = await scene.store.taskPush({ items });
      await scene.pass(20 * DAY);
      assert.equal((await scene.store.taskExpire({ duty, limit: 100 })).expired, 14);
      for (const [i, answer] of answers.entries()) {
        assert.ok(answer.ok);
        assert.deepEqual(await state(scene, answer.task), i % 3 === 0 ? ['failed', 'timeout'] : ['ready', 'none']);
      }
    },

    'a cancelled task does not time out': async (scene) => {
      const duty = await scene.duty('stager');
      const task = await scene.push({ waitTimeoutMs: 10 });
      await scene.store.taskCancel({ tasks: [task] });
      await scene.pass(20);
      assert.equal((await scene.unchanged(() => scene.store.taskExpire({ duty, limit: 10 }))).expired, 0);
    },

    'a task that timed out can be run again, and then waits for ever': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const timedOut = await scene.push({ waitTimeoutMs: 10 });
      const cancelled = await scene.push({ waitTimeoutMs: 10 });
      await scene.store.taskCancel({ tasks: [cancelled] });
      await scene.pass(10);
      assert.equal((await scene.store.taskExpire({ duty, limit: 10 })).expired, 1);
      await scene.store.taskRevive({ tasks: [timedOut, cancelled] });
      assert.equal((await scene.get(timedOut)).expiresAt, undefined);
      await scene.pass(HOUR);
      assert.equal((await scene.store.taskExpire({ duty, limit: 10 })).expired, 0);
      assert.deepEqual(
        (await scene.claim({ max: 5 })).map(({ task, attempt }) => [task, attempt]),
        [
          [timedOut, 1],
          [cancelled, 1],
        ],
      );
    },

    'the push that is repeated by its operation id or its unique key does not move the limit': async (scene) => {
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const task = await scene.push({ waitTimeoutMs: 1000, unique, op: 'op-1' });
      const before = (await scene.get(task)).expiresAt;
      await scene.pass(500);
      await scene.pushAnswer({ waitTimeoutMs: 1000, unique, op: 'op-1' });
      await scene.pushAnswer({ waitTimeoutMs: 1000, unique });
      assert.equal((await scene.get(task)).expiresAt, before);
    },

    "what is pushed in the caller's own transaction times out as well": needing(
      ['callerTransactions', 'caller'],
      async (scene) => {
        const task: NamedTask = {
          queue: 'mail',
          handler: 'send',
          specBody: '{}',
          priority: 0,
          maxTries: 3,
          payload: '1',
          waitTimeoutMs: 10,
        };
        const { tx, begin, commit } = await scene.caller();
        await begin();
        const [answer] = await scene.store.taskPushIn({ tx, items: [task] });
        await commit();
        assert.ok(answer?.ok);
        await scene.pass(10);
        assert.equal((await scene.store.taskExpire({ duty: await scene.duty(), limit: 10 })).expired, 1);
        assert.deepEqual(await state(scene, answer.task), ['failed', 'timeout']);
      },
    ),
  },
};
