import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { KeepAnswer, KeptResult, NewResult } from '../../store.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';
import { park } from './parks.ts';

const itemOf = ({ task, attempt }: Lease, value?: string, more: Partial<NewResult> = {}): NewResult => {
  return { key: 'k', maxAgeMs: HOUR, ...more, task, attempt, value };
};

async function keep({ store }: Scene, lease: Lease, value?: string, more?: Partial<NewResult>): Promise<KeepAnswer> {
  const [answer] = await store.resultKeep({ items: [itemOf(lease, value, more)] });
  return answer as KeepAnswer;
}

async function find({ store }: Scene, key = 'k', maxAgeMs = HOUR): Promise<KeptResult | undefined> {
  const [found, ...more] = await store.resultFind({ items: [{ key, maxAgeMs }] });
  assert.deepEqual(more, []);
  return found;
}

const valueOf = async (scene: Scene, key?: string, maxAgeMs?: number): Promise<string | undefined> =>
  (await find(scene, key, maxAgeMs))?.value;

export const RESULTS: Topic = {
  name: 'kept results',
  needs: ['whole'],
  cases: {
    'what is kept under a key is found with its task, its attempt and its time': async (scene) => {
      assert.equal(await find(scene), undefined);
      const grant = await scene.running();
      await scene.pass(10);
      assert.equal(await keep(scene, grant, '{"n":1}'), 'stored');
      await scene.pass(5);
      const { task, attempt, createdAt } = grant;
      assert.deepEqual(await find(scene), { task, attempt, createdAt, value: '{"n":1}', at: createdAt + 10 });
      assert.equal(await find(scene, 'K'), undefined, 'keys are told apart by their case');
    },

    'it is kept before its task has ended, so that a crash in between loses nothing': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const crashed = await scene.running();
      assert.equal(await keep(scene, crashed, '1'), 'stored');
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      const next = await scene.claimOne();
      assert.deepEqual([next.task, next.attempt], [crashed.task, 2]);
      assert.equal(await valueOf(scene), '1');
    },

    'of two the first stays, as long as it counts': async (scene) => {
      const [one, two] = [await scene.running(), await scene.running()];
      assert.equal(await keep(scene, one, '1'), 'stored');
      assert.equal(await scene.unchanged(() => keep(scene, two, '2')), 'kept');
      assert.equal(await keep(scene, two, '2', { key: 'other' }), 'stored');
      assert.deepEqual([await valueOf(scene), await valueOf(scene, 'other')], ['1', '2']);
    },

    'the same attempt again is known as a repeat, and changes nothing': async (scene) => {
      const grant = await scene.running();
      assert.equal(await keep(scene, grant, '1'), 'stored');
      await scene.pass(10);
      assert.equal(await keep(scene, grant, '1'), 'stored');
      assert.equal((await find(scene))?.at, grant.createdAt);
    },

    'of two at once one is stored, and it is the one that is found': needing(['reopen'], async (scene) => {
      const other = await scene.reopen();
      for (let round = 0; round < 10; round++) {
        const [one, two] = [await scene.running(), await scene.running()];
        const key = `round ${round}`;
        const answers = await Promise.all([
          scene.store.resultKeep({ items: [itemOf(one, '1', { key })] }),
          other.resultKeep({ items: [itemOf(two, '2', { key })] }),
        ]);
        assert.deepEqual(answers.flat().toSorted(), ['kept', 'stored']);
        assert.equal(await valueOf(scene, key), answers[0][0] === 'stored' ? '1' : '2');
      }
    }),

    'what has expired is gone by the clock of the store, and makes room': async (scene) => {
      const [one, two] = [await scene.running(), await scene.running()];
      await keep(scene, one, '1', { maxAgeMs: 1000 });
      await scene.pass(999);
      assert.equal(await valueOf(scene), '1');
      assert.equal(await keep(scene, two, '2'), 'kept');
      await scene.pass(1);
      assert.equal(await valueOf(scene), undefined);
      assert.equal(await keep(scene, two, '2'), 'stored');
      assert.equal(await valueOf(scene), '2');
    },

    'a result that is too old for whoever asks is not found by him, and his own takes its place': async (scene) => {
      const [one, two] = [await scene.running(), await scene.running()];
      await keep(scene, one, '1', { maxAgeMs: DAY });
      await scene.pass(HOUR);
      assert.deepEqual(
        [await valueOf(scene, 'k', HOUR), await valueOf(scene, 'k', HOUR + 1), await valueOf(scene, 'k', DAY)],
        [undefined, '1', '1'],
      );
      assert.equal(await keep(scene, two, '2', { maxAgeMs: HOUR }), 'stored');
      await scene.pass(2 * HOUR);
      // A caller that accepts an older result still finds one: the younger result lives as long as the first one would
      // have.
      assert.deepEqual([await valueOf(scene, 'k', HOUR), await valueOf(scene, 'k', DAY)], [undefined, '2']);
    },

    'a task that has failed, or was cancelled, keeps nothing': async (scene) => {
      const failed = await scene.running();
      await scene.settle(failed, 'failed', { reason: 'gave_up' });
      const cancelled = await scene.running();
      await scene.settle(cancelled, 'cancelled', { reason: 'requested' });
      const parked = await scene.running();
      await park(scene, parked, { channel: 'c' });
      for (const lease of [failed, cancelled, parked]) {
        assert.equal(await scene.unchanged(() => keep(scene, lease, '1')), 'lost');
      }
      assert.equal(await find(scene), undefined);
    },

    'an attempt that was overtaken keeps nothing, not even in the place of what has expired': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const stale = await scene.running({ maxTries: 9 });
      await keep(scene, stale, '1', { maxAgeMs: 1 });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      assert.equal(await scene.unchanged(() => keep(scene, stale, '2')), 'lost');
      const next = await scene.claimOne();
      assert.equal(await scene.unchanged(() => keep(scene, stale, '2')), 'lost');
      assert.equal(await find(scene), undefined);
      assert.equal(await keep(scene, next, '3'), 'stored');
      assert.equal(await scene.unchanged(() => keep(scene, stale, '3')), 'lost');
    },

    'a task that was asked to stop may still keep what it has come to': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(await keep(scene, grant, '1'), 'stored');
    },

    'a result of nothing is one too': async (scene) => {
      const grant = await scene.running();
      assert.equal(await keep(scene, grant), 'stored');
      const found = await find(scene);
      assert.deepEqual([found?.task, found?.value], [grant.task, undefined]);
    },

    'large results come through unchanged, and so does every script': async (scene) => {
      const grant = await scene.running();
      for (const n of [4096, 100_000]) {
        const value = JSON.stringify('🎄"\\{},NULL'.repeat(n / 8));
        const key = `kлюч ${n} "{}`;
        assert.equal(await keep(scene, grant, value, { key }), 'stored');
        assert.ok((await valueOf(scene, key)) === value, `the value of ${n} units`);
      }
    },

    'many are kept in one call, each with its own answer, and of two for one key the first counts': async (scene) => {
      const [one, two] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      await keep(scene, two, '0', { key: 'old' });
      const answers = await scene.store.resultKeep({
        items: [
          itemOf(two, '1', { key: 'z' }),
          itemOf(one, '2', { key: 'z' }),
          itemOf(one, '3'),
          itemOf({ ...one, attempt: 2 }, '4', { key: 'x' }),
          itemOf(one, '5', { key: 'old' }),
          itemOf({ task: 4711, attempt: 1 }, '6', { key: 'x' }),
        ],
      });
      assert.deepEqual(answers, ['stored', 'kept', 'stored', 'lost', 'kept', 'lost']);
      const keys = ['z', 'k', 'x', 'old', 'z'];
      const found = await scene.store.resultFind({ items: keys.map((key) => ({ key, maxAgeMs: HOUR })) });
      assert.deepEqual(
        found.map((result) => result?.value),
        ['1', '3', undefined, '0', '1'],
      );
      assert.deepEqual(await scene.store.resultKeep({ items: [] }), []);
      assert.deepEqual(await scene.store.resultFind({ items: [] }), []);
    },

    'they outlive their tasks, and are pruned once they have expired': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const grant = await scene.running();
      await keep(scene, grant, '1', { maxAgeMs: DAY });
      await keep(scene, grant, '2', { key: 'short', maxAgeMs: HOUR });
      await scene.settle(grant, 'completed', { result: '1' });
      await scene.push({ queue: 'young' });
      await scene.pass(2 * HOUR);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.equal(await scene.store.taskGet({ tasks: [grant.task] }).then(([record]) => record), undefined);
      assert.deepEqual([await valueOf(scene, 'k', DAY), await valueOf(scene, 'short', DAY)], ['1', undefined]);
      // The key is free for a result of another task.
      const next = await scene.running();
      assert.equal(await keep(scene, next, '3', { key: 'short' }), 'stored');
      assert.equal(await valueOf(scene, 'short'), '3');
    },

    'many that have expired are pruned step by step, and those that have not stay': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const grant = await scene.running();
      const items = Array.from({ length: 25 }, (_, i) => {
        return itemOf(grant, '1', { key: `k${i}`, maxAgeMs: i < 20 ? 1000 : HOUR });
      });
      await scene.store.resultKeep({ items });
      await scene.pass(1000);
      let steps = 0;
      for (; !(await scene.store.taskPrune({ duty, retentionMs: DAY, limit: 10 })).done; steps++) assert.ok(steps < 9);
      assert.ok(steps >= 2, `20 of them were removed in ${steps + 1} steps of 10`);
      const found = await scene.store.resultFind({ items });
      assert.deepEqual(
        found.map((result) => result?.value),
        items.map((_, i) => (i < 20 ? undefined : '1')),
      );
    },

    'the key that a push gives for its result stays with its task, through retries and to its removal': async (
      scene,
    ) => {
      const plain = await scene.push({ queue: 'a' });
      const task = await scene.push({ resultKey: 'mine' });
      const late = await scene.push({ queue: 'b', resultKey: 'late', delayMs: HOUR });
      const keyed = await scene.push({
        queue: 'c',
        resultKey: 'keyed',
        unique: { key: 'u', hash: 1, windowMs: HOUR },
        payload: JSON.stringify('x'.repeat(5000)),
      });
      const keysOf = (...tasks: readonly number[]): Promise<readonly (string | undefined)[]> =>
        scene.store.resultKeys({ tasks });
      const all = [undefined, 'mine', 'late', 'keyed', undefined];
      assert.deepEqual(await keysOf(plain, task, late, keyed, 4711), all);
      await scene.giveBack(await scene.claimOne());
      await scene.settle(await scene.claimOne(), 'completed', { result: JSON.stringify('y'.repeat(5000)) });
      await scene.store.taskRevive({ tasks: [task] });
      assert.deepEqual(await keysOf(task), ['mine']);
      const duty = await scene.duty('pruner', 30 * DAY);
      await scene.settle(await scene.claimOne(), 'completed');
      await scene.push({ queue: 'young' });
      await scene.pass(HOUR + 1);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await keysOf(task), [undefined]);
      assert.deepEqual(await scene.store.resultKeys({ tasks: [] }), []);
    },

    "a push inside the caller's own transaction takes its key along": needing(
      ['callerTransactions', 'caller'],
      async (scene) => {
        const { tx, begin, commit } = await scene.caller();
        const item = { queue: 'mail', handler: 'send', specBody: '{}', priority: 0, maxTries: 3, payload: '1' };
        await begin();
        const answers = await scene.store.taskPushIn({
          tx,
          items: [
            { ...item, resultKey: 'mine' },
            { ...item, resultKey: 'yours', op: 'o' },
          ],
        });
        await commit();
        const tasks = answers.map((answer) => (answer.ok ? answer.task : 0));
        assert.deepEqual(await scene.store.resultKeys({ tasks }), ['mine', 'yours']);
      },
    ),

    'tasks of one call and of a graph each have their own key': async (scene) => {
      const wishes = ['a', undefined, 'b', undefined, undefined, 'c'];
      const item = await scene.draft();
      const items = wishes.map((resultKey) => ({ ...item, resultKey }));
      const answers = await scene.store.taskPush({ items });
      const tasks = answers.map((answer) => (answer.ok ? answer.task : 0));
      assert.deepEqual(await scene.store.resultKeys({ tasks }), wishes);
      const graph = await scene.store.graphPush({
        items: items.map((one, i) => ({
          ...one,
          after: i === 0 ? [] : [{ item: 0, optional: false }],
          afterFailure: 'cancel',
        })),
      });
      assert.ok(graph.ok);
      assert.deepEqual(await scene.store.resultKeys({ tasks: graph.tasks.map(({ task }) => task) }), wishes);
    },
  },
};
