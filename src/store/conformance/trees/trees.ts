import assert from 'node:assert/strict';
import { EMPTY_STATS } from '../../../core/task/event.ts';
import type { Lease } from '../../../core/task/lease.ts';
import type { NewChild, Then } from '../../store.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { COMPLETE, ON, turn, value } from './turns.ts';

/** Children of this lease, by their numbers. */
async function bear(scene: Scene, lease: Lease, count: number, then: Then = ON): Promise<readonly number[]> {
  const draft = await scene.draft({ queue: 'children' });
  const before = (await scene.store.journalList({ task: lease.task })).length;
  const entries = Array.from(
    { length: count },
    (_, i): NewChild => ({ key: `c${before + i}`, kind: 'child', task: draft }),
  );
  const answer = await turn(scene, lease, entries, then);
  assert.ok(answer.kind === 'done');
  return answer.entries.flatMap((one) => (one.kind === 'child' ? [one.task] : []));
}

const settle = async (scene: Scene, task: number): Promise<void> => {
  await scene.settle(await scene.claimOne({ task }), 'completed', { result: `"${task}"` });
};

const there = async (scene: Scene, tasks: readonly number[]): Promise<readonly boolean[]> =>
  (await scene.store.taskGet({ tasks })).map((record) => record !== undefined);

/**
 * A store may keep its newest task, so that numbers are never used again. One more task is pushed after those that are
 * to go.
 */
const younger = (scene: Scene): Promise<number> => scene.push({ queue: 'young' });

const members = async ({ store }: Scene, root: number): Promise<readonly number[]> =>
  (await store.treeList({ root, after: 0, limit: 100 })).map(({ task }) => task);

