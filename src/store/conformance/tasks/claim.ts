import assert from 'node:assert/strict';
import type { ClaimAnswer, Grant } from '../../store.ts';
import { HOUR, type Scene, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const tasksOf = (grants: readonly Grant[] | undefined): readonly number[] => (grants ?? []).map(({ task }) => task);
const granted = (answer: ClaimAnswer | undefined): readonly number[] => tasksOf(answer?.grants);

async function pushPriorities(scene: Scene, priorities: readonly number[]): Promise<readonly number[]> {
  const tasks: number[] = [];
  for (const priority of priorities) tasks.push(await scene.push({ priority }));
  return tasks;
}

export const CLAIM: Topic = {
  name: 'claim',
  cases: {
    'a claim hands out the task with its next attempt, counts the try and says how long the lease is': async (
      scene,
    ) => {
      const item = await scene.draft({ priority: 3, maxTries: 4, payload: '{"x":1}' });
      const task = await scene.push(item);
      await scene.pass(500);
      const holder = await scene.worker();
      const grant = await scene.claimOne({ ttlMs: 20_000 });
      const record = await scene.get(task);
      assert.deepEqual(grant, {
        task,
        attempt: 1,
        queue: 'mail',
        handler: 'send',
        lane: item.lane,
        spec: item.spec,
        priority: 3,
        tries: 1,
        maxTries: 4,
        bounces: 0,
        createdAt: record.createdAt,
        leaseUntil: record.leaseUntil,
        payload: '{"x":1}',
        suspect: false,
      });
      assert.deepEqual(
        { state: record.state, attempt: record.attempt, tries: record.tries, holder: record.holder },
        { state: 'running', attempt: 1, tries: 1, holder },
      );
      assert.equal(record.startedAt, record.createdAt + 500);
      const { nextInMs } = await scene.store.leaseOverdue({ limit: 1 });
      assert.equal(nextInMs, 20_000);
      const stats = await scene.stats();
      assert.deepEqual([stats.ready, stats.running], [0, 1]);
    },

    'each claim counts the attempt and the try up by one': async (scene) => {
      const first = await scene.running({ maxTries: 10 });
      await scene.giveBack(first);
      const second = await scene.claimOne();
      assert.deepEqual([second.attempt, second.tries], [2, 2]);
      await scene.giveBack(second, { refund: true });
      const third = await scene.claimOne();
      assert.deepEqual([third.attempt, third.tries], [3, 2]);
    },

    'higher priorities go first, equal ones in the order of their push': async (scene) => {
      const [a, b, c, d, e, f] = await pushPriorities(scene, [0, 5, 0, -3, 5, 9]);
      for (const task of [f, b, e, a, c, d]) assert.equal((await scene.claimOne()).task, task);
    },

    'a large claim answers in the same order': async (scene) => {
      const [a, b, c, d, e, f] = await pushPriorities(scene, [0, 5, 0, -3, 5, 9]);
      assert.deepEqual(tasksOf(await scene.claim({ max: 100 })), [f, b, e, a, c, d]);
    },

    'a claim that cannot take everything takes the first in order, whether it asks for few or for many': async (
      scene,
    ) => {
      const priorities = Array.from({ length: 40 }, (_, n) => (n * 7) % 11);
      const tasks = await pushPriorities(scene, priorities);
      const order = tasks
        .map((task, n) => ({ task, priority: priorities[n] as number }))
        .sort((a, b) => b.priority - a.priority || a.task - b.task)
        .map(({ task }) => task);
      let at = 0;
      for (const max of [3, 12, 1, 9, 7, 8]) {
        assert.deepEqual(tasksOf(await scene.claim({ max })), order.slice(at, at + max), `${max} at once`);
        at += max;
      }
    },

    'a retried task goes before younger ones of its priority': async (scene) => {
      const [old] = await scene.pushMany(1);
      const grant = await scene.claimOne();
      const [young] = await scene.pushMany(1);
      await scene.giveBack(grant);
      assert.equal((await scene.claimOne()).task, old);
      assert.equal((await scene.claimOne()).task, young);
    },

    'a lane gives no more than it was asked for, and the call no more than its total': async (scene) => {
      const a = await scene.draft({ queue: 'a' });
      const b = await scene.draft({ queue: 'b' });
      const c = await scene.draft({ queue: 'c' });
      for (const item of [a, b, c]) await scene.pushMany(20, item);
      const holder = await scene.worker();
      const [answer] = await scene.store.taskClaim({
        claims: [
          {
            holder,
            ttlMs: TTL,
            max: 15,
            lanes: [
              { lane: a.lane, max: 2 },
              { lane: b.lane, max: 10 },
              { lane: c.lane, max: 10 },
            ],
          },
        ],
      });
      const count = (lane: number): number => (answer?.grants ?? []).filter((grant) => grant.lane === lane).length;
      assert.deepEqual([count(a.lane), count(b.lane), count(c.lane)], [2, 10, 3]);
    },

    'lanes are served in the order in which the claim names them': async (scene) => {
      const a = await scene.draft({ queue: 'a' });
      const b = await scene.draft({ queue: 'b', priority: 9 });
      await scene.push(b);
      const task = await scene.push(a);
      assert.deepEqual(tasksOf(await scene.claim({ max: 1, lanes: [a.lane, b.lane] })), [task]);
    },

    'a claim takes only from the lanes that it names': async (scene) => {
      await scene.push({ queue: 'mail', handler: 'send' });
      await scene.worker();
      const other = await scene.lane('mail', 'sort');
      assert.deepEqual(await scene.unchanged(() => scene.claim({ max: 10, lanes: [other] })), []);
    },

    'a claim for nothing, from nothing, or from an empty lane gets nothing': async (scene) => {
      await scene.push();
      const lane = await scene.lane();
      const empty = await scene.lane('empty', 'h');
      const holder = await scene.worker();
      await scene.unchanged(async () => {
        assert.deepEqual(await scene.store.taskClaim({ claims: [] }), []);
        assert.deepEqual(await scene.claim({ max: 0 }), []);
        assert.deepEqual(await scene.claim({ max: 10, lanes: [] }), []);
        assert.deepEqual(await scene.claim({ max: 10, lanes: [empty] }), []);
        const claims = [{ holder, ttlMs: TTL, max: 5, lanes: [{ lane, max: 0 }] }];
        assert.deepEqual(await scene.store.taskClaim({ claims }), [{ grants: [], blocked: [] }]);
      });
    },

    'two claims in one call never get the same task': async (scene) => {
      const tasks = await scene.pushMany(10);
      const lane = await scene.lane();
      const claim = (holder: number, max: number) => ({ holder, ttlMs: TTL, max, lanes: [{ lane, max }] });
      const one = await scene.newWorker();
      const two = await scene.newWorker();
      const [first, second] = await scene.store.taskClaim({ claims: [claim(one, 4), claim(two, 9)] });
      assert.deepEqual(granted(first), tasks.slice(0, 4));
      assert.deepEqual(granted(second), tasks.slice(4));
      assert.equal((await scene.get(tasks[0] as number)).holder, one);
      assert.equal((await scene.get(tasks[9] as number)).holder, two);
    },

    'a lane that a claim names twice gives each task once': async (scene) => {
      const tasks = await scene.pushMany(3);
      const lane = await scene.lane();
      assert.deepEqual(tasksOf(await scene.claim({ max: 2, lanes: [lane, lane] })), tasks.slice(0, 2));
      assert.deepEqual(tasksOf(await scene.claim({ max: 10, lanes: [lane, lane] })), tasks.slice(2));
    },

    'claims that are made at the same time share the tasks out, each once': async (scene) => {
      const tasks = await scene.pushMany(100);
      const claims = await Promise.all(Array.from({ length: 25 }, (_, n) => scene.claim({ max: 1 + (n % 9) })));
      const got = claims.flatMap(tasksOf);
      assert.equal(new Set(got).size, got.length);
      assert.deepEqual(
        got.toSorted((a, b) => a - b),
        tasks.slice(0, got.length),
      );
      assert.equal(got.length, 100);
    },

    'a claim of hundreds of tasks gets them all in one answer': async (scene) => {
      const tasks = await scene.pushMany(600);
      assert.deepEqual(tasksOf(await scene.claim({ max: 1000 })), tasks);
      assert.equal((await scene.stats()).running, 600);
    },

    'a disabled worker gets nothing, keeps what it has, and gets work again when it is enabled': needing(
      ['whole'],
      async (scene) => {
        const held = await scene.running();
        await scene.push();
        const worker = await scene.worker();
        await scene.enable(worker, false);
        assert.equal(await scene.unchanged(() => scene.rawClaim({ max: 5 })), undefined, 'its lanes were called empty');
        const [renewed] = await scene.store.leaseRenew({ items: [{ task: held.task, attempt: 1, ttlMs: HOUR }] });
        assert.equal(renewed?.held, true);
        assert.equal(await scene.settle(held, 'completed'), 'done');
        await scene.enable(worker, true);
        assert.equal((await scene.claim({ max: 5 })).length, 1);
      },
    ),

    'a disabled worker does not keep work from the others in its call': needing(['whole'], async (scene) => {
      const [task] = await scene.pushMany(1);
      const lane = await scene.lane();
      const off = await scene.newWorker();
      const on = await scene.newWorker();
      await scene.enable(off, false);
      const answers = await scene.store.taskClaim({
        claims: [off, on].map((holder) => ({ holder, ttlMs: TTL, max: 1, lanes: [{ lane, max: 1 }] })),
      });
      assert.deepEqual(answers.map(granted), [[], [task]]);
    }),

    'a worker that was never registered gets nothing': async (scene) => {
      await scene.push();
      assert.equal(
        await scene.unchanged(() => scene.rawClaim({ holder: 4711 })),
        undefined,
        'its lanes were called empty',
      );
    },
  },
};
