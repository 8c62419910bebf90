import assert from 'node:assert/strict';
import { DAY, HOUR, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

/** Its lane was looked at. */
const NOTHING = { grants: [], blocked: [] };

export const CLAIM_TASK: Topic = {
  name: 'claim of one task',
  cases: {
    'a task can be claimed by its number, whatever stands before it': async (scene) => {
      await scene.push({ priority: 9 });
      const task = await scene.push();
      await scene.push({ priority: 9 });
      const holder = await scene.worker();
      const grant = await scene.claimOne({ task, ttlMs: 20_000 });
      const record = await scene.get(task);
      assert.deepEqual(
        [grant.task, grant.attempt, grant.tries, grant.queue, grant.leaseUntil],
        [task, 1, 1, 'mail', record.leaseUntil],
      );
      assert.deepEqual([record.state, record.holder], ['running', holder]);
      assert.equal((await scene.store.leaseOverdue({ limit: 1 })).nextInMs, 20_000);
      const stats = await scene.stats();
      assert.deepEqual([stats.ready, stats.running], [2, 1]);
    },

    'nothing is granted for a task that is not ready, and nothing else in its place': async (scene) => {
      await scene.worker();
      const running = await scene.running({ queue: 'running' });
      const scheduled = await scene.push({ delayMs: HOUR });
      const tasks = [running.task, scheduled, 4711];
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const grant = await scene.running({ queue: to });
        await scene.settle(grant, to);
        tasks.push(grant.task);
      }
      await scene.push();
      for (const task of tasks) assert.deepEqual(await scene.unchanged(() => scene.rawClaim({ task })), NOTHING);
    },

    'a task of a paused queue is not granted until the queue is resumed': async (scene) => {
      const task = await scene.push();
      await scene.worker();
      await scene.store.queuePause({ queue: 'mail', paused: true });
      assert.deepEqual(await scene.unchanged(() => scene.rawClaim({ task })), NOTHING);
      await scene.store.queuePause({ queue: 'mail', paused: false });
      assert.equal((await scene.claimOne({ task })).task, task);
    },

    'a disabled worker and an unknown one get nothing': needing(['whole'], async (scene) => {
      const task = await scene.push();
      await scene.enable(await scene.worker(), false);
      assert.equal(await scene.unchanged(() => scene.rawClaim({ task })), undefined);
      assert.equal(await scene.unchanged(() => scene.rawClaim({ task, holder: 4711 })), undefined);
    }),

    'two who ask for the same task at the same time: one gets it': async (scene) => {
      const task = await scene.push();
      const [one, two] = [await scene.newWorker(), await scene.newWorker()];
      const answers = await scene.store.taskClaim({
        claims: [one, two].map((holder) => ({ holder, ttlMs: TTL, max: 1, lanes: [], task })),
      });
      assert.deepEqual(
        answers.map((answer) => answer?.grants.length),
        [1, 0],
      );
      assert.equal((await scene.get(task)).holder, one);
    },

    'a worker that is no longer as it was judged, or has enough of such tasks, gets nothing': async (scene) => {
      const [lane] = await scene.store.laneIntern({
        lanes: [{ queue: 'mail', handler: 'send', placement: { maxPerWorker: 2 } }],
      });
      const id = lane?.id as number;
      const tasks = await scene.pushMany(3, { lane: id });
      const holder = await scene.worker();
      const { revision } = (await scene.store.workerFleet()).members.find(({ worker }) => worker === holder) ?? {};
      const ask = async (task: number | undefined, more: object = {}): Promise<number | undefined> => {
        const claim = { holder, ttlMs: TTL, max: 1, lanes: [], task, ...more };
        return (await scene.store.taskClaim({ claims: [claim] }))[0]?.grants.length;
      };
      assert.equal(await scene.unchanged(() => ask(tasks[0], { revision: (revision ?? 0) + 1 })), undefined);
      assert.equal(await ask(tasks[0], { revision, maxHeld: 2 }), 1);
      assert.equal(await ask(tasks[1], { revision, maxHeld: 2 }), 1);
      assert.equal(await scene.unchanged(() => ask(tasks[2], { revision, maxHeld: 2 })), 0);
      assert.equal(await ask(tasks[2], { maxHeld: 3 }), 1);
    },

    'a claim of a task that is repeated with its operation id gets the same grant': async (scene) => {
      const task = await scene.push();
      const first = await scene.claim({ task, op: 'op-1' });
      assert.equal(first.length, 1);
      assert.deepEqual(await scene.unchanged(() => scene.claim({ task, op: 'op-1' })), first);
      await scene.settle(first[0] as { task: number; attempt: number }, 'completed');
      assert.equal(await scene.unchanged(() => scene.rawClaim({ task, op: 'op-1' })), undefined);
    },

    'the fence moves as with any claim: the attempt before it is refused from then on': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const { task } = await scene.running({ maxTries: 5 });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      const newer = await scene.claimOne({ task });
      assert.deepEqual([newer.attempt, newer.tries, newer.suspect], [2, 2, true]);
      assert.equal(await scene.unchanged(() => scene.settle({ task, attempt: 1 }, 'completed')), 'lost');
      assert.equal(await scene.settle(newer, 'completed'), 'done');
    },

    'a long payload comes with the grant': async (scene) => {
      const payload = JSON.stringify('p'.repeat(3000));
      const task = await scene.push({ payload });
      assert.ok((await scene.claimOne({ task })).payload === payload);
    },
  },
};
