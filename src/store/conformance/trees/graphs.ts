import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { TaskState } from '../../../core/task/task.ts';
import type { GraphTask } from '../../store.ts';
import { answerOf, draft, end, ends, family, maybe, need, push, states } from '../kit/graph-scene.ts';
import { DAY, HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { parkAll } from '../kit/turning.ts';

export const GRAPHS: Topic = {
  name: 'graphs',
  needs: ['whole'],
  cases: {
    'a chain runs link by link': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [1] });
      assert.deepEqual(await states(scene, tasks), ['ready', 'waiting', 'waiting']);
      for (const [i, task] of tasks.entries()) {
        const [grant, ...others] = await scene.claim({ max: 10 });
        assert.deepEqual([grant?.task, others], [task, []]);
        await scene.settle(grant as Lease, 'completed');
        assert.equal((await states(scene, tasks))[i + 1], i === 2 ? undefined : 'ready');
      }
    },

    'an item may need one that comes after it': async (scene) => {
      const [late, early] = (await push(scene, { after: [1] }, {})) as [number, number];
      assert.deepEqual(await states(scene, [late, early]), ['waiting', 'ready']);
      await end(scene, early);
      await end(scene, late);
    },

    'the join of a diamond waits for both of its sides': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [0] }, { after: [1, 2] });
      const [top, left, right, join] = tasks as [number, number, number, number];
      await end(scene, top);
      assert.deepEqual(await states(scene, tasks), ['completed', 'ready', 'ready', 'waiting']);
      await end(scene, right);
      assert.equal((await scene.get(join)).state, 'waiting');
      await end(scene, left);
      assert.equal((await scene.get(join)).state, 'ready');
      await end(scene, join);
    },

    'a join of twenty is woken by the last of them, also when they end in one call': async (scene) => {
      const parents = Array.from({ length: 20 }, () => ({}));
      const tasks = await push(scene, ...parents, { after: parents.map((_, i) => i) });
      const join = tasks[20] as number;
      const grants = await scene.claim({ max: 20 });
      const items = grants.map(({ task, attempt }) => ({ task, attempt, to: 'completed', reason: 'none' }) as const);
      await scene.store.taskSettle({ items: items.slice(0, 7) });
      assert.equal((await scene.get(join)).state, 'waiting');
      await scene.store.taskSettle({ items: items.slice(7) });
      const { events } = await scene.look();
      assert.deepEqual(
        events.filter(({ task }) => task === join).map(({ change, state }) => [change, state]),
        [
          ['created', 'waiting'],
          ['woken', 'ready'],
        ],
      );
    },

    'a task is ready from the moment at which it was woken': async (scene) => {
      const [one, two] = (await push(scene, {}, { after: [0] })) as [number, number];
      await scene.pass(HOUR);
      await end(scene, one);
      const claim = { holder: await scene.worker(), ttlMs: TTL, max: 1 };
      const lanes = [{ lane: await scene.lane(), max: 1, minAgeMs: 1000 }];
      const [young] = await scene.store.taskClaim({ claims: [{ ...claim, lanes }] });
      assert.deepEqual(young?.grants, []);
      await scene.pass(1000);
      const [aged] = await scene.store.taskClaim({ claims: [{ ...claim, lanes }] });
      assert.equal(aged?.grants[0]?.task, two);
    },

    'what waits and is due later is scheduled when it is woken, and its patience begins when it is due': async (
      scene,
    ) => {
      const duty = await scene.duty('any', DAY);
      const wish = { delayMs: HOUR, waitTimeoutMs: 1000 };
      const [one, two, three] = (await push(scene, {}, { after: [0], ...wish }, wish)) as [number, number, number];
      const { createdAt } = await scene.get(two);
      const waiting = await scene.get(two);
      assert.deepEqual([waiting.runAt, waiting.expiresAt, waiting.leaseUntil], [undefined, undefined, undefined]);
      await scene.pass(1000);
      assert.equal((await scene.store.taskExpire({ duty, limit: 10 })).expired, 0);
      await end(scene, one);
      for (const task of [two, three]) {
        const record = await scene.get(task);
        assert.deepEqual(
          [record.state, record.runAt, record.expiresAt],
          ['scheduled', createdAt + HOUR, createdAt + HOUR + 1000],
        );
      }
      await scene.pass(HOUR);
      assert.equal((await scene.store.taskStage({ duty, limit: 10 })).staged, 2);
      assert.equal((await scene.store.taskExpire({ duty, limit: 10 })).expired, 2);
    },

    'an optional edge waits for the end, whatever it is': async (scene) => {
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const [parent, child] = (await push(scene, {}, { after: [maybe(0)] })) as [number, number];
        assert.equal((await scene.get(child)).state, 'waiting');
        await end(scene, parent, to);
        await end(scene, child);
      }
    },

    'one that is named twice is waited for once, and is needed if it is so once': async (scene) => {
      const tasks = await push(scene, {}, { after: [0, 0] }, { after: [maybe(0), 0] }, { after: [maybe(0), maybe(0)] });
      await end(scene, tasks[0] as number, 'failed');
      const [, ...others] = await ends(scene, tasks);
      assert.deepEqual(others, ['cancelled dependency', 'cancelled dependency', 'ready']);
    },

    'an edge to a task that runs is met when it ends': async (scene) => {
      const grant = await scene.running();
      const [child] = (await push(scene, { after: [need(grant.task)] })) as [number];
      assert.equal((await scene.get(child)).state, 'waiting');
      assert.equal(await scene.settle(grant, 'completed', { result: '"r"' }), 'done');
      assert.equal((await scene.get(child)).state, 'ready');
      await end(scene, child);
    },

    'an edge to a task that is nowhere is refused, and nothing is stored': async (scene) => {
      const there = await scene.push();
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const wishes = [{ unique, op: 'o' }, { after: [0, need(there)] }, { after: [need(4711)] }];
      assert.deepEqual(await scene.unchanged(() => answerOf(scene, wishes)), { ok: false, unknown: 4711 });
      const [fresh] = await push(scene, { unique, op: 'o' });
      assert.equal((await scene.get(fresh as number)).state, 'ready');
    },

    'a key that another input has is refused, and nothing is stored': async (scene) => {
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const holder = await scene.push({ unique });
      const other = { unique: { ...unique, hash: 2 } };
      assert.deepEqual(await scene.unchanged(() => answerOf(scene, [{}, { after: [0] }, other])), {
        ok: false,
        conflict: holder,
        item: 2,
      });
      const key = { unique: { ...unique, key: 'l' } };
      const twice = [key, { unique: { ...key.unique, hash: 2 } }];
      assert.deepEqual(await scene.unchanged(() => answerOf(scene, twice)), { ok: false, conflict: 0, item: 1 });
    },

    'an item whose key leads to a task stands for that task': async (scene) => {
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const holder = await scene.push({ unique });
      const answer = await answerOf(scene, [{ unique }, { after: [0] }]);
      assert.ok(answer.ok);
      const [first, second] = answer.tasks;
      assert.deepEqual([first?.task, first?.fresh, second?.fresh], [holder, false, true]);
      assert.equal(second?.state, 'waiting');
      await end(scene, holder);
      await end(scene, second?.task as number);
      // It has ended now, and its dependents need not wait.
      const [again, third] = (await push(scene, { unique }, { after: [0] })) as [number, number];
      assert.deepEqual([again, await states(scene, [third])], [holder, ['ready']]);
    },

    'two items of one key or operation are one task': async (scene) => {
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const tasks = await push(scene, { unique }, { op: 'o' }, { unique }, { op: 'o' }, { after: [2, 3] });
      const [one, two, three, four, join] = tasks as [number, number, number, number, number];
      assert.deepEqual([three, four], [one, two]);
      await end(scene, one);
      await end(scene, two);
      await end(scene, join);
    },

    'a graph under operation ids that comes again is the same graph': async (scene) => {
      const wishes = [{ op: 'a' }, { op: 'b', after: [0] }];
      const tasks = await push(scene, ...wishes);
      const again = await scene.unchanged(() => answerOf(scene, wishes));
      assert.ok(again.ok);
      assert.deepEqual(
        again.tasks.map(({ task, fresh }) => [task, fresh]),
        tasks.map((task) => [task, false]),
      );
    },

    'a task that waits for others cannot be claimed': async (scene) => {
      const [, child] = (await push(scene, { queue: 'other' }, { after: [0] })) as [number, number];
      assert.deepEqual(await scene.claim({ max: 10 }), []);
      assert.deepEqual(await scene.claim({ task: child }), []);
    },

    'a settle that comes again finds its dependents counted down once': async (scene) => {
      const tasks = await push(scene, {}, {}, { after: [0, 1] });
      const grant = await scene.claimOne({ task: tasks[0] as number });
      assert.equal(await scene.settle(grant, 'completed', { result: '1' }), 'done');
      assert.equal(await scene.unchanged(() => scene.settle(grant, 'completed', { result: '1' })), 'repeated');
      assert.equal((await scene.get(tasks[2] as number)).state, 'waiting');
      await end(scene, tasks[1] as number);
      assert.equal((await scene.get(tasks[2] as number)).state, 'ready');
    },

    'of two settles of one lease in one call the first counts': async (scene) => {
      const [one, , child] = (await push(scene, {}, {}, { after: [0, 1] })) as [number, number, number];
      const { task, attempt } = await scene.claimOne({ task: one });
      const item = { task, attempt, to: 'completed', reason: 'none' } as const;
      assert.deepEqual(await scene.store.taskSettle({ items: [item, item] }), ['done', 'repeated']);
      assert.equal((await scene.get(child)).state, 'waiting');
    },

    'a stale attempt is lost and counts nothing down': async (scene) => {
      const { parent, children } = await family(scene);
      await scene.pass(TTL + 1);
      await scene.reap(await scene.duty(), 'again');
      assert.equal(await scene.unchanged(() => scene.settle(parent, 'completed')), 'lost');
      const grant = await scene.claimOne({ task: parent.task });
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        assert.equal(await scene.unchanged(() => scene.settle(parent, to)), 'lost');
      }
      assert.deepEqual(await states(scene, children), ['waiting', 'waiting', 'waiting', 'waiting']);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
      assert.deepEqual(await states(scene, children), ['ready', 'ready', 'ready', 'ready']);
    },

    'watched and other tasks are settled in one call, each by itself': async (scene) => {
      const [parent, child] = (await push(scene, {}, { after: [0] })) as [number, number];
      const [plain, failing] = (await scene.pushMany(2)) as [number, number];
      const grants = new Map<number, Lease>();
      for (const grant of await scene.claim({ max: 3 })) grants.set(grant.task, grant);
      const items = [parent, plain, failing].map((task) => {
        const { attempt } = grants.get(task) as Lease;
        const fails = task === failing;
        return { task, attempt, to: fails ? 'failed' : 'completed', reason: fails ? 'gave_up' : 'none' } as const;
      });
      const stale = { task: plain, attempt: 7, to: 'completed', reason: 'none' } as const;
      assert.deepEqual(await scene.store.taskSettle({ items: [...items, stale] }), ['done', 'done', 'done', 'lost']);
      assert.equal((await scene.get(child)).state, 'ready');
    },

    'a task knows what it waits for, and what came of it': async (scene) => {
      const long = JSON.stringify('r'.repeat(5000));
      const tasks = await push(scene, {}, {}, {}, { after: [0, 1, maybe(2)] });
      const [one, two, three, join] = tasks as [number, number, number, number];
      await end(scene, one, 'completed', '"short"');
      await end(scene, two, 'completed', long);
      const createdAt = (await scene.get(one)).createdAt;
      const list = (state: TaskState, result?: string) => [
        { task: one, createdAt, optional: false, state: 'completed', result: '"short"' },
        { task: two, createdAt, optional: false, state: 'completed', result: long },
        { task: three, createdAt, optional: true, state, result },
      ];
      assert.deepEqual(await scene.store.depList({ task: join }), list('ready'));
      await end(scene, three, 'failed', '"e"');
      assert.deepEqual(await scene.store.depList({ task: join }), list('failed', '"e"'));
      await end(scene, join);
      assert.deepEqual(await scene.store.depList({ task: join }), list('failed', '"e"'));
      assert.deepEqual(await scene.store.depList({ task: one }), []);
    },

    'a task knows who waits for it': async (scene) => {
      const tasks = await push(scene, {}, { after: [0] }, { after: [maybe(0), 1] });
      const [one, two, three] = tasks as [number, number, number];
      const edges = [
        { up: one, down: two, optional: false },
        { up: one, down: three, optional: true },
        { up: two, down: three, optional: false },
      ];
      for (const order of [tasks, [three, two, one, one]]) {
        assert.deepEqual(await scene.store.depDependents({ tasks: order }), edges);
        assert.deepEqual(await scene.store.depNeeds({ tasks: order }), edges);
      }
      assert.deepEqual(await scene.store.depDependents({ tasks: [two] }), edges.slice(2));
      assert.deepEqual(await scene.store.depNeeds({ tasks: [two] }), edges.slice(0, 1));
      for (const to of ['completed', 'failed', 'completed'] as const) {
        const [grant] = await scene.claim({ max: 1 });
        if (grant !== undefined) await scene.settle(grant, to, { reason: to === 'failed' ? 'gave_up' : 'none' });
      }
      assert.deepEqual(await scene.store.depDependents({ tasks }), edges, 'also when they have ended');
    },

    'a task that has parked to wait for its children is no dependent of theirs': async (scene) => {
      const child = await scene.push({ queue: 'children' });
      const parent = await scene.running();
      const item = { task: parent.task, attempt: parent.attempt, key: 'k', children: [child] };
      assert.deepEqual(await parkAll(scene.store, [item]), [{ kind: 'parked' }]);
      assert.deepEqual(await scene.store.depDependents({ tasks: [child] }), []);
      assert.deepEqual(await scene.store.depNeeds({ tasks: [parent.task] }), []);
    },

    'ten thousand tasks are pushed in one call': async (scene) => {
      const item = await draft(scene, {});
      const items = Array.from({ length: 10_000 }, (_, i): GraphTask => {
        return { ...item, after: i === 0 ? [] : [{ item: Math.floor((i - 1) / 100), optional: false }] };
      });
      const answer = await scene.store.graphPush({ items });
      assert.ok(answer.ok && answer.tasks.length === 10_000);
      const { ready, waiting } = await scene.stats();
      assert.deepEqual({ ready, waiting }, { ready: 1, waiting: 9999 });
      await end(scene, answer.tasks[0]?.task as number);
      assert.equal((await scene.stats()).ready, 100);
      // Reading all records would take longer than the case itself.
      await scene.store.close();
      scene.closed = true;
    },

    'long payloads and keys are kept with the tasks of a graph': async (scene) => {
      const payload = JSON.stringify('p'.repeat(5000));
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const [, child] = (await push(scene, {}, { after: [0], payload, unique })) as [number, number];
      const record = await scene.get(child);
      assert.deepEqual([record.payload, record.unique], [payload, 'k']);
      assert.equal(await scene.store.taskByKey({ queue: 'mail', key: 'k' }), child);
    },

    'the pruner takes a parent, and its dependent still knows that there was one': async (scene) => {
      const duty = await scene.duty('pruner', DAY);
      const [parent, child] = (await push(scene, {}, { after: [0] })) as [number, number];
      await end(scene, parent, 'completed', '1');
      await scene.pass(HOUR);
      await end(scene, child);
      await scene.push();
      assert.equal((await scene.prune(duty, 1000)).tasks, 1);
      assert.deepEqual(await scene.store.depList({ task: child }), [
        { task: parent, createdAt: undefined, optional: false, state: undefined, result: undefined },
      ]);
      await scene.pass(HOUR);
      assert.equal((await scene.prune(duty, 1000)).tasks, 1);
      assert.deepEqual(await scene.store.depList({ task: child }), []);
      assert.deepEqual(await scene.store.depDependents({ tasks: [parent] }), []);
    },

    'whoever listens hears of the lanes in which tasks were woken': async (scene) => {
      const heard: number[] = [];
      const stop = scene.store.watch({ wanted: () => false, onChange: (lanes) => void heard.push(...(lanes ?? [])) });
      const tasks = await push(scene, { queue: 'one' }, { queue: 'two', after: [0] });
      await end(scene, tasks[0] as number);
      stop();
      assert.deepEqual(heard, [await scene.lane('two')]);
    },
  },
};
