import assert from 'node:assert/strict';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

/** JSON texts around every limit at which a store might begin to keep them differently. */
const TEXTS: readonly string[] = [
  'null',
  '""',
  JSON.stringify('x'.repeat(1021)),
  JSON.stringify('x'.repeat(1022)),
  JSON.stringify('x'.repeat(1023)),
  JSON.stringify('ü'.repeat(600)),
  JSON.stringify('🚂'.repeat(400)),
  JSON.stringify('"\\\n\t\u2028'.repeat(300)),
  JSON.stringify({ list: Array.from({ length: 9000 }, (_, n) => n) }),
  JSON.stringify('y'.repeat(70_000)),
  JSON.stringify('z'.repeat(1_000_000)),
];

const LONG = JSON.stringify('p'.repeat(3000));

async function failedWith(scene: Scene, result: string): Promise<number> {
  const grant = await scene.running({ payload: LONG });
  assert.equal(await scene.settle(grant, 'failed', { reason: 'gave_up', result }), 'done');
  return grant.task;
}

export const BODIES: Topic = {
  name: 'bodies',
  cases: {
    'a payload of any length comes back letter for letter, in the grant, the record and the list': async (scene) => {
      for (const payload of TEXTS) {
        const grant = await scene.running({ payload });
        assert.ok(grant.payload === payload, `the grant of ${payload.length} characters differs`);
        assert.ok((await scene.get(grant.task)).payload === payload);
        assert.ok((await scene.store.taskList({ limit: 1 }))[0]?.payload === payload);
      }
      const task = await scene.push({ payload: LONG });
      assert.deepEqual(
        (await scene.claim({ max: 20 })).map((grant) => [grant.task, grant.payload === LONG]),
        [[task, true]],
      );
    },

    'a result of any length comes back letter for letter': async (scene) => {
      for (const result of TEXTS) {
        const grant = await scene.running();
        assert.equal(await scene.settle(grant, 'completed', { result }), 'done');
        assert.ok((await scene.get(grant.task)).result === result, `a result of ${result.length} characters differs`);
        assert.equal((await scene.get(grant.task)).payload, '{"n":1}');
      }
    },

    'a long payload and a long result of one task are kept apart': async (scene) => {
      const result = JSON.stringify('r'.repeat(4000));
      const record = await scene.get(await failedWith(scene, result));
      assert.ok(record.payload === LONG && record.result === result);
    },

    'a task without a result has none, whatever the length of its payload': async (scene) => {
      const grant = await scene.running({ payload: LONG });
      await scene.settle(grant, 'completed');
      assert.equal((await scene.get(grant.task)).result, undefined);
    },

    'the error of an attempt comes back, however long it is': async (scene) => {
      const error = JSON.stringify({ stack: 'at line\n'.repeat(2000) });
      const grant = await scene.running({ payload: LONG });
      await scene.giveBack(grant, { error });
      const [attempt] = await scene.store.attemptList({ task: grant.task });
      assert.ok(attempt?.error === error);
      assert.ok((await scene.claimOne()).payload === LONG);
    },

    'a revived task has its long payload and no longer its long result': async (scene) => {
      const task = await failedWith(scene, JSON.stringify('r'.repeat(4000)));
      await scene.store.taskRevive({ tasks: [task] });
      const record = await scene.get(task);
      assert.ok(record.payload === LONG);
      assert.equal(record.result, undefined);
      const grant = await scene.claimOne();
      assert.ok(grant.payload === LONG);
      await scene.settle(grant, 'completed', { result: '1' });
      assert.equal((await scene.get(task)).result, '1');
    },

    'a stale attempt cannot leave its long result behind': async (scene) => {
      const grant = await scene.running();
      await scene.giveBack(grant);
      const newer = await scene.claimOne();
      assert.equal(await scene.settle(grant, 'completed', { result: LONG }), 'lost');
      await scene.settle(newer, 'completed');
      assert.equal((await scene.get(grant.task)).result, undefined);
    },

    'a repeated settle leaves the first result': async (scene) => {
      const grant = await scene.running();
      const first = JSON.stringify('1'.repeat(2000));
      await scene.settle(grant, 'completed', { result: first });
      assert.equal(await scene.settle(grant, 'completed', { result: LONG }), 'repeated');
      assert.ok((await scene.get(grant.task)).result === first);
    },

    'the long texts of a pruned task do not come back with a later task': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      await failedWith(scene, JSON.stringify('r'.repeat(4000)));
      await scene.push({ queue: 'young' });
      await scene.pass(DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      const record = await scene.get(await scene.push());
      assert.deepEqual([record.payload, record.result], ['{"n":1}', undefined]);
    },
  },
};
