import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { rememberAll, type ValueAnswer } from '../kit/turning.ts';
import { park } from './parks.ts';

const STORED = { kind: 'stored' };
const LOST = { kind: 'lost' };

async function put({ store }: Scene, { task, attempt }: Lease, key: string, value: string): Promise<ValueAnswer> {
  const [answer] = await rememberAll(store, [{ task, attempt, key, value }]);
  return answer as ValueAnswer;
}

const valuesOf = async ({ store }: Scene, task: number): Promise<readonly unknown[]> =>
  (await store.journalList({ task })).map(({ key, attempt, value }) => [key, attempt, value]);

export const JOURNALS: Topic = {
  name: 'journals',
  needs: ['whole'],
  cases: {
    'what an attempt has remembered is there for the next, with its attempt and its time': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual(await scene.store.journalList({ task: grant.task }), []);
      await scene.pass(10);
      assert.deepEqual(await put(scene, grant, 'a#1', '{"n":1}'), STORED);
      await scene.giveBack(grant);
      const next = await scene.claimOne();
      assert.deepEqual(await put(scene, next, 'b#1', 'null'), STORED);
      const at = grant.createdAt + 10;
      const bare = { kind: 'value', at, ref: undefined, began: undefined, usage: undefined };
      assert.deepEqual(await scene.store.journalList({ task: grant.task }), [
        { ...bare, key: 'a#1', attempt: 1, value: '{"n":1}' },
        { ...bare, key: 'b#1', attempt: 2, value: 'null' },
      ]);
    },

    'entries are listed without their values, task by task and in pages, with how each value begins': async (scene) => {
      const [one, other] = [await scene.running(), await scene.running()];
      const long = JSON.stringify('x'.repeat(300 * 1024));
      for (const [key, value] of Object.entries({ b: '{"n":2}', a: `"${'ü'.repeat(500)}"`, c: long })) {
        await put(scene, one, key, value);
      }
      await put(scene, other, 'a', 'null');
      const { store } = scene;
      const tasks = [one.task, other.task];
      const all = await store.journalHeads({ tasks, limit: 10 });
      assert.deepEqual(
        all.map(({ task, key, kind, size, head }) => [task, key, kind, size, head?.length]),
        [
          [one.task, 'a', 'value', 1002, 400],
          [one.task, 'b', 'value', 7, 7],
          [one.task, 'c', 'value', long.length, undefined],
          [other.task, 'a', 'value', 4, 4],
        ],
      );
      assert.ok(all.every((entry) => !('value' in entry)));
      const page = await store.journalHeads({ tasks, limit: 2, after: 'a' });
      assert.deepEqual(page, all.slice(1, 3));
      assert.deepEqual(await store.journalHeads({ tasks, limit: 2, after: 'c' }), all.slice(3));
      assert.deepEqual(await store.journalHeads({ tasks: [], limit: 2 }), []);
    },

    'entries are read by their keys': async (scene) => {
      const grant = await scene.running();
      for (const key of ['a', 'b', 'c']) await put(scene, grant, key, `"${key}"`);
      const { store } = scene;
      const { task } = grant;
      const [a, , c] = await store.journalList({ task });
      assert.deepEqual(await store.journalEntries({ task, keys: ['c', 'none', 'a'] }), [a, c]);
      assert.deepEqual(await store.journalEntries({ task, keys: [] }), []);
    },

    'the size of a journal is that of its keys, values and usages, and a repeated entry counts once': async (scene) => {
      const grant = await scene.running();
      const { task } = grant;
      assert.deepEqual(await scene.store.journalSize({ task }), { entries: 0, bytes: 0 });
      await put(scene, grant, 'ü', '"🚂"');
      await put(scene, grant, 'ü', '"again"');
      await put(scene, grant, 'k', '1');
      assert.deepEqual(await scene.store.journalSize({ task }), { entries: 2, bytes: 10 });
    },

    'the first value stays, whoever comes with another one': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual(await put(scene, grant, 'k', '1'), STORED);
      const kept = { kind: 'kept', value: '1' };
      assert.deepEqual(await scene.unchanged(() => put(scene, grant, 'k', '2')), kept);
      await scene.giveBack(grant);
      assert.deepEqual(await scene.unchanged(async () => put(scene, grant, 'k', '1')), LOST);
      const next = await scene.claimOne();
      assert.deepEqual(await scene.unchanged(() => put(scene, next, 'k', '2')), kept);
      assert.deepEqual(await scene.unchanged(() => put(scene, next, 'k', '1')), kept);
    },

    'the same value of the same attempt again is known as a repeat': async (scene) => {
      const grant = await scene.running();
      for (const value of ['1', JSON.stringify('x'.repeat(50_000))]) {
        assert.deepEqual(await put(scene, grant, value.slice(0, 9), value), STORED);
        assert.deepEqual(await scene.unchanged(() => put(scene, grant, value.slice(0, 9), value)), STORED);
      }
    },

    'what a task should forget goes when it is revived, and nothing goes of one that is not': async (scene) => {
      const long = JSON.stringify('x'.repeat(50_000));
      const ended = await scene.running({ queue: 'one' });
      for (const [key, value] of [
        ['wait:a', long],
        ['wait:b', '1'],
        ['step', '2'],
      ] as const) {
        await put(scene, ended, key, value);
      }
      await scene.settle(ended, 'failed', { reason: 'gave_up' });
      const held = await scene.running({ queue: 'two' });
      await put(scene, held, 'wait:a', '3');
      const forget = [ended, held].flatMap(({ task }) => ['wait:a', 'none'].map((key) => ({ task, key })));
      const answers = await scene.store.taskRevive({ tasks: [held.task, ended.task], forget });
      assert.deepEqual(
        answers.map(({ ok }) => ok),
        [false, true],
      );
      assert.deepEqual(await valuesOf(scene, ended.task), [
        ['step', 1, '2'],
        ['wait:b', 1, '1'],
      ]);
      assert.deepEqual(await valuesOf(scene, held.task), [['wait:a', 1, '3']]);
      const next = await scene.claimOne({ task: ended.task });
      assert.deepEqual(await put(scene, next, 'wait:a', '4'), STORED, 'it is remembered anew');
    },

    'they are listed in the order of their times, and by key where these are the same': async (scene) => {
      const grant = await scene.running();
      for (const key of ['z', 'b', 'é', 'a', '🎄', '\uFFFD']) await put(scene, grant, key, '1');
      await scene.pass(1);
      await put(scene, grant, 'A', '2');
      const keys = (await scene.store.journalList({ task: grant.task })).map(({ key }) => key);
      assert.deepEqual(keys, ['a', 'b', 'z', 'é', '🎄', '\uFFFD', 'A']);
    },

    'large values and names in any script come through unchanged': async (scene) => {
      const grant = await scene.running();
      for (const n of [4094, 4095, 4096, 100_000]) {
        const value = JSON.stringify('🎄'.repeat(n / 2).padEnd(n, '"'));
        const key = `крок "${n}"\\{},NULL`;
        assert.deepEqual(await put(scene, grant, key, value), STORED);
        assert.deepEqual(await put(scene, grant, key, '1'), { kind: 'kept', value });
        const list = await scene.store.journalList({ task: grant.task });
        assert.ok(list.find((one) => one.key === key)?.value === value, `the value of ${n} units`);
      }
    },

    'each task has its own': async (scene) => {
      const [one, two] = [await scene.running(), await scene.running()];
      assert.deepEqual(await put(scene, one, 'k', '1'), STORED);
      assert.deepEqual(await put(scene, two, 'k', '2'), STORED);
      assert.deepEqual(await valuesOf(scene, one.task), [['k', 1, '1']]);
      assert.deepEqual(await valuesOf(scene, two.task), [['k', 1, '2']]);
      assert.deepEqual(await valuesOf(scene, 4711), []);
    },

    'an attempt that was overtaken remembers nothing': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const stale = await scene.running();
      await scene.pass(TTL + 1);
      assert.deepEqual(await put(scene, stale, 'before', '1'), STORED, 'until the reap the lease lives');
      await scene.reap(duty);
      assert.deepEqual(await scene.unchanged(() => put(scene, stale, 'k', '1')), LOST);
      const next = await scene.claimOne();
      assert.deepEqual(await scene.unchanged(() => put(scene, stale, 'k', '1')), LOST);
      assert.deepEqual(await put(scene, next, 'k', '2'), STORED);
      // A stale attempt is not told even what is there: it must stop.
      assert.deepEqual(await scene.unchanged(() => put(scene, stale, 'k', '2')), LOST);
    },

    'a task that was asked to stop may still remember what it has done': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.deepEqual(await put(scene, grant, 'k', '1'), STORED);
    },

    'they outlive parks, the end of the task and its revival': async (scene) => {
      const grant = await scene.running();
      await put(scene, grant, 'a', '1');
      await park(scene, grant, { channel: 'c' });
      await scene.store.signalSend({ items: [{ channel: 'c', body: '1' }] });
      const next = await scene.claimOne();
      await put(scene, next, 'b', '2');
      await scene.settle(next, 'failed', { reason: 'gave_up' });
      const all = [
        ['a', 1, '1'],
        ['b', 2, '2'],
      ];
      assert.deepEqual(await valuesOf(scene, grant.task), all);
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.deepEqual(await valuesOf(scene, grant.task), all);
    },

    'many are put in one call, each with its own answer, and of two for one key the first counts': async (scene) => {
      const [one, two] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const [a, b] = [
        { task: one.task, attempt: 1 },
        { task: two.task, attempt: 1 },
      ];
      await put(scene, two, 'old', '0');
      const answers = await rememberAll(scene.store, [
        { ...b, key: 'k', value: '1' },
        { ...a, key: 'k', value: '2' },
        { ...a, key: 'k', value: '3' },
        { ...a, attempt: 2, key: 'x', value: '4' },
        { ...b, key: 'old', value: '5' },
        { ...b, key: 'new', value: '6' },
        { ...b, key: 'new', value: '6' },
        { task: 4711, attempt: 1, key: 'k', value: '7' },
      ]);
      assert.deepEqual(answers, [
        STORED,
        STORED,
        { kind: 'kept', value: '2' },
        LOST,
        { kind: 'kept', value: '0' },
        STORED,
        STORED,
        LOST,
      ]);
      assert.deepEqual(await valuesOf(scene, one.task), [['k', 1, '2']]);
      assert.deepEqual(await scene.store.taskTurn({ items: [] }), []);
    },

    'journals and waits go with their task': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const grant = await scene.running();
      await put(scene, grant, 'k', '1');
      await put(scene, grant, 'long', JSON.stringify('x'.repeat(9000)));
      await scene.store.signalSend({ items: [{ channel: 'c', body: '1' }] });
      await park(scene, grant, { channel: 'c' });
      await scene.settle(grant, 'completed');
      await scene.push({ queue: 'young' });
      await scene.pass(HOUR + 1);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.deepEqual(await valuesOf(scene, grant.task), []);
      assert.equal(await scene.store.waitGet({ task: grant.task }), undefined);
    },
  },
};
