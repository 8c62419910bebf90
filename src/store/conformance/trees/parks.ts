import assert from 'node:assert/strict';
import { normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { Lease } from '../../../core/task/lease.ts';
import type { DutyTenure, Lane, WaitRecord } from '../../store.ts';
import { DAY, HOUR, MINUTE, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { type ParkAnswer, type ParkItem, parkAll, rememberAll } from '../kit/turning.ts';

const PARKED = { kind: 'parked' };
const LOST = { kind: 'lost' };

/** Parks this lease, for no particular reason unless one is given. */
export async function park({ store }: Scene, lease: Lease, what: Partial<ParkItem> = {}): Promise<ParkAnswer> {
  const { task, attempt } = lease;
  const [answer] = await parkAll(store, [{ key: 'k', ...what, task, attempt }]);
  return answer as ParkAnswer;
}

async function waitOf(scene: Scene, task: number): Promise<WaitRecord> {
  const wait = await scene.store.waitGet({ task });
  assert.ok(wait, `task ${task} waits for nothing`);
  return wait;
}

const stage = async ({ store }: Scene, duty: DutyTenure): Promise<number> =>
  (await store.taskStage({ duty, limit: 10 })).staged;

const send = (scene: Scene, channel: string, body = '1'): Promise<unknown> =>
  scene.store.signalSend({ items: [{ channel, body }] });

export const PARKS: Topic = {
  name: 'parks',
  needs: ['whole'],
  cases: {
    'a parked task waits, holds no lease, has its try back and keeps its attempt': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual([grant.attempt, grant.tries], [1, 1]);
      assert.deepEqual(await park(scene, grant, { channel: 'c' }), PARKED);
      const record = await scene.get(grant.task);
      assert.deepEqual(
        { ...record },
        {
          ...record,
          state: 'waiting',
          attempt: 1,
          tries: 0,
          holder: undefined,
          leaseUntil: undefined,
          runAt: undefined,
        },
      );
      const stats = await scene.stats();
      assert.deepEqual([stats.running, stats.waiting], [0, 1]);
      assert.deepEqual(await scene.claim(), []);
    },

    'the attempt that parked is kept with its holder, its times and its outcome': async (scene) => {
      const grant = await scene.running();
      await scene.pass(10);
      await park(scene, grant);
      assert.deepEqual(await scene.store.attemptList({ task: grant.task }), [
        {
          attempt: 1,
          holder: await scene.worker(),
          startedAt: grant.createdAt,
          endedAt: grant.createdAt + 10,
          outcome: 'parked',
          error: undefined,
        },
      ]);
    },

    'parking is told in the feed, and so is waking': async (scene) => {
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c' });
      await send(scene, 'c');
      const { events } = await scene.eventPage({ after: 0, limit: 10 });
      assert.deepEqual(
        events.map(({ change, state, attempt }) => [change, state, attempt]),
        [
          ['created', 'ready', 0],
          ['claimed', 'running', 1],
          ['parked', 'waiting', 1],
          ['woken', 'ready', 1],
        ],
      );
    },

    'what a task waits for can be looked at while it waits, and after': async (scene) => {
      const grant = await scene.running();
      assert.equal(await scene.store.waitGet({ task: grant.task }), undefined);
      await scene.pass(10);
      await park(scene, grant, { key: 'approval:1', channel: 'c', form: '{"title":"Go?"}', timeoutMs: HOUR });
      const wait = {
        task: grant.task,
        key: 'approval:1',
        channel: 'c',
        form: '{"title":"Go?"}',
        since: grant.createdAt + 10,
        deadline: grant.createdAt + 10 + HOUR,
      };
      assert.deepEqual(await waitOf(scene, grant.task), { ...wait, outcome: 'open', body: undefined });
      await send(scene, 'c', '"yes"');
      assert.deepEqual(await waitOf(scene, grant.task), { ...wait, outcome: 'woken', body: '"yes"' });
      await scene.claimOne();
      assert.deepEqual(await waitOf(scene, grant.task), { ...wait, outcome: 'woken', body: '"yes"' });
    },

    'a woken task is claimed with the next attempt, and its budget is what it was before the park': async (scene) => {
      const grant = await scene.running({ maxTries: 1 });
      await park(scene, grant, { channel: 'c' });
      await send(scene, 'c');
      const next = await scene.claimOne();
      assert.deepEqual([next.task, next.attempt, next.tries], [grant.task, 2, 1]);
      assert.equal(await scene.settle(next, 'completed'), 'done');
    },

    'a task can park many times, and its newest wait takes the place of the one before': async (scene) => {
      let grant = await scene.running({ maxTries: 1 });
      for (const key of ['a', 'b', 'c']) {
        assert.deepEqual(await park(scene, grant, { key, channel: key }), PARKED);
        const wait = await waitOf(scene, grant.task);
        assert.deepEqual([wait.key, wait.channel, wait.outcome], [key, key, 'open']);
        await send(scene, key, `"${key}"`);
        assert.equal((await waitOf(scene, grant.task)).body, `"${key}"`);
        grant = await scene.claimOne();
      }
      assert.deepEqual([grant.attempt, grant.tries], [4, 1]);
    },

    'a plain wait for time is over when its time has come, and not before': async (scene) => {
      const grant = await scene.running();
      const duty = await scene.duty('stager');
      assert.deepEqual(await park(scene, grant, { timeoutMs: 1000 }), PARKED);
      assert.equal((await scene.get(grant.task)).runAt, grant.createdAt + 1000);
      await scene.pass(999);
      assert.deepEqual(await scene.unchanged(() => scene.store.taskStage({ duty, limit: 10 })), {
        staged: 0,
        lanes: [],
        nextInMs: 1,
      });
      await scene.pass(1);
      const lanes = [await scene.lane()];
      assert.deepEqual(await scene.store.taskStage({ duty, limit: 10 }), { staged: 1, lanes, nextInMs: undefined });
      assert.equal((await waitOf(scene, grant.task)).outcome, 'timed_out');
      const { events } = await scene.eventPage({ after: 3, limit: 10 });
      assert.deepEqual(
        events.map(({ change, state }) => [change, state]),
        [['woken', 'ready']],
      );
      assert.equal((await scene.claimOne()).task, grant.task);
    },

    'who waits for ever is not in the way of who waits for a time': async (scene) => {
      const duty = await scene.duty('stager');
      await park(scene, await scene.running({ queue: 'a' }), { channel: 'c' });
      const answer = async (): Promise<unknown> => scene.store.taskStage({ duty, limit: 1 });
      assert.deepEqual(await answer(), { staged: 0, lanes: [], nextInMs: undefined });
      await park(scene, await scene.running({ queue: 'b' }), { timeoutMs: 20 });
      await scene.push({ queue: 'c', delayMs: 10 });
      assert.deepEqual(await answer(), { staged: 0, lanes: [], nextInMs: 10 });
      await scene.pass(30);
      assert.deepEqual(await answer(), { staged: 1, lanes: [await scene.lane('c')], nextInMs: 0 });
      assert.deepEqual(await answer(), { staged: 1, lanes: [await scene.lane('b')], nextInMs: undefined });
      assert.deepEqual(await answer(), { staged: 0, lanes: [], nextInMs: undefined });
    },

    'a task that waited with a deadline goes on when a signal comes in time, and is not woken again': async (scene) => {
      const duty = await scene.duty('stager');
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c', timeoutMs: MINUTE });
      await send(scene, 'c', '"in time"');
      await scene.pass(MINUTE);
      assert.equal(await scene.unchanged(() => stage(scene, duty)), 0);
      const wait = await waitOf(scene, grant.task);
      assert.deepEqual([wait.outcome, wait.body], ['woken', '"in time"']);
    },

    'a park gives back what its task took of its limits, once only': async (scene) => {
      await scene.store.limitPut({ name: 'api', limit: normalizeLimit({ concurrent: 1 }), by: 'me' });
      const wish = { queue: 'mail', handler: 'send', limits: normalizeUses(['api']) };
      const [{ id: lane }] = (await scene.store.laneIntern({ lanes: [wish] })) as readonly [Lane];
      const active = async (): Promise<number | undefined> =>
        (await scene.store.limitCounters({ name: 'api', limit: 1 }))[0]?.active;
      for (const what of [{ timeoutMs: 5 }, { channel: 'c' }]) {
        const grant = await scene.running({ lane });
        assert.equal(await active(), 1);
        assert.deepEqual(await park(scene, grant, what), PARKED);
        assert.equal(await active(), 0);
        assert.deepEqual(await park(scene, grant, what), PARKED);
        assert.equal(await active(), 0);
        const other = await scene.running({ lane });
        await scene.settle(other, 'completed');
      }
    },

    'a task that was asked to stop ends as cancelled instead of parking, and a repeat hears the same': async (
      scene,
    ) => {
      for (const what of [{ timeoutMs: 5 }, { channel: 'c' }, { children: [4711] }]) {
        const grant = await scene.running();
        await scene.store.taskCancel({ tasks: [grant.task] });
        assert.deepEqual(await park(scene, grant, what), { kind: 'cancelled' });
        const record = await scene.get(grant.task);
        assert.deepEqual([record.state, record.reason, record.tries], ['cancelled', 'requested', 1]);
        assert.deepEqual(await scene.unchanged(() => park(scene, grant, what)), { kind: 'cancelled' });
        assert.equal(await scene.store.waitGet({ task: grant.task }), undefined);
      }
    },

    'a repeat of a park is known while it waits, after it woke, while the next attempt runs and after its end': async (
      scene,
    ) => {
      for (const what of [{ timeoutMs: HOUR }, { timeoutMs: HOUR, channel: 'c' }]) {
        const duty = await scene.duty(`stager of ${Object.keys(what)}`, DAY);
        const grant = await scene.running();
        const again = (): Promise<ParkAnswer> => scene.unchanged(() => park(scene, grant, what));
        assert.deepEqual(await park(scene, grant, what), PARKED);
        assert.deepEqual(await again(), PARKED);
        await scene.pass(HOUR);
        assert.equal(await stage(scene, duty), 1);
        assert.deepEqual(await again(), PARKED);
        const next = await scene.claimOne();
        assert.deepEqual(await again(), PARKED);
        await scene.settle(next, 'completed');
        assert.deepEqual(await again(), PARKED);
      }
    },

    'nobody else can end, give back, renew or write for an attempt that has parked': async (scene) => {
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c' });
      await scene.pass(TTL + 1);
      await scene.unchanged(async () => {
        assert.equal(await scene.settle(grant, 'completed'), 'lost');
        assert.equal(await scene.giveBack(grant), 'lost');
        const { task, attempt } = grant;
        assert.deepEqual(await scene.store.leaseRenew({ items: [{ task, attempt, ttlMs: HOUR }] }), [{ held: false }]);
        const [answer] = await rememberAll(scene.store, [{ task, attempt, key: 'k', value: '1' }]);
        assert.deepEqual(answer, LOST);
        assert.deepEqual((await scene.overdue(10)).leases, []);
      });
    },

    'the attempt before cannot park the task that another attempt holds': async (scene) => {
      const first = await scene.running();
      await scene.giveBack(first);
      const second = await scene.claimOne();
      assert.deepEqual(await scene.unchanged(() => park(scene, first, { channel: 'c' })), LOST);
      assert.deepEqual(await park(scene, second, { channel: 'c' }), PARKED);
    },

    'a handler that came to a wait clears its task of suspicion and of bounces': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      await scene.running({ maxTries: 9 });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      await scene.giveBack(await scene.claimOne(), { change: 'released', refund: true, bounced: true });
      const suspect = await scene.claimOne();
      assert.deepEqual([suspect.suspect, suspect.bounces], [true, 1]);
      await park(scene, suspect, { channel: 'c' });
      await send(scene, 'c');
      const next = await scene.claimOne();
      assert.deepEqual([next.suspect, next.bounces], [false, 0]);
    },

    'a waiting task can be cancelled, and waits for nothing any more': async (scene) => {
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c', form: '{}', timeoutMs: 5 });
      assert.deepEqual(await scene.store.taskCancel({ tasks: [grant.task] }), ['cancelled']);
      assert.deepEqual(await scene.store.waitList({ limit: 10 }), []);
      await scene.pass(HOUR);
      assert.equal(await scene.unchanged(async () => stage(scene, await scene.duty('stager'))), 0);
    },

    'a revived task has no wait of its life before, and can park again under the same key': async (scene) => {
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c' });
      await scene.store.taskCancel({ tasks: [grant.task] });
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.equal(await scene.store.waitGet({ task: grant.task }), undefined);
      await send(scene, 'c', '"kept"');
      const next = await scene.claimOne();
      assert.equal(next.attempt, 2);
      assert.deepEqual(await park(scene, next, { channel: 'c' }), { kind: 'woken', body: '"kept"' });
    },

    'a decision cannot be given in advance: a task that asks for one takes no signal that was kept': async (scene) => {
      await send(scene, 'c', '"early"');
      const [asking, waiting] = [await scene.running(), await scene.running()];
      assert.deepEqual(await park(scene, asking, { channel: 'c', form: '{}' }), { kind: 'parked' });
      assert.deepEqual(await park(scene, waiting, { channel: 'c' }), { kind: 'woken', body: '"early"' });
    },

    'open approvals are listed with their forms, the oldest first, and no more than asked for': async (scene) => {
      const tasks: number[] = [];
      for (const queue of ['a', 'b', 'c', 'd']) {
        const grant = await scene.running({ queue });
        const form = queue === 'c' ? {} : { form: `"${queue}"` };
        await park(scene, grant, { key: queue, channel: queue, ...form });
        tasks.push(grant.task);
        await scene.pass(10);
      }
      const listed = async (limit: number): Promise<unknown> =>
        (await scene.store.waitList({ limit })).map(({ task, form, outcome }) => [task, form, outcome]);
      const [a, b, , d] = tasks;
      assert.deepEqual(await listed(10), [
        [a, '"a"', 'open'],
        [b, '"b"', 'open'],
        [d, '"d"', 'open'],
      ]);
      assert.deepEqual(await listed(1), [[a, '"a"', 'open']]);
      await send(scene, 'a');
      await scene.store.taskCancel({ tasks: [b as number] });
      assert.deepEqual(await listed(10), [[d, '"d"', 'open']]);
    },

    'a task that waits for children which have all ended goes on with its lease': async (scene) => {
      const child = await scene.running({ queue: 'children' });
      await scene.settle(child, 'failed', { reason: 'gave_up' });
      const grant = await scene.running();
      const woken = { kind: 'woken', body: undefined };
      for (const children of [[], [child.task], [child.task, 4711]]) {
        assert.deepEqual(await scene.unchanged(() => park(scene, grant, { children })), woken);
        assert.deepEqual(await scene.unchanged(() => park(scene, grant, { children, need: 1 })), woken);
      }
      assert.equal((await scene.get(grant.task)).state, 'running');
      const unfinished = await scene.push({ queue: 'children' });
      const children = [child.task, unfinished];
      assert.deepEqual(await scene.unchanged(() => park(scene, grant, { children, need: 1 })), woken);
      assert.deepEqual(await park(scene, grant, { children }), PARKED);
    },

    'a task that waits for its children waits until the last of them ends, however it ends': async (scene) => {
      const one = await scene.running({ queue: 'children' });
      const two = await scene.running({ queue: 'children' });
      const three = await scene.push({ queue: 'children' });
      const grant = await scene.running();
      const children = [three, one.task, two.task, one.task];
      assert.deepEqual(await park(scene, grant, { key: 'all', children }), PARKED);
      const state = async (): Promise<unknown> => (await scene.get(grant.task)).state;
      await scene.settle(one, 'completed');
      await scene.settle(two, 'failed', { reason: 'gave_up' });
      assert.equal(await state(), 'waiting');
      assert.equal((await waitOf(scene, grant.task)).outcome, 'open');
      await scene.store.taskCancel({ tasks: [three] });
      assert.equal(await state(), 'ready');
      const wait = await waitOf(scene, grant.task);
      assert.deepEqual([wait.key, wait.outcome, wait.body], ['all', 'woken', undefined]);
      assert.equal((await scene.claimOne()).attempt, 2);
    },

    'a task that waits for any of its children goes on with the first that ends, and the others wake it no more':
      async (scene) => {
        const [one, two] = [await scene.running({ queue: 'children' }), await scene.running({ queue: 'children' })];
        const grant = await scene.running();
        assert.deepEqual(await park(scene, grant, { children: [one.task, two.task], need: 1 }), PARKED);
        await scene.settle(two, 'completed');
        const next = await scene.claimOne();
        assert.equal(next.task, grant.task);
        await park(scene, next, { key: 'another', channel: 'c' });
        await scene.settle(one, 'completed');
        assert.equal((await scene.get(grant.task)).state, 'waiting');
      },

    'a task that waited for a child in vain can wait for it again': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const child = await scene.running({ queue: 'children' });
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { children: [child.task], timeoutMs: 10 }), PARKED);
      await scene.pass(10);
      assert.equal(await stage(scene, duty), 1);
      assert.equal((await waitOf(scene, grant.task)).outcome, 'timed_out');
      const next = await scene.claimOne();
      assert.deepEqual(await park(scene, next, { key: 'again', children: [child.task] }), PARKED);
      await scene.settle(child, 'completed');
      assert.equal((await scene.get(grant.task)).state, 'ready');
    },

    'many tasks park in one call, each with its own answer': async (scene) => {
      const tasks = await scene.pushMany(4);
      const [a, b, c, d] = (await scene.claim({ max: 4 })) as unknown as readonly [Lease, Lease, Lease, Lease];
      assert.equal(tasks.length, 4);
      await send(scene, 'x', '"first"');
      await scene.store.taskCancel({ tasks: [d.task] });
      const answers = await parkAll(scene.store, [
        { ...lease(c), key: 'k', channel: 'x' },
        { ...lease(a), key: 'k', timeoutMs: 5 },
        { ...lease(b), key: 'k', channel: 'x' },
        { ...lease(a), key: 'k', timeoutMs: 5 },
        { task: 4711, attempt: 1, key: 'k', channel: 'x' },
        { ...lease(d), key: 'k', children: [a.task] },
        { ...lease(a), attempt: 7, key: 'k' },
      ]);
      // One signal wakes one of the two, and either may get it.
      const [first, , third] = answers;
      assert.deepEqual(new Set([first?.kind, third?.kind]), new Set(['parked', 'woken']));
      assert.deepEqual(
        [answers[1], answers[3], answers[4], answers[5], answers[6]].map((answer) => answer?.kind),
        ['parked', 'parked', 'lost', 'cancelled', 'lost'],
      );
    },
  },
};

const lease = ({ task, attempt }: Lease): Lease => ({ task, attempt });
