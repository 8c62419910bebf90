import assert from 'node:assert/strict';
import type { TaskEvent } from '../../../core/task/event.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import { allEvents } from '../kit/snapshot.ts';
import type { Topic } from '../kit/topic.ts';

const brief = ({ seq, change, state, task, attempt }: TaskEvent): string =>
  `${seq} ${change} ${state} ${task}/${attempt}`;

/** A busy hour: a few hundred events of most kinds, over three queues. */
async function busyHour(scene: Scene): Promise<void> {
  const duty = await scene.duty('any', 30 * DAY);
  const lanes: number[] = [];
  for (const queue of ['a', 'b', 'c']) {
    const item = await scene.draft({ queue });
    lanes.push(item.lane);
    await scene.pushMany(30, item);
    await scene.pushMany(5, { ...item, delayMs: MINUTE });
  }
  for (let round = 0; round < 6; round++) {
    const grants = await scene.claim({ max: 12, lanes });
    await Promise.all(
      grants.map(async (grant, n) => {
        if (n % 5 === 0) await scene.settle(grant, 'completed');
        else if (n % 5 === 1) await scene.settle(grant, 'failed', { reason: 'gave_up' });
        else if (n % 5 === 2) await scene.giveBack(grant, { delayMs: n % 2 === 0 ? 0 : 100 });
        else if (n % 5 === 3) await scene.store.taskCancel({ tasks: [grant.task] });
      }),
    );
    await scene.pass(TTL + 1);
    await scene.reap(duty, round % 2 === 0 ? 'again' : 'failed');
    await scene.store.taskStage({ duty, limit: 100 });
  }
}

