import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { NewEntry, Park, TurnAnswer } from '../../store.ts';
import { need, push } from '../kit/graph-scene.ts';
import { MINUTE, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const CIRCLE: TurnAnswer = { kind: 'refused', key: 'k', why: { circle: true } };

/** The attempt waits for these tasks, or for what else it is told. */
async function wait(
  { store }: Scene,
  { task, attempt }: Lease,
  children: NonNullable<Park['children']>,
  { entries = [], ...more }: Partial<Park> & { readonly entries?: readonly NewEntry[] } = {},
): Promise<TurnAnswer> {
  const then = { go: 'park' as const, key: 'k', children, ...more };
  return (await store.taskTurn({ items: [{ task, attempt, entries, then }] }))[0] as TurnAnswer;
}

const went = (answer: TurnAnswer): string => (answer.kind === 'done' ? answer.went : answer.kind);

export const CIRCLES: Topic = {
  name: 'circles of waits',
  needs: ['whole'],
  cases: {
    'a task that would wait for itself is refused, and goes on': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual(await scene.unchanged(() => wait(scene, grant, [grant.task])), CIRCLE);
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'the wait that would close a circle is refused, with all of its turn': async (scene) => {
      const parent = await scene.running();
      const child = await scene.running();
      assert.equal(went(await wait(scene, parent, [child.task])), 'parked');
      assert.deepEqual(await scene.unchanged(() => wait(scene, child, [parent.task])), CIRCLE);
      const value: NewEntry = { key: 'v', kind: 'value', value: '1' };
      const turn = (): Promise<TurnAnswer> => wait(scene, child, [parent.task], { entries: [value] });
      assert.deepEqual(await scene.unchanged(turn), CIRCLE);
      assert.equal(await scene.settle(child, 'completed'), 'done');
      assert.equal((await scene.get(parent.task)).state, 'ready');
    },

    'a circle is found through tasks that others wait for, also those that were pushed to wait': async (scene) => {
      const first = await scene.running();
      const [second] = (await push(scene, { after: [need(first.task)] })) as [number];
      const third = await scene.running();
      const [fourth] = (await push(scene, { after: [need(second)] })) as [number];
      assert.equal(went(await wait(scene, third, [fourth])), 'parked');
      assert.deepEqual(await wait(scene, first, [third.task]), CIRCLE);
      assert.deepEqual(await wait(scene, first, [second]), CIRCLE);
    },

    'a new child that needs its parent cannot be waited for by it': async (scene) => {
      const parent = await scene.running();
      const task = await scene.draft();
      const child = (after: NonNullable<(NewEntry & { kind: 'child' })['after']>, key = 'c'): NewEntry => {
        return { key, kind: 'child', task, after, afterFailure: 'cancel' };
      };
      const onParent = child([{ task: parent.task, optional: true }]);
      const turn = (entries: readonly NewEntry[], on: string): Promise<TurnAnswer> =>
        wait(scene, parent, [on], { entries });
      assert.deepEqual(await scene.unchanged(() => turn([onParent], 'c')), CIRCLE);
      const onChild = child([{ child: 'c', optional: false }], 'd');
      assert.deepEqual(await scene.unchanged(() => turn([onParent, onChild], 'd')), CIRCLE);
      assert.equal(went(await turn([child([])], 'c')), 'parked');
    },

    'a wait that a time, a signal or another task may end is no circle': async (scene) => {
      const parent = await scene.running();
      const child = await scene.running();
      const other = await scene.running();
      assert.equal(went(await wait(scene, parent, [child.task])), 'parked');
      assert.equal(went(await wait(scene, child, [parent.task, other.task], { need: 1 })), 'parked');
      const late = await scene.running();
      assert.equal(went(await wait(scene, late, [child.task], { timeoutMs: MINUTE })), 'parked');
      const waiter = await scene.running();
      assert.equal(went(await wait(scene, waiter, [late.task])), 'parked');
      const last = await scene.running();
      assert.equal(went(await wait(scene, last, [waiter.task], { channel: 'c' })), 'parked');
      // The one that has a time, and the one that has another task, are not followed.
      assert.equal(went(await wait(scene, other, [last.task])), 'parked');
    },

    'a task that waits no more closes no circle': async (scene) => {
      const parent = await scene.running();
      const child = await scene.running();
      await wait(scene, parent, [child.task]);
      await scene.settle(child, 'completed');
      const again = await scene.claimOne({ task: parent.task });
      const next = await scene.running();
      assert.equal(went(await wait(scene, next, [again.task])), 'parked');
      assert.deepEqual(await wait(scene, again, [next.task]), CIRCLE);
    },
  },
};
