import assert from 'node:assert/strict';
import { HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const RENEW: Topic = {
  name: 'renew',
  cases: {
    'a renewal makes the lease run from now on, and writes nothing else': async (scene) => {
      const grant = await scene.running();
      await scene.pass(12_000);
      const before = await scene.look();
      const [answer] = await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] });
      assert.deepEqual(answer, { held: true, leaseUntil: grant.leaseUntil + 12_000, cancelRequested: false });
      const after = await scene.look();
      assert.deepEqual(after, {
        ...before,
        tasks: before.tasks.map((task) => ({ ...task, leaseUntil: grant.leaseUntil + 12_000 })),
      });
      assert.equal((await scene.store.leaseOverdue({ limit: 1 })).nextInMs, TTL);
    },

    'a renewal may shorten the lease': async (scene) => {
      const grant = await scene.running({}, { ttlMs: HOUR });
      await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: 50 }] });
      assert.equal((await scene.store.leaseOverdue({ limit: 1 })).nextInMs, 50);
    },

    'a lease that has run out and was not reaped is renewed: only the reap ends it': async (scene) => {
      const grant = await scene.running();
      await scene.pass(10 * TTL);
      const [answer] = await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] });
      assert.equal(answer?.held, true);
      assert.deepEqual((await scene.store.leaseOverdue({ limit: 10 })).leases, []);
    },

    'the renewal after a cancel request tells the worker of it, each time': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      for (let n = 0; n < 2; n++) {
        const [answer] = await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] });
        assert.ok(answer?.held && answer.cancelRequested);
      }
    },

    'many leases are renewed in one call, each with its own answer': async (scene) => {
      const tasks = await scene.pushMany(3);
      await scene.claim({ max: 2 });
      const answers = await scene.store.leaseRenew({
        items: [
          { task: tasks[0] as number, attempt: 1, ttlMs: HOUR },
          { task: tasks[1] as number, attempt: 2, ttlMs: HOUR },
          { task: tasks[2] as number, attempt: 0, ttlMs: HOUR },
          { task: 4711, attempt: 1, ttlMs: HOUR },
          { task: tasks[1] as number, attempt: 1, ttlMs: 2 * HOUR },
        ],
      });
      assert.deepEqual(
        answers.map(({ held }) => held),
        [true, false, false, false, true],
      );
      assert.equal((await scene.store.leaseOverdue({ limit: 1 })).nextInMs, HOUR);
    },

    'setting the wall clock moves no lease': async (scene) => {
      const grant = await scene.running();
      scene.world.jump(365 * 24 * HOUR);
      assert.deepEqual(await scene.overdue(1), { leases: [], nextInMs: TTL });
      scene.world.jump(-2 * 365 * 24 * HOUR);
      assert.deepEqual(await scene.overdue(1), { leases: [], nextInMs: TTL });
      const [answer] = await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: TTL }] });
      assert.deepEqual(answer, { held: true, leaseUntil: grant.leaseUntil, cancelRequested: false });
    },

    'the clock of the store is the one that leases are told by': async (scene) => {
      const { lease, calendar } = await scene.store.clock();
      const { leaseUntil, createdAt } = await scene.running();
      assert.equal(leaseUntil, lease + TTL);
      assert.equal(createdAt, calendar);
      await scene.pass(1234);
      assert.deepEqual(await scene.store.clock(), { lease: lease + 1234, calendar: calendar + 1234 });
    },
  },
};
