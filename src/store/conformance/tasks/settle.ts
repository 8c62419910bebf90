import assert from 'node:assert/strict';
import { HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const SETTLE: Topic = {
  name: 'settle',
  cases: {
    'a completed task keeps its result, the time of its end and who ran it': async (scene) => {
      const grant = await scene.running();
      await scene.pass(700);
      assert.equal(await scene.settle(grant, 'completed', { result: '{"ok":true}' }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual(
        { ...record },
        {
          ...record,
          state: 'completed',
          reason: 'none',
          attempt: 1,
          tries: 1,
          holder: await scene.worker(),
          startedAt: grant.createdAt,
          finishedAt: grant.createdAt + 700,
          leaseUntil: undefined,
          result: '{"ok":true}',
        },
      );
      const stats = await scene.stats();
      assert.deepEqual([stats.running, stats.completed], [0, 1]);
    },

    'a task that fails for good keeps its reason and its error': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.settle(grant, 'failed', { reason: 'gave_up', result: '{"message":"no"}' }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.reason, record.result], ['failed', 'gave_up', '{"message":"no"}']);
    },

    'each reason of a failure is kept': async (scene) => {
      for (const reason of ['exhausted', 'undeliverable', 'gave_up', 'timeout', 'dependency'] as const) {
        const grant = await scene.running({ queue: reason });
        assert.equal(await scene.settle(grant, 'failed', { reason }), 'done');
        assert.equal((await scene.get(grant.task)).reason, reason);
      }
    },

    'a worker that was asked to stop ends its task as cancelled': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(await scene.settle(grant, 'cancelled', { reason: 'requested' }), 'done');
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.reason], ['cancelled', 'requested']);
      assert.notEqual(record.cancelRequestedAt, undefined);
    },

    'a task that was completed before its worker heard of the cancel request is completed': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(await scene.settle(grant, 'completed', { result: '1' }), 'done');
      assert.equal((await scene.get(grant.task)).state, 'completed');
    },

    'a late result is accepted until the lease is reaped': async (scene) => {
      const grant = await scene.running();
      await scene.pass(100 * TTL);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'many tasks settle in one call, each with its own outcome and its own answer': async (scene) => {
      const tasks = await scene.pushMany(4);
      const grants = await scene.claim({ max: 4 });
      const item = (n: number, to: 'completed' | 'failed' | 'cancelled') => ({
        task: tasks[n] as number,
        attempt: 1,
        to,
        reason: 'none' as const,
        result: `${n}`,
      });
      const answers = await scene.store.taskSettle({
        items: [
          item(0, 'completed'),
          { ...item(1, 'failed'), attempt: 9 },
          item(2, 'failed'),
          { ...item(3, 'completed'), task: 4711 },
          item(3, 'cancelled'),
          item(0, 'completed'),
        ],
      });
      assert.deepEqual(answers, ['done', 'lost', 'done', 'lost', 'done', 'repeated']);
      const states = (await scene.store.taskGet({ tasks })).map((record) => record?.state);
      assert.deepEqual(states, ['completed', 'running', 'failed', 'cancelled']);
      assert.equal(grants.length, 4);
    },

    'settles of one task that are made at the same time end it once': async (scene) => {
      const grant = await scene.running();
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.settle(grant, 'completed')));
      assert.deepEqual(
        answers.toSorted((a, b) => a.localeCompare(b)),
        ['done', ...Array.from({ length: 9 }, () => 'repeated')],
      );
    },

    'what the grant told about the task may be handed back to save a read, and changes no outcome': async (scene) => {
      const grant = await scene.running();
      const hint = { lane: grant.lane, createdAt: grant.createdAt };
      const item = { task: grant.task, attempt: 1, to: 'completed', reason: 'none', hint } as const;
      const stale = { ...item, attempt: 0 };
      assert.deepEqual(await scene.unchanged(() => scene.store.taskSettle({ items: [stale] })), ['lost']);
      assert.deepEqual(await scene.store.taskSettle({ items: [item] }), ['done']);
      assert.deepEqual(await scene.unchanged(() => scene.store.taskSettle({ items: [item] })), ['repeated']);
    },

    'the same outcome of the same attempt twice is known as a repeat and changes nothing': async (scene) => {
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const grant = await scene.running({ queue: to });
        assert.equal(await scene.settle(grant, to, { result: '1' }), 'done');
        await scene.pass(1000);
        assert.equal(await scene.unchanged(() => scene.settle(grant, to, { result: '2' })), 'repeated');
      }
    },

    'a repeat is known after the task was run again, and after it ran again too': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.settle(grant, 'completed'), 'done');
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'repeated');
      const second = await scene.claimOne();
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'repeated');
      assert.equal(await scene.settle(second, 'failed'), 'done');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'repeated');
      assert.equal(await scene.unchanged(() => scene.settle(second, 'failed')), 'repeated');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'failed')), 'lost');
    },

    'a different outcome of an attempt that has ended is refused': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.settle(grant, 'completed'), 'done');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'failed')), 'lost');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'cancelled')), 'lost');
      assert.equal(await scene.unchanged(() => scene.giveBack(grant)), 'lost');
    },

    'a result that comes after the reap is refused, also when the reap ended the task the same way': async (scene) => {
      const duty = await scene.duty();
      const again = await scene.running({ queue: 'again' });
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty), 1);
      assert.equal(await scene.unchanged(() => scene.settle(again, 'completed')), 'lost');
      const failed = await scene.running({ queue: 'failed' });
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty, 'failed'), 1);
      assert.equal(await scene.unchanged(() => scene.settle(failed, 'failed')), 'lost');
      const cancelled = await scene.running({ queue: 'cancelled' });
      await scene.store.taskCancel({ tasks: [cancelled.task] });
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty, 'cancelled'), 1);
      assert.equal(await scene.unchanged(() => scene.settle(cancelled, 'cancelled')), 'lost');
    },

    'of many ends in one call each has its own answer, and one that is refused changes nothing for the others': async (
      scene,
    ) => {
      const lane = await scene.lane();
      await scene.pushMany(12);
      const grants = await scene.claim({ max: 12 });
      assert.deepEqual(
        grants.map(({ attempt, tries }) => [attempt, tries]),
        grants.map(() => [1, 1]),
      );
      const [first, , , , , lost] = grants;
      assert.ok(first && lost);
      await scene.giveBack(lost);
      assert.equal(await scene.settle(first, 'completed'), 'done');
      const items = grants.map(({ task, attempt, createdAt }) => {
        return { task, attempt, to: 'completed', reason: 'none', hint: { lane, createdAt } } as const;
      });
      const answers = await scene.store.taskSettle({ items });
      assert.deepEqual(
        answers,
        grants.map((grant) => (grant === first ? 'repeated' : grant === lost ? 'lost' : 'done')),
      );
      for (const grant of grants) {
        assert.equal((await scene.get(grant.task)).state, grant === lost ? 'ready' : 'completed');
      }
      const again = await scene.claimOne();
      assert.deepEqual([again.task, again.attempt], [lost.task, 2]);
      await scene.pushMany(6);
      const more = await scene.claim({ max: 8 });
      const mixed = [again, ...more].map(({ task, attempt, createdAt }) => {
        return {
          task,
          attempt: attempt === 2 ? 1 : attempt,
          to: 'completed',
          reason: 'none',
          hint: { lane, createdAt },
        } as const;
      });
      assert.deepEqual(await scene.store.taskSettle({ items: mixed }), ['lost', ...more.map(() => 'done')]);
      const stale = more.map(({ task, createdAt }) => {
        return { task, attempt: 2, to: 'completed', reason: 'none', hint: { lane, createdAt } } as const;
      });
      assert.deepEqual(
        await scene.unchanged(() => scene.store.taskSettle({ items: stale })),
        more.map(() => 'lost'),
        'no attempt that was never made is taken',
      );
    },

    'a result that comes after the task was given back is refused': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.giveBack(grant, { delayMs: HOUR }), 'done');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed')), 'lost');
    },
  },
};
