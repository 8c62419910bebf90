import assert from 'node:assert/strict';
import { HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const REVIVE: Topic = {
  name: 'revive',
  cases: {
    'a finished task is ready again with all its tries, and its attempt keeps growing': async (scene) => {
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const grant = await scene.running({ queue: to, maxTries: 2 });
        await scene.giveBack(grant, { bounced: true });
        const second = await scene.claimOne({ lanes: [grant.lane] });
        await scene.settle(second, to, { reason: 'exhausted', result: '{"r":1}' });
        assert.deepEqual(await scene.store.taskRevive({ tasks: [grant.task] }), [{ ok: true, lane: grant.lane }]);
        const record = await scene.get(grant.task);
        assert.deepEqual(
          { ...record },
          {
            ...record,
            state: 'ready',
            reason: 'none',
            attempt: 2,
            tries: 0,
            bounces: 0,
            holder: undefined,
            finishedAt: undefined,
            cancelRequestedAt: undefined,
            result: undefined,
            payload: '{"n":1}',
          },
        );
        const third = await scene.claimOne({ lanes: [grant.lane] });
        assert.deepEqual([third.task, third.attempt, third.tries, third.bounces], [grant.task, 3, 1, 0]);
      }
    },

    'a task that was cancelled before it ever ran can be run': async (scene) => {
      const task = await scene.push({ delayMs: HOUR });
      await scene.store.taskCancel({ tasks: [task] });
      assert.equal((await scene.store.taskRevive({ tasks: [task] }))[0]?.ok, true);
      assert.deepEqual(await scene.store.attemptList({ task }), []);
      const grant = await scene.claimOne();
      assert.deepEqual([grant.task, grant.attempt], [task, 1]);
    },

    'the attempt that had ended the task is kept, with the time at which it ended': async (scene) => {
      const grant = await scene.running();
      await scene.pass(100);
      await scene.settle(grant, 'completed', { result: '{"r":1}' });
      await scene.pass(HOUR);
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.deepEqual(await scene.store.attemptList({ task: grant.task }), [
        {
          attempt: 1,
          holder: await scene.worker(),
          startedAt: grant.createdAt,
          endedAt: grant.createdAt + 100,
          outcome: 'completed',
          error: undefined,
        },
      ]);
    },

    'the error of the attempt that had failed the task is kept with that attempt': async (scene) => {
      for (const error of ['{"message":"no"}', JSON.stringify({ message: 'n'.repeat(5000) })]) {
        const grant = await scene.running();
        await scene.settle(grant, 'failed', { reason: 'gave_up', result: error });
        await scene.store.taskRevive({ tasks: [grant.task] });
        const [attempt] = await scene.store.attemptList({ task: grant.task });
        assert.deepEqual([attempt?.outcome, attempt?.error], ['failed', error]);
        await scene.settle(await scene.claimOne(), 'completed');
      }
    },

    'an attempt that the reaper ended stays expired after the task was run again': async (scene) => {
      const grant = await scene.running({ maxTries: 1 });
      await scene.pass(TTL + 1);
      await scene.reap(await scene.duty(), 'failed');
      await scene.store.taskRevive({ tasks: [grant.task] });
      const [attempt] = await scene.store.attemptList({ task: grant.task });
      assert.equal(attempt?.outcome, 'expired');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'failed')), 'lost');
    },

    'what is not finished cannot be run again': async (scene) => {
      const ready = await scene.push({ queue: 'a' });
      const scheduled = await scene.push({ queue: 'b', delayMs: HOUR });
      const { task: running } = await scene.running({ queue: 'c' });
      const tasks = [ready, scheduled, running, 4711];
      assert.deepEqual(await scene.unchanged(() => scene.store.taskRevive({ tasks })), [
        { ok: false, state: 'ready' },
        { ok: false, state: 'scheduled' },
        { ok: false, state: 'running' },
        { ok: false, state: undefined },
      ]);
    },

    'a task that is revived twice in one call is revived once': async (scene) => {
      const grant = await scene.running();
      await scene.settle(grant, 'failed');
      assert.deepEqual(await scene.store.taskRevive({ tasks: [grant.task, grant.task] }), [
        { ok: true, lane: grant.lane },
        { ok: false, state: 'ready' },
      ]);
    },

    'a revived task that ends again has the new result': async (scene) => {
      const grant = await scene.running();
      await scene.settle(grant, 'failed', { reason: 'exhausted', result: '"old"' });
      await scene.store.taskRevive({ tasks: [grant.task] });
      await scene.settle(await scene.claimOne(), 'completed', { result: '"new"' });
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.reason, record.result], ['completed', 'none', '"new"']);
    },
  },
};
