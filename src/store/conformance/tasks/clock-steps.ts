import assert from 'node:assert/strict';
import { normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { CounterRecord, DutyTenure, GraphTask, Lane } from '../../store.ts';
import { HOUR, MINUTE, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { parkAll } from '../kit/turning.ts';

const BACK = 3 * HOUR;
const WAIT = 30 * MINUTE;

/** A pass of the stager, which finds nothing to do. */
async function stage({ store }: Scene, duty: DutyTenure): Promise<void> {
  assert.equal((await store.taskStage({ duty, limit: 10 })).staged, 0);
}

/** Of a store with a clock of its own, real time has passed besides: seconds at most. */
function near(actual: number | undefined, expected: number, what: string): void {
  assert.ok(
    actual !== undefined && actual <= expected && actual > expected - MINUTE,
    `${what}: ${actual}, ${expected}`,
  );
}

const dueIn = async (scene: Scene, task: number): Promise<number> =>
  ((await scene.get(task)).runAt ?? Number.NaN) - scene.world.clock.wall();

const endsIn = async (scene: Scene, task: number): Promise<number> =>
  ((await scene.get(task)).expiresAt ?? Number.NaN) - scene.world.clock.wall();

/** A task that is parked for a while. */
async function parked(scene: Scene, timeoutMs: number): Promise<number> {
  const { task, attempt } = await scene.running();
  await parkAll(scene.store, [{ key: 'k', timeoutMs, task, attempt }]);
  return task;
}

async function graph({ store }: Scene, items: readonly GraphTask[]): Promise<readonly number[]> {
  const answer = await store.graphPush({ items });
  assert.ok(answer.ok);
  return answer.tasks.map(({ task }) => task);
}

export const CLOCK_STEPS: Topic = {
  name: 'a clock that is set back',
  needs: ['whole'],
  cases: {
    'no retry, delay, wait or wait timeout takes longer': async (scene) => {
      const duty = await scene.duty('stager');
      const failed = await scene.running();
      await scene.giveBack(failed, { delayMs: WAIT });
      const delayed = await scene.push({ delayMs: WAIT, waitTimeoutMs: WAIT });
      const late = await scene.push({ queue: 'nobody', waitTimeoutMs: WAIT });
      const waiting = await parked(scene, WAIT);
      await stage(scene, duty);
      await scene.setBack(BACK);
      await stage(scene, duty);
      near(await dueIn(scene, failed.task), WAIT, 'retry');
      near(await dueIn(scene, delayed), WAIT, 'delay');
      near(await endsIn(scene, delayed), 2 * WAIT, 'the timeout of a delayed task');
      near(await endsIn(scene, late), WAIT, 'timeout');
      near(await dueIn(scene, waiting), WAIT, 'wait');
      const { deadline } = (await scene.store.waitGet({ task: waiting })) ?? {};
      near((deadline ?? Number.NaN) - scene.world.clock.wall(), WAIT, 'deadline');
      await scene.pass(WAIT);
      assert.equal((await scene.store.taskStage({ duty, limit: 10 })).staged, 3);
    },

    'the delay of a task that waits for others takes no longer': async (scene) => {
      const duty = await scene.duty('stager');
      const first = { ...(await scene.draft()), after: [], afterFailure: 'cancel' } as const;
      const later = { ...first, delayMs: WAIT, after: [{ item: 0, optional: false }] };
      const [up, down] = await graph(scene, [first, later]);
      await stage(scene, duty);
      await scene.setBack(BACK);
      await stage(scene, duty);
      await scene.settle(await scene.claimOne({ task: up as number }), 'completed');
      assert.equal((await scene.get(down as number)).state, 'scheduled');
      near(await dueIn(scene, down as number), WAIT, 'delay');
    },

    'a lease is held no longer, and one that is renewed is held for its time': async (scene) => {
      const duty = await scene.duty('stager');
      await scene.running({}, { ttlMs: HOUR });
      const { task, attempt } = await scene.running();
      await stage(scene, duty);
      await scene.setBack(BACK);
      await scene.store.leaseRenew({ items: [{ task, attempt, ttlMs: TTL }] });
      await stage(scene, duty);
      assert.equal((await scene.overdue(10)).nextInMs, TTL);
      await scene.pass(TTL + 1);
      const { leases, nextInMs } = await scene.overdue(10);
      assert.deepEqual(
        leases.map((lease) => lease.task),
        [task],
      );
      near(nextInMs, HOUR - TTL - 1, 'lease');
    },

    'what was asked for at a calendar time keeps it, and its next try does not': async (scene) => {
      const duty = await scene.duty('stager');
      const runAt = scene.world.clock.wall() + HOUR;
      const dated = await scene.push({ runAt, waitTimeoutMs: WAIT });
      const alone = { ...(await scene.draft({ runAt })), after: [], afterFailure: 'cancel' } as const;
      const [member] = await graph(scene, [alone]);
      const tried = await scene.running({ runAt: scene.world.clock.wall() });
      await scene.giveBack(tried, { delayMs: WAIT });
      const silent = await scene.running({ runAt: scene.world.clock.wall() });
      await stage(scene, duty);
      await scene.pass(TTL + 1);
      await scene.reap(await scene.duty(), 'again', WAIT);
      await stage(scene, duty);
      await scene.setBack(BACK);
      await stage(scene, duty);
      assert.deepEqual([(await scene.get(dated)).runAt, (await scene.get(dated)).expiresAt], [runAt, runAt + WAIT]);
      assert.equal((await scene.get(member as number)).runAt, runAt);
      near(await dueIn(scene, tried.task), WAIT - TTL - 1, 'retry');
      near(await dueIn(scene, silent.task), WAIT, 'the try after a lost worker');
    },

    'what is written after it and before the stager looks is not moved': async (scene) => {
      const duty = await scene.duty('stager');
      const failed = await scene.running();
      await stage(scene, duty);
      await scene.setBack(BACK);
      await scene.giveBack(failed, { delayMs: WAIT });
      const delayed = await scene.push({ delayMs: WAIT, waitTimeoutMs: WAIT });
      const late = await scene.push({ queue: 'nobody', waitTimeoutMs: WAIT });
      const waiting = await parked(scene, WAIT);
      await stage(scene, duty);
      for (const task of [failed.task, delayed, waiting]) assert.equal(await dueIn(scene, task), WAIT);
      assert.deepEqual([await endsIn(scene, delayed), await endsIn(scene, late)], [2 * WAIT, WAIT]);
    },

    'it is followed once, and again when the clock is set back again': async (scene) => {
      const duty = await scene.duty('stager', 12 * HOUR);
      const delayed = await scene.push({ delayMs: WAIT });
      await stage(scene, duty);
      for (const back of [BACK, HOUR]) {
        await scene.setBack(back);
        for (let i = 0; i < 3; i++) await stage(scene, duty);
        near(await dueIn(scene, delayed), WAIT, 'delay');
      }
    },

    'a pause and the rate of a limit take no longer': async (scene) => {
      const duty = await scene.duty('stager');
      const limit = normalizeLimit({ rate: { max: 1, window: '30m', burst: 1 } });
      await scene.store.limitPut({ name: 'api', limit, by: 'me' });
      const lane = { queue: 'mail', handler: 'send', limits: normalizeUses(['api']) };
      const [{ id }] = (await scene.store.laneIntern({ lanes: [lane] })) as readonly [Lane];
      await scene.running({ lane: id });
      assert.equal(await scene.store.counterPause({ name: 'api', key: '', forMs: WAIT }), true);
      await stage(scene, duty);
      await scene.setBack(BACK);
      await stage(scene, duty);
      const [{ id: total }] = (await scene.store.limitCounters({ name: 'api', limit: 1 })) as readonly [CounterRecord];
      const { now, counters } = await scene.store.counterGet({ counters: [total] });
      near((counters[0]?.pausedUntil ?? Number.NaN) - now, WAIT, 'pause');
      near((counters[0]?.tat ?? Number.NaN) / 1000 - now, WAIT, 'rate');
    },
  },
};
