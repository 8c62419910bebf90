import assert from 'node:assert/strict';
import { DAY, HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const RETURN: Topic = {
  name: 'return',
  cases: {
    'a retry with a delay is scheduled, holds no lease and keeps its try counted': async (scene) => {
      const grant = await scene.running();
      await scene.pass(100);
      assert.equal(await scene.giveBack(grant, { change: 'retried', delayMs: 5000, error: '{"m":1}' }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual(
        { ...record },
        {
          ...record,
          state: 'scheduled',
          attempt: 1,
          tries: 1,
          runAt: grant.createdAt + 100 + 5000,
          holder: undefined,
          leaseUntil: undefined,
          finishedAt: undefined,
        },
      );
      const stats = await scene.stats();
      assert.deepEqual([stats.running, stats.scheduled], [0, 1]);
    },

    'a retry without a delay is ready at once': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.giveBack(grant), 'done');
      assert.equal((await scene.get(grant.task)).state, 'ready');
      assert.equal((await scene.claimOne()).task, grant.task);
    },

    'a release gives the try back and never the attempt': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.giveBack(grant, { change: 'released', refund: true }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.attempt, record.tries], ['ready', 1, 0]);
      const again = await scene.claimOne();
      assert.deepEqual([again.attempt, again.tries], [2, 1]);
    },

    'to come back later gives the try back too': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.giveBack(grant, { change: 'retried', refund: true, delayMs: 60 * DAY }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.tries], ['scheduled', 0]);
      assert.equal(record.runAt, grant.createdAt + 60 * DAY);
    },

    'only the try of this attempt comes back': async (scene) => {
      const first = await scene.running();
      await scene.giveBack(first);
      const second = await scene.claimOne();
      assert.equal(second.tries, 2);
      await scene.giveBack(second, { change: 'released', refund: true });
      assert.equal((await scene.get(first.task)).tries, 1);
    },

    'claims that bounced in a row are counted, and a task that started begins at none again': async (scene) => {
      await scene.push();
      for (let n = 0; n < 3; n++) {
        const grant = await scene.claimOne();
        assert.equal(grant.bounces, n);
        await scene.giveBack(grant, { change: 'released', refund: true, bounced: true });
      }
      const started = await scene.claimOne();
      assert.equal(started.bounces, 3);
      await scene.giveBack(started, { change: 'retried' });
      assert.equal((await scene.claimOne()).bounces, 0);
    },

    'each attempt that did not end its task is kept with its holder, its times, its outcome and its error': async (
      scene,
    ) => {
      const one = await scene.worker();
      const two = await scene.newWorker();
      const first = await scene.running();
      const born = first.createdAt;
      await scene.pass(10);
      await scene.giveBack(first, { change: 'retried', error: '{"message":"no"}' });
      await scene.pass(10);
      const second = await scene.claimOne({ holder: two });
      await scene.pass(10);
      await scene.giveBack(second, { change: 'released', refund: true });
      assert.deepEqual(await scene.store.attemptList({ task: first.task }), [
        { attempt: 1, holder: one, startedAt: born, endedAt: born + 10, outcome: 'retried', error: '{"message":"no"}' },
        { attempt: 2, holder: two, startedAt: born + 20, endedAt: born + 30, outcome: 'released', error: undefined },
      ]);
    },

    'an attempt that ended its task is the record of the task itself': async (scene) => {
      const grant = await scene.running();
      await scene.settle(grant, 'completed');
      assert.deepEqual(await scene.store.attemptList({ task: grant.task }), []);
    },

    'a task that is given back after a cancel request ends as cancelled': async (scene) => {
      for (const change of ['retried', 'released'] as const) {
        const grant = await scene.running({ queue: change });
        await scene.store.taskCancel({ tasks: [grant.task] });
        await scene.pass(5);
        assert.equal(
          await scene.giveBack(grant, { change, refund: change === 'released', delayMs: HOUR }),
          'cancelled',
        );
        const record = await scene.get(grant.task);
        assert.deepEqual([record.state, record.reason, record.tries], ['cancelled', 'requested', 1]);
        assert.equal(record.result, undefined);
        assert.equal(record.finishedAt, grant.createdAt + 5);
      }
    },

    'what went wrong before a task ended as cancelled is kept with it, however long, and with its attempt': async (
      scene,
    ) => {
      for (const error of ['{"message":"no"}', JSON.stringify({ message: 'n'.repeat(5000) })]) {
        const grant = await scene.running();
        await scene.store.taskCancel({ tasks: [grant.task] });
        assert.equal(await scene.giveBack(grant, { error }), 'cancelled');
        assert.ok((await scene.get(grant.task)).result === error);
        await scene.store.taskRevive({ tasks: [grant.task] });
        assert.equal((await scene.get(grant.task)).result, undefined);
        const [attempt] = await scene.store.attemptList({ task: grant.task });
        assert.ok(attempt?.outcome === 'cancelled' && attempt.error === error);
        await scene.settle(await scene.claimOne(), 'completed');
      }
    },

    'a give-back that ended as cancelled answers the same when it is repeated': async (scene) => {
      for (const change of ['retried', 'released'] as const) {
        const grant = await scene.running({ queue: change });
        await scene.store.taskCancel({ tasks: [grant.task] });
        assert.equal(await scene.giveBack(grant, { change }), 'cancelled');
        assert.equal(await scene.unchanged(() => scene.giveBack(grant, { change })), 'cancelled');
        await scene.store.taskRevive({ tasks: [grant.task] });
        assert.equal(await scene.unchanged(() => scene.giveBack(grant, { change })), 'cancelled');
      }
    },

    'the same give-back of the same attempt twice is known as a repeat and changes nothing': async (scene) => {
      for (const change of ['retried', 'released'] as const) {
        const grant = await scene.running({ queue: change });
        const back = { change, delayMs: 1000, refund: change === 'released' };
        assert.equal(await scene.giveBack(grant, back), 'done');
        assert.equal(await scene.unchanged(() => scene.giveBack(grant, back)), 'repeated');
        const other = change === 'retried' ? 'released' : 'retried';
        assert.equal(await scene.unchanged(() => scene.giveBack(grant, { change: other })), 'lost');
      }
    },

    'a repeat is known while a newer attempt runs, and after the task has ended': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.giveBack(grant), 'done');
      const newer = await scene.claimOne();
      assert.equal(await scene.unchanged(() => scene.giveBack(grant)), 'repeated');
      await scene.settle(newer, 'completed');
      assert.equal(await scene.unchanged(() => scene.giveBack(grant)), 'repeated');
    },

    'a give-back after the reap is refused': async (scene) => {
      const grant = await scene.running();
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(await scene.duty()), 1);
      assert.equal(await scene.unchanged(() => scene.giveBack(grant)), 'lost');
      assert.equal(await scene.unchanged(() => scene.giveBack(grant, { change: 'released' })), 'lost');
    },

    'many tasks are given back in one call, each with its own answer': async (scene) => {
      const tasks = await scene.pushMany(3);
      await scene.claim({ max: 3 });
      const back = { change: 'retried', delayMs: 0, refund: false, bounced: false } as const;
      const answers = await scene.store.taskReturn({
        items: [
          { ...back, task: tasks[0] as number, attempt: 1 },
          { ...back, task: tasks[1] as number, attempt: 7 },
          { ...back, task: 4711, attempt: 1 },
          { ...back, task: tasks[2] as number, attempt: 1, change: 'released', refund: true, delayMs: 9 },
          { ...back, task: tasks[0] as number, attempt: 1 },
        ],
      });
      assert.deepEqual(answers, ['done', 'lost', 'lost', 'done', 'repeated']);
    },
  },
};
