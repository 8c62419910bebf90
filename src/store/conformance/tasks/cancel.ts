import assert from 'node:assert/strict';
import { HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const CANCEL: Topic = {
  name: 'cancel',
  cases: {
    'a task that does not run is cancelled at once': async (scene) => {
      const ready = await scene.push();
      const scheduled = await scene.push({ delayMs: HOUR });
      await scene.pass(10);
      assert.deepEqual(await scene.store.taskCancel({ tasks: [ready, scheduled] }), ['cancelled', 'cancelled']);
      for (const task of [ready, scheduled]) {
        const record = await scene.get(task);
        assert.deepEqual([record.state, record.reason, record.runAt], ['cancelled', 'requested', undefined]);
        assert.equal(record.finishedAt, record.createdAt + 10);
      }
      assert.deepEqual(await scene.claim({ max: 5 }), []);
      const stats = await scene.stats();
      assert.deepEqual([stats.ready, stats.scheduled, stats.cancelled], [0, 0, 2]);
    },

    'a task that runs goes on until its worker hears of the request': async (scene) => {
      const grant = await scene.running();
      await scene.pass(3);
      assert.deepEqual(await scene.store.taskCancel({ tasks: [grant.task] }), ['requested']);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.leaseUntil], ['running', grant.leaseUntil]);
      assert.equal(record.cancelRequestedAt, grant.createdAt + 3);
      const { events } = await scene.eventPage({ after: 2, limit: 10 });
      assert.deepEqual(
        events.map(({ change, state, attempt }) => ({ change, state, attempt })),
        [{ change: 'cancel_requested', state: 'running', attempt: 1 }],
      );
    },

    'a second request changes nothing': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      await scene.pass(50);
      assert.deepEqual(await scene.unchanged(() => scene.store.taskCancel({ tasks: [grant.task, grant.task] })), [
        'requested',
        'requested',
      ]);
    },

    'a finished task stays as it is': async (scene) => {
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const grant = await scene.running({ queue: to });
        await scene.settle(grant, to);
        assert.deepEqual(await scene.unchanged(() => scene.store.taskCancel({ tasks: [grant.task] })), ['finished']);
      }
    },

    'a number that no task has is unknown, and its neighbours are cancelled': async (scene) => {
      const task = await scene.push();
      assert.deepEqual(await scene.store.taskCancel({ tasks: [4711, task, task] }), [
        'unknown',
        'cancelled',
        'finished',
      ]);
    },

    'after a task was cancelled it cannot be completed any more': async (scene) => {
      const grant = await scene.running();
      await scene.giveBack(grant);
      assert.deepEqual(await scene.store.taskCancel({ tasks: [grant.task] }), ['cancelled']);
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'lost');
      const [renewal] = await scene.unchanged(() =>
        scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] }),
      );
      assert.deepEqual(renewal, { held: false });
    },

    'a cancel and a completion at the same time have one winner, and both know which': async (scene) => {
      for (let n = 0; n < 4; n++) {
        const grant = await scene.running({ queue: `q${n}` });
        const both = [
          () => scene.store.taskCancel({ tasks: [grant.task] }).then(([answer]) => answer),
          () => scene.settle(grant, 'completed'),
        ];
        if (n % 2 === 1) both.reverse();
        const answers = await Promise.all(both.map((act) => act()));
        assert.equal((await scene.get(grant.task)).state, 'completed');
        assert.ok(answers.includes('done'));
        assert.ok(answers.includes('requested') || answers.includes('finished'), JSON.stringify(answers));
      }
    },

    'a holder can look up which of its running tasks were asked to stop, and nothing else is among them': async (
      scene,
    ) => {
      const mine = await scene.worker();
      const other = await scene.newWorker();
      assert.deepEqual(await scene.store.leaseCancels({ holder: mine }), []);
      const asked = await scene.running({ queue: 'asked' });
      await scene.running({ queue: 'not-asked' });
      const others = await scene.running({ queue: 'others' }, { holder: other });
      const ended = await scene.running({ queue: 'ended' });
      const waiting = await scene.push({ queue: 'waiting' });
      const tasks = [asked.task, others.task, ended.task, waiting];
      await scene.store.taskCancel({ tasks });
      await scene.settle(ended, 'completed');
      const look = (holder: number): Promise<unknown> => scene.unchanged(() => scene.store.leaseCancels({ holder }));
      assert.deepEqual(await look(mine), [{ task: asked.task, attempt: 1 }]);
      assert.deepEqual(await look(other), [{ task: others.task, attempt: 1 }]);
      assert.deepEqual(await look(4711), []);
      assert.equal(await scene.settle(asked, 'cancelled', { reason: 'requested' }), 'done');
      assert.deepEqual(await look(mine), []);
    },
  },
};