export const EVENTS: Topic = {
  name: 'events',
  cases: {
    'a new store has no event, and a reader may wait at the beginning': async ({ store }) => {
      assert.deepEqual(await store.eventRead({ after: 0, limit: 10 }), { events: [], reset: false, last: 0 });
    },

    'numbers begin at 1 and have no gap and no repeat, whatever happens': async (scene) => {
      await busyHour(scene);
      const events = await allEvents(scene.store);
      assert.ok(events.length > 250, `only ${events.length} events`);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        Array.from({ length: events.length }, (_, n) => n + 1),
      );
    },

    'the life of a task is told in the order in which it happened': async (scene) => {
      const task = await scene.push({ delayMs: 100 });
      const duty = await scene.duty('any', DAY);
      await scene.pass(100);
      await scene.store.taskStage({ duty, limit: 1 });
      const first = await scene.claimOne();
      await scene.giveBack(first, { change: 'retried' });
      const second = await scene.claimOne();
      await scene.giveBack(second, { change: 'released', refund: true });
      await scene.claimOne();
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      const fourth = await scene.claimOne();
      await scene.store.taskCancel({ tasks: [task] });
      await scene.settle(fourth, 'completed');
      await scene.store.taskRevive({ tasks: [task] });
      await scene.store.taskCancel({ tasks: [task] });
      assert.deepEqual((await allEvents(scene.store)).map(brief), [
        `1 created scheduled ${task}/0`,
        `2 staged ready ${task}/0`,
        `3 claimed running ${task}/1`,
        `4 retried ready ${task}/1`,
        `5 claimed running ${task}/2`,
        `6 released ready ${task}/2`,
        `7 claimed running ${task}/3`,
        `8 expired ready ${task}/3`,
        `9 claimed running ${task}/4`,
        `10 cancel_requested running ${task}/4`,
        `11 completed completed ${task}/4`,
        `12 revived ready ${task}/4`,
        `13 cancelled cancelled ${task}/4`,
      ]);
    },

    'an event tells its queue, its time and when the task was made': async (scene) => {
      const answer = await scene.pushAnswer({ queue: 'post' });
      assert.ok(answer.ok);
      await scene.pass(250);
      await scene.store.taskCancel({ tasks: [answer.task] });
      const [created, cancelled] = await allEvents(scene.store);
      assert.deepEqual([created?.queue, created?.at, created?.createdAt], ['post', answer.createdAt, answer.createdAt]);
      assert.deepEqual(
        [cancelled?.queue, cancelled?.at, cancelled?.createdAt],
        ['post', answer.createdAt + 250, answer.createdAt],
      );
    },

    'a reader may stop and go on at any event, also among those of one write': async (scene) => {
      const tasks = await scene.pushMany(20);
      await scene.claim({ max: 20 });
      const all = await allEvents(scene.store);
      assert.equal(all.length, 40);
      for (let after = 0; after <= 40; after++) {
        for (const limit of [1, 7, 100]) {
          const page = await scene.eventPage({ after, limit });
          assert.deepEqual(page.events, all.slice(after, after + limit), `after ${after}, ${limit} at most`);
          assert.equal(page.reset, false);
          assert.equal(page.last, Math.min(40, after + limit));
        }
      }
      assert.equal(tasks.length, 20);
    },

    'a reader at the end gets what comes next, and only that': async (scene) => {
      await scene.push();
      assert.deepEqual(await scene.eventPage({ after: 1, limit: 10 }), { events: [], reset: false, last: 1 });
      const task = await scene.push();
      const page = await scene.eventPage({ after: 1, limit: 10 });
      assert.deepEqual(page.events.map(brief), [`2 created ready ${task}/0`]);
      assert.equal(page.last, 2);
    },

    'more events than one write packs together are read in order': async (scene) => {
      await scene.pushMany(1100);
      const events = await allEvents(scene.store);
      assert.equal(events.length, 1100);
      const [first] = events;
      for (const [n, event] of events.entries()) assert.equal(event.task, (first as TaskEvent).task + n);
    },

    'a write that changes nothing tells nothing': async (scene) => {
      const grant = await scene.running();
      const before = await allEvents(scene.store);
      await scene.store.leaseRenew({ items: [{ task: grant.task, attempt: 1, ttlMs: HOUR }] });
      await scene.settle({ task: grant.task, attempt: 7 }, 'completed');
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.deepEqual(await allEvents(scene.store), before);
    },

    'a reader below what is kept is told to start over, and goes on without a gap from there': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      await scene.pushMany(10);
      await scene.pass(2 * HOUR);
      const young = await scene.pushMany(5);
      await scene.prune(duty, HOUR);
      const page = await scene.eventPage({ after: 3, limit: 100 });
      assert.equal(page.reset, true);
      assert.deepEqual(
        page.events.map(({ seq, task }) => [seq, task]),
        young.map((task, n) => [11 + n, task]),
      );
      assert.equal(page.last, 15);
      assert.equal((await scene.eventPage({ after: 0, limit: 2 })).reset, true);
      const at = await scene.eventPage({ after: 10, limit: 2 });
      assert.deepEqual([at.reset, at.events.map(({ seq }) => seq), at.last], [false, [11, 12], 12]);
      assert.deepEqual(await scene.eventPage({ after: 15, limit: 2 }), { events: [], reset: false, last: 15 });
    },

    'a reader ahead of the newest event is told to start over, as after a restore': async (scene) => {
      await scene.pushMany(3);
      assert.deepEqual(await scene.eventPage({ after: 1000, limit: 10 }), { events: [], reset: true, last: 3 });
    },

    'numbers go on after everything old was pruned': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const [task] = await scene.pushMany(3);
      await scene.pass(DAY);
      await scene.prune(duty, HOUR);
      const before = await scene.eventPage({ after: 3, limit: 10 });
      assert.deepEqual(before, { events: [], reset: false, last: 3 });
      await scene.store.taskCancel({ tasks: [task as number] });
      const page = await scene.eventPage({ after: 3, limit: 10 });
      assert.deepEqual([page.reset, page.events.map(({ seq }) => seq)], [false, [4]]);
    },

    'a deposed holder gives no event its number': async (scene) => {
      const deposed = await scene.duty('numbers', MINUTE);
      await scene.pass(MINUTE + 1);
      const holder = await scene.duty('numbers', DAY);
      await scene.push();
      assert.equal(await refusal(scene.store.eventNumber({ duty: deposed, limit: 10 })), 'DUTY_LOST');
      const unheard = { name: 'nobody holds this', epoch: 1 };
      assert.equal(await refusal(scene.store.eventNumber({ duty: unheard, limit: 10 })), 'DUTY_LOST');
      assert.ok(holder.epoch > deposed.epoch);
    },
  },
};
