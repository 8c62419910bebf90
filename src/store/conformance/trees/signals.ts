import assert from 'node:assert/strict';
import type { Grant, NewSignal, WaitRecord } from '../../store.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';
import { parkAll } from '../kit/turning.ts';
import { park } from './parks.ts';

const PARKED = { kind: 'parked' };
const NOTHING = { kind: 'woken', body: undefined };

/** The tasks that it woke. */
async function send(
  scene: Scene,
  channel: string,
  body: string,
  more: Partial<NewSignal> = {},
): Promise<readonly number[]> {
  const [answer] = await scene.store.signalSend({ items: [{ channel, body, ...more }] });
  return answer?.woken ?? assert.fail('there was no answer');
}

/** A task that waits on the channel. */
async function waiter(scene: Scene, channel = 'c', queue = 'mail'): Promise<Grant> {
  const grant = await scene.running({ queue });
  assert.deepEqual(await park(scene, grant, { channel }), PARKED);
  await scene.pass(1);
  return grant;
}

async function outcome(scene: Scene, { task }: Grant): Promise<readonly [WaitRecord['outcome'], string | undefined]> {
  const wait = (await scene.store.waitGet({ task })) ?? assert.fail('it does not wait');
  return [wait.outcome, wait.body];
}

export const SIGNALS: Topic = {
  name: 'signals',
  needs: ['whole'],
  cases: {
    'a signal that comes after the park wakes the task, which is ready at once': async (scene) => {
      const grant = await waiter(scene);
      assert.deepEqual(await send(scene, 'c', '{"yes":true}'), [grant.task]);
      assert.equal((await scene.get(grant.task)).state, 'ready');
      assert.deepEqual(await outcome(scene, grant), ['woken', '{"yes":true}']);
      const stats = await scene.stats();
      assert.deepEqual([stats.waiting, stats.ready], [0, 1]);
    },

    'a signal that comes before the park is kept, and the task goes on with its lease': async (scene) => {
      assert.deepEqual(await send(scene, 'c', '"early"'), []);
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { channel: 'c' }), { kind: 'woken', body: '"early"' });
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.attempt, record.tries], ['running', 1, 1]);
      assert.deepEqual(await outcome(scene, grant), ['woken', '"early"']);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'a channel says how many signals are kept on it, and a park takes one of them': async (scene) => {
      const kept = (channel = 'c'): Promise<number> => scene.store.signalKept({ channel });
      assert.deepEqual([await kept(), await kept('d')], [0, 0]);
      for (const body of ['"early"', '"second"']) await send(scene, 'c', body);
      await send(scene, 'e', '1', { broadcast: true });
      assert.deepEqual([await kept(), await kept('d'), await kept('e')], [2, 0, 0]);
      await park(scene, await scene.running(), { channel: 'c' });
      assert.equal(await kept(), 1);
    },

    'a park for a signal and for no child takes what is there, and waits for nothing': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { key: 'a', nth: 1, channel: 'c', children: [] }), NOTHING);
      await send(scene, 'c', '"now"');
      const taken = await park(scene, grant, { key: 'b', nth: 2, channel: 'c', children: [] });
      assert.deepEqual(taken, { kind: 'woken', body: '"now"' });
      assert.deepEqual(await outcome(scene, grant), ['woken', '"now"']);
      assert.deepEqual(await park(scene, grant, { key: 'd', nth: 3, channel: 'c', children: [] }), NOTHING);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.attempt, record.tries], ['running', 1, 1]);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'a park that took a signal and whose answer was lost gets the same signal again': async (scene) => {
      await send(scene, 'c', '"first"');
      await send(scene, 'c', '"second"');
      const grant = await scene.running();
      const woken = { kind: 'woken', body: '"first"' };
      assert.deepEqual(await park(scene, grant, { channel: 'c' }), woken);
      assert.deepEqual(await scene.unchanged(() => park(scene, grant, { channel: 'c' })), woken);
      const next = await park(scene, grant, { key: 'next', channel: 'c' });
      assert.deepEqual(next, { kind: 'woken', body: '"second"' });
      assert.deepEqual(await park(scene, grant, { key: 'last', channel: 'c' }), PARKED);
    },

    'a park that is sent again when a later one of its attempt has come changes nothing': async (scene) => {
      await send(scene, 'a', '"first"');
      await send(scene, 'b', '"second"');
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { key: 'one', nth: 1, channel: 'a' }), {
        kind: 'woken',
        body: '"first"',
      });
      const later = { key: 'two', nth: 2, channel: 'b' };
      assert.deepEqual(await park(scene, grant, later), { kind: 'woken', body: '"second"' });
      const late = { key: 'one', nth: 1, channel: 'a' };
      const lost = await scene.unchanged(() => park(scene, grant, late));
      assert.deepEqual(lost, { kind: 'lost' }, 'it would have waited under its running handler');
      await send(scene, 'a', '"third"');
      assert.deepEqual(await scene.unchanged(() => park(scene, grant, late)), { kind: 'lost' });
      assert.deepEqual(
        await park(scene, grant, later),
        { kind: 'woken', body: '"second"' },
        'the newest has its answer',
      );
      assert.deepEqual(await park(scene, grant, { key: 'three', nth: 3, channel: 'a' }), {
        kind: 'woken',
        body: '"third"',
      });
    },

    'each signal is for one task, and the one that has waited longest is first': async (scene) => {
      // The older wait belongs to the younger task.
      const [young, old] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      await park(scene, old, { channel: 'c' });
      await scene.pass(1);
      await park(scene, young, { channel: 'c' });
      assert.deepEqual(await send(scene, 'c', '1'), [old.task]);
      assert.deepEqual(await send(scene, 'c', '2'), [young.task]);
      assert.deepEqual(await send(scene, 'c', '3'), []);
      assert.deepEqual(await outcome(scene, old), ['woken', '1']);
      assert.deepEqual(await outcome(scene, young), ['woken', '2']);
    },

    'kept signals are taken in the order in which they came, one each': async (scene) => {
      for (const body of ['1', '2', '3']) await send(scene, 'c', body);
      for (const body of ['1', '2', '3']) {
        const grant = await scene.running();
        assert.deepEqual(await park(scene, grant, { channel: 'c' }), { kind: 'woken', body });
      }
      assert.deepEqual(await park(scene, await scene.running(), { channel: 'c' }), PARKED);
    },

    'a signal is heard on its own channel only, however much the names are alike': async (scene) => {
      const names = ['c', 'C', 'c ', 'ç', 'c/1', ''];
      const waiters = new Map<string, Grant>();
      for (const name of names) waiters.set(name, await waiter(scene, name));
      assert.deepEqual(await send(scene, 'nobody', '1'), []);
      for (const name of names.toReversed()) {
        assert.deepEqual(await send(scene, name, JSON.stringify(name)), [waiters.get(name)?.task]);
      }
    },

    'a broadcast wakes everybody who waits, and is not kept': async (scene) => {
      const waiters = [await waiter(scene), await waiter(scene), await waiter(scene)];
      const other = await waiter(scene, 'other');
      const woken = await send(scene, 'c', '"all"', { broadcast: true });
      assert.deepEqual(
        woken.toSorted((a, b) => a - b),
        waiters.map(({ task }) => task),
      );
      for (const grant of waiters) assert.deepEqual(await outcome(scene, grant), ['woken', '"all"']);
      assert.equal((await outcome(scene, other))[0], 'open');
      assert.deepEqual(await send(scene, 'c', '"nobody"', { broadcast: true }), []);
      assert.deepEqual(await park(scene, await scene.claimOne(), { channel: 'c' }), PARKED);
    },

    'a task that was cancelled while it waited takes no signal from the next one': async (scene) => {
      const [first, second] = [await waiter(scene), await waiter(scene)];
      await scene.store.taskCancel({ tasks: [first.task] });
      assert.deepEqual(await send(scene, 'c', '1'), [second.task]);
      const third = await waiter(scene, 'c', 'third');
      await scene.store.taskCancel({ tasks: [third.task] });
      assert.deepEqual(await send(scene, 'c', '"kept"'), []);
      const fourth = await scene.running({ queue: 'fourth' });
      assert.deepEqual(await park(scene, fourth, { channel: 'c' }), { kind: 'woken', body: '"kept"' });
    },

    'a signal that was delivered and not yet remembered is still there when its task failed and is run again': async (
      scene,
    ) => {
      const grant = await waiter(scene);
      await send(scene, 'c', '"once"');
      assert.equal(await scene.settle(await scene.claimOne(), 'failed'), 'done');
      await scene.store.taskRevive({ tasks: [grant.task] });
      assert.deepEqual(await outcome(scene, grant), ['woken', '"once"']);
    },

    'a signal that comes after the deadline is kept for the next one': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c', timeoutMs: 100 });
      await scene.pass(100);
      assert.equal((await scene.store.taskStage({ duty, limit: 10 })).staged, 1);
      assert.deepEqual(await send(scene, 'c', '"late"'), []);
      assert.deepEqual(await outcome(scene, grant), ['timed_out', undefined]);
      const next = await scene.claimOne();
      assert.deepEqual(await park(scene, next, { key: 'once more', channel: 'c' }), { kind: 'woken', body: '"late"' });
    },

    'a signal that comes after the deadline but before anybody saw it pass still wakes its task': async (scene) => {
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c', timeoutMs: 100 });
      await scene.pass(HOUR);
      assert.deepEqual(await send(scene, 'c', '"just so"'), [grant.task]);
      assert.deepEqual(await outcome(scene, grant), ['woken', '"just so"']);
    },

    'a task that its child has woken leaves a signal on its channel to others': async (scene) => {
      const child = await scene.running({ queue: 'children' });
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { channel: 'c', children: [child.task] }), PARKED);
      await scene.pass(1);
      const other = await waiter(scene);
      await scene.settle(child, 'completed');
      assert.equal((await scene.get(grant.task)).state, 'ready');
      assert.deepEqual(await outcome(scene, grant), ['woken', undefined]);
      assert.deepEqual(await send(scene, 'c', '1'), [other.task]);
      assert.deepEqual(await send(scene, 'c', '2'), []);
    },

    'a task that a signal has woken does not hear of its children any more': async (scene) => {
      const child = await scene.running({ queue: 'children' });
      const grant = await scene.running();
      await park(scene, grant, { channel: 'c', children: [child.task] });
      assert.deepEqual(await send(scene, 'c', '1'), [grant.task]);
      const next = await scene.claimOne();
      await scene.settle(child, 'completed');
      assert.equal((await scene.get(grant.task)).state, 'running');
      assert.deepEqual(await park(scene, next, { key: 'next', channel: 'd' }), PARKED);
    },

    'an operation id gets its first answer again, and delivers once': async (scene) => {
      const [first, second] = [await waiter(scene), await waiter(scene)];
      assert.deepEqual(await send(scene, 'c', '1', { op: 'o' }), [first.task]);
      assert.deepEqual(await scene.unchanged(() => send(scene, 'c', '1', { op: 'o' })), [first.task]);
      assert.deepEqual(await send(scene, 'd', '1', { op: 'p' }), []);
      assert.deepEqual(await send(scene, 'd', '1', { op: 'p' }), []);
      const grant = await scene.running({ queue: 'other' });
      assert.deepEqual(await park(scene, grant, { channel: 'd' }), { kind: 'woken', body: '1' });
      assert.deepEqual(await park(scene, grant, { key: 'next', channel: 'd' }), PARKED);
      // A push with the same id is another operation.
      assert.ok((await scene.pushAnswer({ op: 'o' })).ok);
      assert.deepEqual(await send(scene, 'c', '1', { op: 'q', broadcast: true }), [second.task]);
      assert.deepEqual(await send(scene, 'c', '1', { op: 'q', broadcast: true }), [second.task]);
    },

    'the operation id of a signal is remembered for a day': async (scene) => {
      assert.deepEqual(await send(scene, 'c', '1', { op: 'o' }), []);
      await scene.pass(DAY - 1);
      assert.deepEqual(await send(scene, 'c', '1', { op: 'o' }), []);
      await scene.pass(1);
      assert.deepEqual(await send(scene, 'c', '2', { op: 'o' }), []);
      for (const body of ['1', '2']) {
        assert.deepEqual(await park(scene, await scene.running(), { channel: 'c' }), { kind: 'woken', body });
      }
    },

    'many signals go in one call, in their order, each with its own answer': async (scene) => {
      const [a, b, c] = [await waiter(scene), await waiter(scene), await waiter(scene)];
      const d = await waiter(scene, 'd');
      await scene.store.taskCancel({ tasks: [b.task] });
      const answers = await scene.store.signalSend({
        items: [
          { channel: 'c', body: '1' },
          { channel: 'd', body: '2', op: 'o' },
          { channel: 'c', body: '3' },
          { channel: 'd', body: '2', op: 'o' },
          { channel: 'c', body: '4', broadcast: true },
          { channel: 'c', body: '5' },
          { channel: 'c', body: '6' },
        ],
      });
      assert.deepEqual(
        answers.map(({ woken }) => woken),
        [[a.task], [d.task], [c.task], [d.task], [], [], []],
      );
      for (const body of ['5', '6']) {
        const grant = await scene.running({ queue: 'late' });
        assert.deepEqual(await park(scene, grant, { channel: 'c' }), { kind: 'woken', body });
      }
      assert.deepEqual(await scene.store.signalSend({ items: [] }), []);
    },

    'large signals and names in any script come through unchanged': async (scene) => {
      const channel = 'свята/🎄/"\\{},NULL';
      const body = JSON.stringify({ text: '🎄\\"{}'.repeat(20_000) });
      const grant = await waiter(scene, channel);
      assert.deepEqual(await send(scene, channel, body), [grant.task]);
      assert.ok((await outcome(scene, grant))[1] === body);
      await send(scene, channel, body);
      const again = await scene.claimOne();
      const answer = await park(scene, again, { key: channel, channel });
      assert.ok(answer.kind === 'woken' && answer.body === body);
      assert.deepEqual(await park(scene, again, { key: 'next', form: body, channel }), PARKED);
      assert.ok((await scene.store.waitGet({ task: grant.task }))?.form === body);
    },

    'signals that nobody took go when they are older than the retention, and not before': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      await send(scene, 'c', '"old"');
      await scene.pass(HOUR);
      await send(scene, 'c', '"young"');
      await scene.prune(duty, HOUR);
      await scene.pass(1);
      await scene.prune(duty, HOUR);
      const grant = await scene.running();
      assert.deepEqual(await park(scene, grant, { channel: 'c' }), { kind: 'woken', body: '"young"' });
      assert.deepEqual(await park(scene, grant, { key: 'next', channel: 'c' }), PARKED);
    },

    'a task that waits and one that signals may be of two processes, and no wake-up is lost': needing(
      ['reopen'],
      async (scene) => {
        const other = await scene.reopen();
        const tasks = await scene.pushMany(20);
        const grants = await scene.claim({ max: 20 });
        assert.equal(grants.length, 20);
        const channelOf = (i: number): string => `c${i % 3}`;
        const parks = grants.map(({ task, attempt }, i) =>
          parkAll(scene.store, [{ task, attempt, key: 'k', channel: channelOf(i) }]),
        );
        const signals = grants.map((_, i) => other.signalSend({ items: [{ channel: channelOf(i), body: `${i}` }] }));
        const kinds = (await Promise.all(parks)).map(([answer]) => answer?.kind);
        const woken = (await Promise.all(signals)).flatMap(([answer]) => answer?.woken ?? []);
        assert.equal(new Set(woken).size, woken.length, 'one was woken twice');
        assert.equal(woken.length + kinds.filter((kind) => kind === 'woken').length, 20, 'a wake-up was lost');
        const waits = await Promise.all(tasks.map((task) => other.waitGet({ task })));
        assert.deepEqual(
          waits.map((wait) => wait?.body).toSorted((a, b) => Number(a) - Number(b)),
          tasks.map((_, i) => `${i}`),
        );
      },
    ),
  },
};