export const TREES: Topic = {
  name: 'trees',
  needs: ['whole'],
  cases: {
    'the members of a tree are listed by their numbers, a page at a time, with their parents and states': async (
      scene,
    ) => {
      const grant = await scene.running();
      const [a, b] = (await bear(scene, grant, 2)) as [number, number];
      const son = await scene.claimOne({ task: a });
      const [c] = (await bear(scene, son, 1, COMPLETE)) as [number];
      await scene.store.taskCancel({ tasks: [b] });
      const other = await scene.running({ queue: 'other' });
      await bear(scene, other, 3);
      const all = await scene.store.treeList({ root: grant.task, after: 0, limit: 10 });
      assert.deepEqual(
        all.map(({ task, parent, state, reason, attempt, queue, handler }) => {
          return [task, parent, state, reason, attempt, queue, handler];
        }),
        [
          [a, grant.task, 'completed', 'none', 1, 'children', 'send'],
          [b, grant.task, 'cancelled', 'requested', 0, 'children', 'send'],
          [c, a, 'ready', 'none', 0, 'children', 'send'],
        ],
      );
      assert.equal(all[0]?.createdAt, (await scene.get(a)).createdAt);
      const page = await scene.store.treeList({ root: grant.task, after: a, limit: 1 });
      assert.deepEqual(
        page.map(({ task }) => task),
        [b],
      );
      assert.deepEqual(await members(scene, a), [], 'a child is no root');
      assert.deepEqual(await members(scene, 4711), []);
    },

    'a tree is counted with its root': async (scene) => {
      const grant = await scene.running();
      const [a] = (await bear(scene, grant, 3)) as [number];
      await settle(scene, a);
      assert.deepEqual(await scene.store.treeCount({ root: grant.task }), {
        ...EMPTY_STATS,
        running: 1,
        completed: 1,
        ready: 2,
      });
      assert.deepEqual(await scene.store.treeCount({ root: 4711 }), EMPTY_STATS);
    },

    'a member keeps its kinship when it ends, is revived and ends again': async (scene) => {
      const grant = await scene.running();
      const [a] = (await bear(scene, grant, 1)) as [number];
      for (let round = 0; round < 2; round++) {
        await settle(scene, a);
        assert.deepEqual([(await scene.get(a)).parent, (await scene.get(a)).root], [grant.task, grant.task]);
        await scene.store.taskRevive({ tasks: [a] });
        assert.deepEqual([(await scene.get(a)).parent, (await scene.get(a)).root], [grant.task, grant.task]);
      }
    },

    'of a living tree nothing is pruned, however old, also when its root has ended': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const grant = await scene.running();
      const [a, b, c] = (await bear(scene, grant, 3, COMPLETE)) as [number, number, number];
      const son = await scene.claimOne({ task: a });
      await turn(scene, son, [value('k')], COMPLETE);
      await settle(scene, b);
      await younger(scene);
      await scene.pass(10 * DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
      assert.deepEqual(await there(scene, [grant.task, a, b, c]), [true, true, true, true]);
      assert.equal((await scene.get(b)).result, `"${b}"`);
      assert.equal((await scene.store.journalList({ task: a })).length, 1);
      await settle(scene, c);
      await younger(scene);
      await scene.pass(HOUR);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0, 'its youngest end counts for all');
      await scene.pass(1);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 4);
      assert.deepEqual(await there(scene, [grant.task, a, b, c]), [false, false, false, false]);
      assert.deepEqual(await members(scene, grant.task), []);
    },

    'a tree that is larger than a step of the pruner goes as a whole all the same': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const grant = await scene.running();
      const tasks = await bear(scene, grant, 12, COMPLETE);
      for (const task of tasks) await settle(scene, task);
      await scene.pass(DAY);
      await younger(scene);
      assert.equal((await scene.prune(duty, HOUR, 5)).tasks, 13);
      assert.deepEqual(new Set(await there(scene, [grant.task, ...tasks])), new Set([false]));
    },

    'nothing of a tree comes back while it is being removed': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const grant = await scene.running();
      const tasks = await bear(scene, grant, 12, COMPLETE);
      for (const task of tasks) await settle(scene, task);
      await scene.pass(DAY);
      await scene.push({ queue: 'last' });
      scene.forgets = true;
      while ((await there(scene, tasks)).every(Boolean)) {
        await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 3 });
      }
      const left = tasks.filter((_, i) => i > 9);
      const answers = await scene.store.taskRevive({ tasks: [...left, grant.task] });
      assert.deepEqual(new Set(answers.map(({ ok }) => ok)), new Set([false]));
      await scene.prune(duty, HOUR);
      assert.deepEqual(new Set(await there(scene, [grant.task, ...tasks])), new Set([false]));
    },

    'what an unfinished task depends on stays, with its result': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const draft = await scene.draft({ queue: 'graph' });
      const answer = await scene.store.graphPush({
        items: [
          { ...draft, after: [], afterFailure: 'cancel' },
          { ...draft, after: [], afterFailure: 'cancel' },
          {
            ...draft,
            after: [
              { item: 0, optional: false },
              { item: 1, optional: false },
            ],
            afterFailure: 'cancel',
          },
        ],
      });
      assert.ok(answer.ok);
      const [a, b, c] = answer.tasks.map(({ task }) => task) as [number, number, number];
      await settle(scene, a);
      await younger(scene);
      await scene.pass(10 * DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
      await settle(scene, b);
      await younger(scene);
      await scene.pass(10 * DAY);
      await scene.prune(duty, HOUR);
      const needed = await scene.store.depList({ task: c });
      assert.deepEqual(
        needed.map(({ task, state, result }) => [task, state, result]),
        [
          [a, 'completed', `"${a}"`],
          [b, 'completed', `"${b}"`],
        ],
      );
      await settle(scene, c);
      await younger(scene);
      await scene.pass(10 * DAY);
      await scene.prune(duty, HOUR);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await there(scene, [a, b, c]), [false, false, false]);
    },

    'what had ended before a task was made that depends on it stays, too': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const up = await scene.push({ queue: 'up' });
      await settle(scene, up);
      const grant = await scene.running();
      const [member] = (await bear(scene, grant, 1, COMPLETE)) as [number];
      await settle(scene, member);
      const draft = await scene.draft({ queue: 'graph' });
      const after = [up, member].map((task) => ({ task, optional: false }));
      const answer = await scene.store.graphPush({ items: [{ ...draft, after, afterFailure: 'cancel' }] });
      assert.ok(answer.ok);
      await scene.pass(10 * DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 0);
      const needed = await scene.store.depList({ task: answer.tasks[0]?.task as number });
      assert.deepEqual(
        needed.map(({ task, result }) => [task, result]),
        [
          [up, `"${up}"`],
          [member, `"${member}"`],
        ],
      );
    },

    'a tree stays while an unfinished task outside depends on one of it': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const grant = await scene.running();
      const [a] = (await bear(scene, grant, 2, COMPLETE)) as [number];
      const waiter = await scene.running({ queue: 'outside' });
      await turn(scene, waiter, [], { go: 'park', key: 'w', children: [a] });
      for (const task of await members(scene, grant.task)) await settle(scene, task);
      await younger(scene);
      await scene.pass(10 * DAY);
      await scene.prune(duty, HOUR);
      assert.equal(
        (await members(scene, grant.task)).length,
        2,
        'it was waited for, and is read when it is claimed again',
      );
      await scene.settle(await scene.claimOne({ task: waiter.task }), 'completed');
      await scene.pass(10 * DAY);
      await younger(scene);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await there(scene, [grant.task, a]), [false, false]);
    },

    'a signal is kept as long as a task is unfinished that could have seen it': async (scene) => {
      const duty = await scene.duty('pruner', 90 * DAY);
      const grant = await scene.running();
      await scene.store.signalSend({ items: [{ channel: 'c', body: '"for it"' }] });
      await scene.pass(10 * DAY);
      await scene.push({ queue: 'last' });
      await scene.prune(duty, HOUR);
      const answer = await turn(scene, grant, [], { go: 'park', key: 'w', channel: 'c' });
      assert.equal(answer.kind === 'done' && answer.body, '"for it"');
      await scene.settle(grant, 'completed');
      await scene.store.signalSend({ items: [{ channel: 'd', body: '"for nobody"' }] });
      for (const { task } of (await scene.look()).tasks.filter(({ state }) => state === 'ready'))
        await settle(scene, task);
      await scene.pass(10 * DAY);
      const late = await scene.running({ queue: 'late' });
      await scene.prune(duty, HOUR);
      const gone = await turn(scene, late, [], { go: 'park', key: 'w', channel: 'd' });
      assert.equal(gone.kind === 'done' && gone.went, 'parked');
    },
  },
};
