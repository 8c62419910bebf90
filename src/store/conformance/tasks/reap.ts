import assert from 'node:assert/strict';
import { HOUR, MINUTE, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const AGAIN = { to: 'again', reason: 'none', delayMs: 0 } as const;

export const REAP: Topic = {
  name: 'reap',
  cases: {
    'nothing is overdue while nothing runs, and nothing is expected': async (scene) => {
      assert.deepEqual(await scene.overdue(10), { leases: [], nextInMs: undefined });
    },

    'a lease is overdue when its time has passed, and not before': async (scene) => {
      const grant = await scene.running({ maxTries: 5 });
      assert.deepEqual(await scene.overdue(10), { leases: [], nextInMs: TTL });
      await scene.pass(TTL);
      assert.deepEqual(await scene.overdue(10), { leases: [], nextInMs: 0 });
      await scene.pass(1);
      assert.deepEqual(await scene.overdue(10), {
        leases: [{ task: grant.task, attempt: 1, spec: grant.spec, tries: 1, maxTries: 5, cancelRequested: false }],
        nextInMs: undefined,
      });
    },

    'the look says when the next lease will be overdue, and takes no more than was asked for': async (scene) => {
      await scene.pushMany(6);
      await scene.claim({ max: 4, ttlMs: MINUTE });
      await scene.claim({ max: 1, ttlMs: HOUR });
      await scene.claim({ max: 1, ttlMs: 2 * MINUTE });
      await scene.pass(MINUTE + 1);
      const look = await scene.store.leaseOverdue({ limit: 3 });
      assert.equal(look.leases.length, 3);
      assert.equal(look.nextInMs, MINUTE - 1);
      assert.equal((await scene.store.leaseOverdue({ limit: 100 })).leases.length, 4);
    },

    'looking takes nothing over': async (scene) => {
      const grant = await scene.running();
      await scene.pass(TTL + 1);
      await scene.unchanged(() => scene.store.leaseOverdue({ limit: 10 }));
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'a reaped task is ready again at once, keeps its try counted and says in which lane it is': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      const answer = await scene.store.leaseReap({ duty, items: [{ task: grant.task, attempt: 1, ...AGAIN }] });
      assert.deepEqual(answer, { reaped: 1, lanes: [grant.lane] });
      const record = await scene.get(grant.task);
      assert.deepEqual(
        [record.state, record.attempt, record.tries, record.holder, record.leaseUntil],
        ['ready', 1, 1, undefined, undefined],
      );
      const again = await scene.claimOne();
      assert.deepEqual([again.attempt, again.tries], [2, 2]);
    },

    'a reaped task that shall wait is scheduled': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      const answer = await scene.store.leaseReap({
        duty,
        items: [{ task: grant.task, attempt: 1, ...AGAIN, delayMs: 800 }],
      });
      assert.deepEqual(answer, { reaped: 1, lanes: [] });
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.runAt], ['scheduled', grant.createdAt + TTL + 1 + 800]);
    },

    'a reaped task whose tries are used up fails as exhausted': async (scene) => {
      const grant = await scene.running({ maxTries: 1 });
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty, 'failed'), 1);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.reason, record.tries], ['failed', 'exhausted', 1]);
      assert.equal(record.finishedAt, grant.createdAt + TTL + 1);
    },

    'a reaped task that was asked to stop is cancelled': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      await scene.pass(TTL + 1);
      const { leases } = await scene.store.leaseOverdue({ limit: 1 });
      assert.equal(leases[0]?.cancelRequested, true);
      assert.equal(await scene.reap(await scene.duty(), 'cancelled'), 1);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.reason], ['cancelled', 'requested']);
    },

    'a cancel request that comes between the look and the reap is not lost: the task ends as cancelled': async (
      scene,
    ) => {
      const duty = await scene.duty();
      for (const item of [
        AGAIN,
        { ...AGAIN, delayMs: 500 },
        { to: 'failed', reason: 'exhausted', delayMs: 0 } as const,
      ]) {
        const grant = await scene.running({ queue: `${item.to}-${item.delayMs}` });
        await scene.pass(TTL + 1);
        await scene.store.taskCancel({ tasks: [grant.task] });
        const answer = await scene.store.leaseReap({ duty, items: [{ task: grant.task, attempt: 1, ...item }] });
        assert.deepEqual(answer, { reaped: 1, lanes: [] });
        const record = await scene.get(grant.task);
        assert.deepEqual([record.state, record.reason], ['cancelled', 'requested']);
      }
    },

    'a reaped attempt is kept as expired, with its holder and its times': async (scene) => {
      const duty = await scene.duty();
      for (const to of ['again', 'failed', 'cancelled'] as const) {
        const grant = await scene.running({ queue: to });
        const holder = await scene.worker();
        if (to === 'cancelled') await scene.store.taskCancel({ tasks: [grant.task] });
        await scene.pass(TTL + 5);
        assert.equal(await scene.reap(duty, to), 1);
        assert.deepEqual(await scene.store.attemptList({ task: grant.task }), [
          {
            attempt: 1,
            holder,
            startedAt: grant.createdAt,
            endedAt: grant.createdAt + TTL + 5,
            outcome: 'expired',
            error: undefined,
          },
        ]);
      }
    },

    'a lease that was renewed after the look is not reaped': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      const lease = { task: grant.task, attempt: 1 };
      await scene.store.leaseRenew({ items: [{ ...lease, ttlMs: TTL }] });
      const answer = await scene.unchanged(() => scene.store.leaseReap({ duty, items: [{ ...lease, ...AGAIN }] }));
      assert.deepEqual(answer, { reaped: 0, lanes: [] });
    },

    'a lease that has not run out is not reaped, whoever asks': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty();
      await scene.pass(TTL);
      const items = [{ task: grant.task, attempt: 1, ...AGAIN }];
      assert.equal((await scene.unchanged(() => scene.store.leaseReap({ duty, items }))).reaped, 0);
    },

    'a lease that is reaped twice is reaped once': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      const item = { task: grant.task, attempt: 1, ...AGAIN };
      assert.equal((await scene.store.leaseReap({ duty, items: [item, item] })).reaped, 1);
      assert.equal((await scene.unchanged(() => scene.store.leaseReap({ duty, items: [item] }))).reaped, 0);
    },

    'a task that kills its worker each time has exactly as many attempts as it has tries': async (scene) => {
      const duty = await scene.duty();
      const task = await scene.push({ maxTries: 3 });
      let claims = 0;
      for (; claims < 10; claims++) {
        const [grant] = await scene.claim();
        if (grant === undefined) break;
        await scene.pass(TTL + 1);
        await scene.reap(duty, grant.tries >= grant.maxTries ? 'failed' : 'again');
      }
      assert.equal(claims, 3);
      const record = await scene.get(task);
      assert.deepEqual([record.state, record.reason, record.attempt], ['failed', 'exhausted', 3]);
    },

    'lanes of reaped tasks are named once each': async (scene) => {
      const duty = await scene.duty();
      const a = await scene.draft({ queue: 'a' });
      const b = await scene.draft({ queue: 'b' });
      await scene.pushMany(3, a);
      await scene.pushMany(3, b);
      const grants = await scene.claim({ max: 6, lanes: [a.lane, b.lane] });
      await scene.pass(TTL + 1);
      const items = grants.map(({ task, attempt }) => ({ task, attempt, ...AGAIN }));
      const answer = await scene.store.leaseReap({ duty, items });
      assert.equal(answer.reaped, 6);
      assert.deepEqual(
        answer.lanes.toSorted((x, y) => x - y),
        [a.lane, b.lane].sort((x, y) => x - y),
      );
    },
  },
};
