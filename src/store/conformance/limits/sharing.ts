import assert from 'node:assert/strict';
import { DAY, HOUR, TTL } from '../kit/scene.ts';
import { lookAt } from '../kit/snapshot.ts';
import { type Case, needing, type Run, type Topic } from '../kit/topic.ts';

const two = (run: Run): Case => needing(['shared', 'reopen'], run);

/** Two handles on the same data stand for two processes. */
export const SHARING: Topic = {
  name: 'several processes',
  cases: {
    'what one process writes another one reads, and both say the same': two(async (scene) => {
      const other = await scene.reopen();
      const grant = await scene.running();
      await scene.settle(grant, 'completed', { result: '1' });
      assert.deepEqual(await lookAt(other), await scene.look());
      assert.equal(other.clusterKey, scene.store.clusterKey);
    }),

    'lanes and specs have the same numbers everywhere': two(async (scene) => {
      const other = await scene.reopen();
      const lane = { queue: 'mail', handler: 'send' };
      assert.deepEqual(await other.laneIntern({ lanes: [lane] }), await scene.store.laneIntern({ lanes: [lane] }));
      assert.deepEqual(await other.specIntern({ specs: ['{"a":1}'] }), [await scene.spec('{"a":1}')]);
    }),

    'no task is granted twice': two(async (scene) => {
      const other = await scene.reopen();
      const tasks = await scene.pushMany(60);
      const lane = await scene.lane();
      const holder = await scene.worker();
      const claims = [{ holder, ttlMs: TTL, max: 3, lanes: [{ lane, max: 3 }] }];
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, n) => (n % 2 === 0 ? scene.store : other).taskClaim({ claims })),
      );
      const got = answers.flatMap(([answer]) => (answer?.grants ?? []).map(({ task }) => task));
      assert.deepEqual(
        got.toSorted((a, b) => a - b),
        tasks,
      );
    }),

    'a unique key makes one task, whoever pushes it': two(async (scene) => {
      const other = await scene.reopen();
      const item = await scene.draft({ unique: { key: 'k', hash: 1, windowMs: HOUR } });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? scene.store : other).taskPush({ items: [item] })),
      );
      assert.equal(new Set(answers.map(([answer]) => answer?.ok && answer.task)).size, 1);
    }),

    'an attempt whose lease another process reaped is refused': two(async (scene) => {
      const other = await scene.reopen();
      const grant = await scene.running();
      await scene.pass(TTL + 1);
      const duty = await other.dutyTake({ name: 'reaper', holder: 'other', ttlMs: DAY });
      assert.ok(duty);
      const { leases } = await other.leaseOverdue({ limit: 1 });
      const items = leases.map(
        ({ task, attempt }) => ({ task, attempt, to: 'again', reason: 'none', delayMs: 0 }) as const,
      );
      assert.equal((await other.leaseReap({ duty, items })).reaped, 1);
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'lost');
    }),

    'a lease means the same time to both': two(async (scene) => {
      const other = await scene.reopen();
      await scene.running();
      await scene.pass(TTL);
      assert.deepEqual((await other.leaseOverdue({ limit: 1 })).leases, []);
      await scene.pass(1);
      assert.equal((await other.leaseOverdue({ limit: 1 })).leases.length, 1);
    }),

    'a duty has one holder among all processes': two(async (scene) => {
      const other = await scene.reopen();
      const duty = await scene.duty('stager', TTL);
      assert.equal(await other.dutyTake({ name: 'stager', holder: 'other', ttlMs: TTL }), undefined);
      await scene.store.dutyRelease({ duty });
      assert.ok(await other.dutyTake({ name: 'stager', holder: 'other', ttlMs: TTL }));
    }),

    'event numbers have no gap when several write at the same time': two(async (scene) => {
      const other = await scene.reopen();
      const item = await scene.draft();
      await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          (n % 2 === 0 ? scene.store : other).taskPush({ items: [item, item, item].slice(n % 3) }),
        ),
      );
    }),

    'everything that was acknowledged is there after all have closed and opened again': needing(
      ['reopen', 'durable'],
      async (scene) => {
        const grant = await scene.running({ payload: JSON.stringify('x'.repeat(5000)) });
        await scene.settle(grant, 'completed', { result: JSON.stringify('y'.repeat(5000)) });
        await scene.pushMany(5);
        await scene.push({ delayMs: HOUR, unique: { key: 'k', hash: 1, windowMs: HOUR } });
        await scene.claim({ max: 2 });
        const duty = await scene.duty();
        const before = await scene.look();
        await scene.store.close();
        scene.closed = true;
        const again = await scene.reopen();
        assert.deepEqual(await lookAt(again), before);
        assert.equal(await again.dutyRenew({ duty, ttlMs: HOUR }), true);
      },
    ),
  },
};
