import assert from 'node:assert/strict';
import { approvalChannel } from '../../../core/task/channel.ts';
import type { Lease } from '../../../core/task/lease.ts';
import type { OtherWait, Park, TurnAnswer, WaitRecord } from '../../store.ts';
import { HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { parkTurn } from '../kit/turning.ts';

/** An own channel of a task that needs no id of a cluster: that of an approval. */
const own = ({ task }: Lease, key: string): string => approvalChannel(task, key);
const signals = (lease: Lease, ...keys: readonly string[]): readonly OtherWait[] =>
  keys.map((key) => ({ key, channel: own(lease, key) }));

/** Parks on a channel, and on those of `b` and `c` besides. */
async function parkOn(scene: Scene, lease: Lease, more: Partial<Park> = {}): Promise<TurnAnswer> {
  const { task, attempt } = lease;
  const others = signals(lease, 'b', 'c');
  const item = { key: 'a', channel: own(lease, 'a'), others, ...more, task, attempt };
  const [answer] = await scene.store.taskTurn({ items: [parkTurn(item)] });
  return answer as TurnAnswer;
}

async function send(scene: Scene, channel: string, body = '1', broadcast = false): Promise<readonly number[]> {
  const [answer] = await scene.store.signalSend({ items: [{ channel, body, broadcast }] });
  return answer?.woken ?? assert.fail('there was no answer');
}

async function waitOf(scene: Scene, { task }: Lease): Promise<WaitRecord> {
  return (await scene.store.waitGet({ task })) ?? assert.fail('it waits for nothing');
}

const went = (answer: TurnAnswer): unknown =>
  answer.kind === 'done' ? [answer.went, answer.key, answer.body] : answer.kind;
const PARKED = ['parked', undefined, undefined];

export const SEVERAL_CHANNELS: Topic = {
  name: 'several channels',
  needs: ['whole'],
  cases: {
    'a task that waits on several channels is woken by the first signal on any of them': async (scene) => {
      for (const key of ['a', 'b', 'c']) {
        const grant = await scene.running();
        assert.deepEqual(went(await parkOn(scene, grant)), PARKED);
        const { others } = await waitOf(scene, grant);
        assert.deepEqual(others, signals(grant, 'b', 'c'));
        assert.deepEqual(await send(scene, own(grant, key), `"${key}"`), [grant.task]);
        assert.equal((await scene.get(grant.task)).state, 'ready');
        const wait = await waitOf(scene, grant);
        assert.deepEqual(
          [wait.outcome, wait.key, wait.channel, wait.body, wait.others],
          ['woken', key, own(grant, key), `"${key}"`, undefined],
        );
        // The others are kept for the next wait, which has them one by one.
        for (const other of ['b', 'c']) assert.deepEqual(await send(scene, own(grant, other), `"late ${other}"`), []);
        const next = await scene.claimOne();
        assert.deepEqual(went(await parkOn(scene, next)), ['woken', 'b', '"late b"']);
        const last = { nth: 1, others: signals(grant, 'c') };
        assert.deepEqual(went(await parkOn(scene, next, last)), ['woken', 'c', '"late c"']);
        assert.equal(await scene.settle(next, 'completed'), 'done');
      }
    },

    'a park on several channels takes what was kept, in the order of the channels': async (scene) => {
      const grant = await scene.running();
      await send(scene, own(grant, 'c'), '"c"');
      await send(scene, own(grant, 'b'), '"b"');
      assert.deepEqual(went(await parkOn(scene, grant)), ['woken', 'b', '"b"']);
      const { outcome, key, body } = await waitOf(scene, grant);
      assert.deepEqual([outcome, key, body], ['woken', 'b', '"b"']);
      // Whoever did not hear the answer asks again, and takes nothing else.
      assert.deepEqual(went(await parkOn(scene, grant)), ['woken', 'b', '"b"']);
      const last = { nth: 1, others: signals(grant, 'c') };
      assert.deepEqual(went(await parkOn(scene, grant, last)), ['woken', 'c', '"c"']);
    },

    'several signals that come together wake the task once, and the others are kept': async (scene) => {
      const grant = await scene.running();
      await parkOn(scene, grant);
      const items = ['c', 'b', 'c'].map((key, n) => ({ channel: own(grant, key), body: String(n) }));
      const answers = await scene.store.signalSend({ items });
      assert.deepEqual(
        answers.map(({ woken }) => woken),
        [[grant.task], [], []],
      );
      const next = await scene.claimOne();
      assert.deepEqual(went(await parkOn(scene, next)), ['woken', 'b', '1']);
    },

    'a broadcast on one of several channels wakes the task, and is kept for nobody': async (scene) => {
      const grant = await scene.running();
      await parkOn(scene, grant);
      assert.deepEqual(await send(scene, own(grant, 'c'), '"all"', true), [grant.task]);
      assert.deepEqual(await send(scene, own(grant, 'b'), '"all"', true), []);
      assert.deepEqual((await waitOf(scene, grant)).key, 'c');
      assert.deepEqual(went(await parkOn(scene, await scene.claimOne())), PARKED);
    },

    'approvals may be among them: none takes what was kept, and the forms of all are listed': async (scene) => {
      const grant = await scene.running();
      await send(scene, own(grant, 'b'), '"early"');
      const others = [{ key: 'b', channel: own(grant, 'b'), form: '{"title":"B?"}' }, ...signals(grant, 'c')];
      assert.deepEqual(went(await parkOn(scene, grant, { form: '{"title":"A?"}', others })), PARKED);
      const [listed] = await scene.store.waitList({ limit: 10 });
      assert.deepEqual([listed?.form, listed?.others], ['{"title":"A?"}', others]);
      assert.deepEqual(await send(scene, own(grant, 'b'), '"yes"', true), [grant.task]);
      const { key, form, body } = await waitOf(scene, grant);
      assert.deepEqual([key, form, body], ['b', '{"title":"B?"}', '"yes"']);
      assert.deepEqual(await scene.store.waitList({ limit: 10 }), []);
    },

    'what no longer waits is woken by none of its channels': async (scene) => {
      const duty = await scene.duty('stager');
      const timed = await scene.running();
      await parkOn(scene, timed, { timeoutMs: HOUR });
      await scene.pass(HOUR);
      await scene.store.taskStage({ duty, limit: 10 });
      const wait = await waitOf(scene, timed);
      assert.deepEqual([wait.outcome, wait.body, wait.others], ['timed_out', undefined, undefined]);
      assert.deepEqual(await send(scene, own(timed, 'b')), []);
      const cancelled = await scene.running({ queue: 'other' });
      await parkOn(scene, cancelled);
      await scene.store.taskCancel({ tasks: [cancelled.task] });
      assert.deepEqual(await send(scene, own(cancelled, 'c')), []);
    },

    'children that end wake it as well, and then no signal has': async (scene) => {
      const child = await scene.running({ queue: 'children' });
      const grant = await scene.running();
      assert.deepEqual(went(await parkOn(scene, grant, { children: [child.task] })), PARKED);
      await scene.settle(child, 'completed');
      const wait = await waitOf(scene, grant);
      assert.deepEqual([wait.outcome, wait.body, wait.others], ['woken', undefined, undefined]);
      assert.deepEqual(await send(scene, own(grant, 'b')), []);
    },

    'a stale attempt that parks on several channels is lost, and takes no signal': async (scene) => {
      const grant = await scene.running();
      await scene.giveBack(grant);
      const next = await scene.claimOne();
      await send(scene, own(grant, 'b'), '"b"');
      assert.equal((await parkOn(scene, grant)).kind, 'lost');
      assert.deepEqual(went(await parkOn(scene, next)), ['woken', 'b', '"b"']);
    },
  },
};
