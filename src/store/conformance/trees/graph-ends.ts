import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { FinalState } from '../../../core/task/task.ts';
import {
  after,
  answerOf,
  carryAll,
  end,
  ends,
  family,
  maybe,
  need,
  push,
  states,
  type Wish,
} from '../kit/graph-scene.ts';
import { DAY, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { park } from './parks.ts';

const SKIPPED = ['cancelled dependency', 'failed dependency', 'ready', 'ready'];

export const GRAPH_ENDS: Topic = {
  name: 'ends of graphs',
  needs: ['whole'],
  cases: {
    'after a failure each dependent becomes what it declared': async (scene) => {
      const { parent, children } = await family(scene);
      assert.equal(await scene.settle(parent, 'failed', { reason: 'gave_up' }), 'done');
      assert.deepEqual(await ends(scene, children), SKIPPED);
    },

    'a cancelled task is a failure to those that need it': async (scene) => {
      const { parent, children } = await family(scene);
      await scene.settle(parent, 'cancelled', { reason: 'requested' });
      assert.deepEqual(await ends(scene, children), SKIPPED);
    },

    'a task that was asked to stop and is given back is a failure to those that need it': async (scene) => {
      const { parent, children } = await family(scene);
      await scene.store.taskCancel({ tasks: [parent.task] });
      assert.equal(await scene.giveBack(parent), 'cancelled');
      assert.deepEqual(await ends(scene, children), SKIPPED);
    },

    'a task whose lease ran out for the last time is a failure to those that need it': async (scene) => {
      const { parent, children } = await family(scene);
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(await scene.duty(), 'failed'), 1);
      assert.equal((await scene.get(parent.task)).reason, 'exhausted');
      assert.deepEqual(await ends(scene, children), SKIPPED);
    },

    'a lease that ran out and comes back keeps its dependents waiting': async (scene) => {
      const { children } = await family(scene);
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(await scene.duty(), 'again'), 1);
      assert.deepEqual(await states(scene, children), ['waiting', 'waiting', 'waiting', 'waiting']);
    },

    'a task that waited too long for its start is a failure to those that need it': async (scene) => {
      const tasks = await push(scene, { waitTimeoutMs: 1000 }, { after: [0] }, { after: [0], afterFailure: 'fail' });
      const other = await scene.push({ waitTimeoutMs: 1000 });
      await scene.pass(2000);
      const { expired } = await scene.store.taskExpire({ duty: await scene.duty(), limit: 10 });
      assert.equal(expired, 2);
      assert.deepEqual(await ends(scene, [...tasks, other]), [
        'failed timeout',
        'cancelled dependency',
        'failed dependency',
        'failed timeout',
      ]);
    },

    'a retried task keeps its dependents waiting': async (scene) => {
      const { parent, children } = await family(scene);
      await scene.giveBack(parent);
      assert.deepEqual(await states(scene, children), ['waiting', 'waiting', 'waiting', 'waiting']);
      await end(scene, parent.task);
      assert.deepEqual(await states(scene, children), ['ready', 'ready', 'ready', 'ready']);
    },

    'a failure skips everything below it, however deep': async (scene) => {
      const chain = [1, 2, 3, 4, 5].map((depth): Wish => ({ after: [depth - 1] }));
      const tasks = await push(
        scene,
        {},
        ...chain,
        { after: [5, maybe(0)], afterFailure: 'fail' },
        { after: [maybe(6)] },
      );
      await end(scene, tasks[0] as number, 'failed');
      assert.deepEqual(await ends(scene, tasks.slice(1)), [
        ...Array.from({ length: 5 }, () => 'cancelled dependency'),
        'failed dependency',
        'ready',
      ]);
      assert.deepEqual(await scene.stats(), {
        ...(await scene.stats()),
        waiting: 0,
        ready: 1,
        failed: 2,
        cancelled: 5,
      });
    },

    'of two parents one fails: the dependent ends once, and the other one changes nothing more': async (scene) => {
      const tasks = await push(scene, {}, {}, { after: [0, 1] }, { after: [2], afterFailure: 'run' });
      const [one, two, child, grandchild] = tasks as [number, number, number, number];
      await end(scene, one, 'failed');
      assert.deepEqual(await ends(scene, [child, grandchild]), ['cancelled dependency', 'ready']);
      const grant = await scene.claimOne({ task: two });
      const before = await scene.get(child);
      await scene.settle(grant, 'completed');
      assert.deepEqual(await scene.get(child), before);
    },

    'two parents that end in one call, one of them badly, end the dependent': async (scene) => {
      const [, , child] = (await push(scene, {}, {}, { after: [0, 1] })) as [number, number, number];
      const [one, two] = (await scene.claim({ max: 2 })) as unknown as [Lease, Lease];
      const answers = await scene.store.taskSettle({
        items: [
          { task: one.task, attempt: one.attempt, to: 'failed', reason: 'gave_up' },
          { task: two.task, attempt: two.attempt, to: 'completed', reason: 'none' },
        ],
      });
      assert.deepEqual(answers, ['done', 'done']);
      assert.deepEqual(await ends(scene, [child]), ['cancelled dependency']);
    },

    'an edge to a task that has ended holds at once': async (scene) => {
      const parents: Record<FinalState, number> = { completed: 0, failed: 0, cancelled: 0 };
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        parents[to] = await scene.push();
        await end(scene, parents[to], to);
      }
      const { completed, failed, cancelled } = parents;
      const wishes: readonly Wish[] = [
        { after: [need(completed)] },
        { after: [after(failed), need(completed)] },
        { after: [need(failed)] },
        { after: [need(cancelled)], afterFailure: 'fail' },
        { after: [need(failed)], afterFailure: 'run' },
        { after: [2] },
        { after: [5, need(completed)], afterFailure: 'fail' },
        { after: [maybe(2)] },
      ];
      const answer = await answerOf(scene, wishes);
      assert.ok(answer.ok);
      const tasks = answer.tasks.map(({ task }) => task);
      const expected = [
        'ready',
        'ready',
        'cancelled dependency',
        'failed dependency',
        'ready',
        'cancelled dependency',
        'failed dependency',
        'ready',
      ];
      assert.deepEqual(await ends(scene, tasks), expected);
      assert.deepEqual(
        answer.tasks.map(({ state, fresh }) => [state, fresh]),
        expected.map((words) => [words.split(' ')[0], true]),
      );
    },

    'a task in the middle is cancelled, and those below with it': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [1] }, { after: [1], afterFailure: 'run' });
      assert.deepEqual(await scene.store.taskCancel({ tasks: [tasks[1] as number] }), ['cancelled']);
      assert.deepEqual(await ends(scene, tasks), ['ready', 'cancelled requested', 'cancelled dependency', 'ready']);
      await end(scene, tasks[0] as number);
      assert.deepEqual(await states(scene, tasks), ['completed', 'cancelled', 'cancelled', 'ready']);
    },

    'tasks that are cancelled together are cancelled each by its own name': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [1] });
      const answers = await scene.store.taskCancel({ tasks: tasks.slice(0, 2) });
      assert.deepEqual(answers, ['cancelled', 'cancelled']);
      assert.deepEqual(await ends(scene, tasks), [
        'cancelled requested',
        'cancelled requested',
        'cancelled dependency',
      ]);
    },

    'a failed part is revived in one call, whatever the order, and what is complete stays so': async (scene) => {
      for (const reversed of [false, true]) {
        const tasks = await push(scene, {}, { after: [0] }, { after: [1] }, { after: [0, 2] });
        const [top, middle, low, join] = tasks as [number, number, number, number];
        await end(scene, top);
        await end(scene, middle, 'failed');
        assert.deepEqual(await ends(scene, [low, join]), ['cancelled dependency', 'cancelled dependency']);
        const part = reversed ? [join, low, middle] : [middle, low, join];
        const answers = await scene.store.taskRevive({ tasks: part });
        assert.ok(answers.every(({ ok }) => ok));
        assert.deepEqual(await states(scene, tasks), ['completed', 'ready', 'waiting', 'waiting']);
        await end(scene, middle);
        assert.deepEqual(await states(scene, tasks), ['completed', 'completed', 'ready', 'waiting']);
        await end(scene, low);
        await end(scene, join);
      }
    },

    'a failed part is revived in several calls from above, and each waits for what was revived before': async (
      scene,
    ) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [1] }, { after: [maybe(1), 2] });
      const [top, middle, low, join] = tasks as [number, number, number, number];
      await end(scene, top, 'failed');
      for (const task of tasks) assert.equal((await scene.store.taskRevive({ tasks: [task] }))[0]?.ok, true);
      assert.deepEqual(await states(scene, tasks), ['ready', 'waiting', 'waiting', 'waiting']);
      for (const task of [top, middle, low, join]) await end(scene, task);
      assert.deepEqual(await states(scene, tasks), ['completed', 'completed', 'completed', 'completed']);
    },

    'a part that is cancelled from below leaves nothing that was woken by it': async (scene) => {
      const tasks = await push(scene, {}, { after: [0], afterFailure: 'run' }, { after: [maybe(1)] });
      for (const task of tasks.toReversed()) {
        assert.deepEqual(await scene.store.taskCancel({ tasks: [task] }), ['cancelled']);
      }
      assert.deepEqual(await ends(scene, tasks), Array(3).fill('cancelled requested'));
      await scene.store.taskRevive({ tasks });
      assert.deepEqual(await states(scene, tasks), ['ready', 'waiting', 'waiting']);
    },

    'a dependent that is revived alone runs without what has failed, and waits for what is unfinished': async (
      scene,
    ) => {
      const tasks = await push(scene, {}, {}, { after: [0, 1] });
      const [one, two, child] = tasks as [number, number, number];
      await end(scene, one, 'failed');
      await scene.store.taskRevive({ tasks: [child] });
      assert.equal((await scene.get(child)).state, 'waiting');
      await end(scene, two);
      assert.equal((await scene.get(child)).state, 'ready');
      await end(scene, child, 'failed');
      await scene.store.taskRevive({ tasks: [child] });
      assert.equal((await scene.get(child)).state, 'ready');
    },

    'a dependent that has run is revived together with its parent, and waits for it again': async (scene) => {
      const [parent, child] = (await push(scene, {}, { after: [0] })) as [number, number];
      await end(scene, parent);
      await end(scene, child, 'failed');
      await scene.store.taskRevive({ tasks: [child, parent] });
      assert.deepEqual(await states(scene, [parent, child]), ['ready', 'waiting']);
      await end(scene, parent);
      await end(scene, child);
    },

    'a child that was parked for before a cancellation wakes nobody who was revived': async (scene) => {
      const [parent, task] = (await push(scene, {}, { after: [0] })) as [number, number];
      await end(scene, parent);
      const grant = await scene.claimOne();
      assert.equal(grant.task, task);
      const child = await scene.push({ queue: 'children' });
      assert.deepEqual(await park(scene, grant, { children: [child] }), { kind: 'parked' });
      await scene.store.taskCancel({ tasks: [task] });
      await scene.store.taskRevive({ tasks: [parent, task] });
      assert.deepEqual(await states(scene, [parent, task]), ['ready', 'waiting']);
      await end(scene, child);
      assert.deepEqual(await states(scene, [parent, task]), ['ready', 'waiting'], 'it waits for its parent');
      await end(scene, parent);
      assert.deepEqual(await states(scene, [task]), ['ready']);
    },

    'a parent that was parked for is woken from by any end, and needed again when both are revived': async (scene) => {
      const [parent, task] = (await push(scene, {}, { after: [0] })) as [number, number];
      await end(scene, parent);
      const grant = await scene.claimOne();
      await scene.store.taskRevive({ tasks: [parent] });
      assert.deepEqual(await park(scene, grant, { children: [parent] }), { kind: 'parked' });
      await end(scene, parent, 'failed');
      assert.deepEqual(await states(scene, [task]), ['ready'], 'its handler sees to it');
      await end(scene, task, 'failed');
      await scene.store.taskRevive({ tasks: [parent, task] });
      await end(scene, parent, 'failed');
      assert.deepEqual(await ends(scene, [task]), ['cancelled dependency']);
    },

    'a parent that had ended before its dependent came is waited for when both are revived': async (scene) => {
      const parent = await scene.push();
      await end(scene, parent, 'failed');
      const [child] = (await push(scene, { after: [need(parent)] })) as [number];
      await scene.store.taskRevive({ tasks: [parent, child] });
      assert.deepEqual(await states(scene, [parent, child]), ['ready', 'waiting']);
      await end(scene, parent);
      assert.equal((await scene.get(child)).state, 'ready');
    },

    'a parent that is revived alone leaves its dependents as they are': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [maybe(0)] });
      const [parent, skipped, child] = tasks as [number, number, number];
      await end(scene, parent, 'failed');
      await scene.store.taskRevive({ tasks: [parent] });
      assert.deepEqual(await ends(scene, [skipped, child]), ['cancelled dependency', 'ready']);
      await end(scene, parent);
      assert.deepEqual(await ends(scene, [skipped, child]), ['cancelled dependency', 'ready']);
    },

    'dependents beyond five hundred are carried on, and none waits for ever': async (scene) => {
      const duty = await scene.duty('any', DAY);
      const children = Array.from({ length: 1100 }, (): Wish => ({ after: [0] }));
      const tasks = await push(scene, {}, ...children);
      const count = async (): Promise<number> => (await scene.stats()).waiting;
      await end(scene, tasks[0] as number);
      assert.equal(await count(), 600);
      const first = await scene.store.depCarry({ duty, limit: 500 });
      assert.deepEqual([first.carried, first.lanes, first.more], [500, [await scene.lane()], true]);
      assert.equal(await carryAll(scene, duty, 70), 100);
      assert.equal(await count(), 0);
      const nothing = await scene.unchanged(() => scene.store.depCarry({ duty, limit: 500 }));
      assert.deepEqual(nothing, { carried: 0, lanes: [], more: false });
    },

    'what one transaction leaves of the dependents is told to the watchers at once': async (scene) => {
      let told = 0;
      const stop = scene.store.watch({ wanted: () => false, onChange: () => {}, onCarried: () => void told++ });
      try {
        const few = await push(scene, {}, { after: [0] });
        await end(scene, few[0] as number);
        assert.equal(told, 0, 'nothing was left');
        const many = Array.from({ length: 501 }, (): Wish => ({ after: [0] }));
        const tasks = await push(scene, {}, ...many);
        await end(scene, tasks[0] as number);
        assert.equal(told, 1, 'one dependent was left');
        const more = await push(scene, {}, ...many);
        await scene.store.taskCancel({ tasks: [more[0] as number] });
        assert.equal(told, 2, 'a cancelled task leaves them too');
      } finally {
        stop();
      }
      await carryAll(scene, await scene.duty('any', DAY));
    },

    'a failure is carried on through the levels below it': async (scene) => {
      const duty = await scene.duty('any', DAY);
      const many = Array.from({ length: 400 }, (_, i): Wish => ({ after: [i < 200 ? 0 : i - 199] }));
      const tasks = await push(scene, {}, ...many, { after: Array.from({ length: 200 }, (_, i) => 201 + i) });
      const last = await push(
        scene,
        ...Array.from({ length: 300 }, (): Wish => ({ after: [need(tasks[401] as number)] })),
      );
      await end(scene, tasks[0] as number, 'failed');
      await carryAll(scene, duty, 90);
      const { failed, cancelled, waiting } = await scene.stats();
      assert.deepEqual({ failed, cancelled, waiting }, { failed: 1, cancelled: 401 + last.length, waiting: 0 });
    },

    'what is still to be carried on when a task is revived waits for its next end': async (scene) => {
      const duty = await scene.duty('any', DAY);
      const [parent] = await push(scene, {}, ...Array.from({ length: 510 }, (): Wish => ({ after: [0] })));
      await end(scene, parent as number, 'failed');
      await scene.store.taskRevive({ tasks: [parent as number] });
      assert.equal(await carryAll(scene, duty), 0);
      assert.equal((await scene.stats()).waiting, 10);
      await end(scene, parent as number);
      const { waiting, ready, cancelled } = await scene.stats();
      assert.deepEqual({ waiting, ready, cancelled }, { waiting: 0, ready: 10, cancelled: 500 });
    },
  },
};
