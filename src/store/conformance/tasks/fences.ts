import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { DutyTenure, TurnAnswer } from '../../store.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import type { Run, Topic } from '../kit/topic.ts';
import { parkAll, rememberAll } from '../kit/turning.ts';

/** A write after the claim. Answers whether it was accepted. */
interface Write {
  /** As in "a stale attempt cannot … the task". */
  readonly words: string;
  /** Ends the attempt in another way before, so that this write is not only a repeat. */
  readonly other: (scene: Scene, lease: Lease) => Promise<unknown>;
  readonly act: (scene: Scene, lease: Lease, duty: DutyTenure) => Promise<boolean>;
}

const complete = (scene: Scene, lease: Lease): Promise<unknown> => scene.settle(lease, 'completed', { result: '"x"' });
const fail = (scene: Scene, lease: Lease): Promise<unknown> => scene.settle(lease, 'failed', { reason: 'gave_up' });

const took = ([answer]: readonly TurnAnswer[]): boolean => answer?.kind === 'done';

const WRITES: readonly Write[] = [
  { words: 'complete', other: fail, act: async (scene, lease) => (await complete(scene, lease)) !== 'lost' },
  { words: 'fail', other: complete, act: async (scene, lease) => (await fail(scene, lease)) !== 'lost' },
  {
    words: 'cancel',
    other: complete,
    act: async (scene, lease) => (await scene.settle(lease, 'cancelled', { reason: 'requested' })) !== 'lost',
  },
  {
    words: 'retry',
    other: complete,
    act: async (scene, lease) =>
      (await scene.giveBack(lease, { change: 'retried', delayMs: 5, error: '"e"' })) !== 'lost',
  },
  {
    words: 'release',
    other: complete,
    act: async (scene, lease) =>
      (await scene.giveBack(lease, { change: 'released', refund: true, bounced: true })) !== 'lost',
  },
  {
    words: 'renew',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const [answer] = await scene.store.leaseRenew({ items: [{ task, attempt, ttlMs: HOUR }] });
      return answer?.held === true;
    },
  },
  {
    words: 'log for',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const entries = [{ seq: 1, at: 0, stream: 'stdout', text: 'a line' } as const];
      const [answer] = await scene.store.logAppend({ items: [{ task, attempt, entries }] });
      return answer === 'done';
    },
  },
  ...([{ timeoutMs: 5 }, { channel: 'c' }, { children: [1_000_001] }] as const).map((what) => ({
    words: `park, for ${Object.keys(what)[0]},`,
    other: complete,
    act: async (scene: Scene, { task, attempt }: Lease) => {
      const [answer] = await parkAll(scene.store, [{ task, attempt, key: 'k', ...what }]);
      return answer?.kind !== 'lost';
    },
  })),
  {
    words: 'remember a value for',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const [answer] = await rememberAll(scene.store, [{ task, attempt, key: 'k', value: '1' }]);
      return answer?.kind !== 'lost';
    },
  },
  {
    words: 'bear a child of',
    other: complete,
    act: async (scene, { task, attempt }) => {
      // In a lane that exists: this write may not leave even a queue behind.
      const [own] = await scene.store.taskGet({ tasks: [task] });
      const draft = { lane: own?.lane ?? 1, spec: own?.spec ?? 1, priority: 0, maxTries: 3, payload: 'null' };
      const child = { key: 'k', kind: 'child', task: draft } as const;
      return took(await scene.store.taskTurn({ items: [{ task, attempt, entries: [child], then: { go: 'on' } }] }));
    },
  },
  {
    words: 'send a signal for',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const signal = { key: 'k', kind: 'signal', channel: 'c', body: '1' } as const;
      return took(await scene.store.taskTurn({ items: [{ task, attempt, entries: [signal], then: { go: 'on' } }] }));
    },
  },
  {
    words: 'end by a turn',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const then = { go: 'end', to: 'failed', reason: 'gave_up' } as const;
      const entries = [{ key: 'k', kind: 'value', value: '1' }] as const;
      return took(await scene.store.taskTurn({ items: [{ task, attempt, entries, then }] }));
    },
  },
  {
    words: 'give back by a turn',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const then = { go: 'back', change: 'retried', delayMs: 0, refund: false, bounced: false } as const;
      return took(await scene.store.taskTurn({ items: [{ task, attempt, entries: [], then }] }));
    },
  },
  {
    words: 'keep a result of',
    other: complete,
    act: async (scene, { task, attempt }) => {
      const items = [{ task, attempt, key: `of ${task}`, maxAgeMs: HOUR, value: '1' }];
      const [answer] = await scene.store.resultKeep({ items });
      const [found] = await scene.store.resultFind({ items });
      // Only a result that the holder of the task has kept is found.
      assert.equal(found !== undefined, answer !== 'lost');
      return answer !== 'lost';
    },
  },
  ...(['again', 'failed', 'cancelled'] as const).map((to) => ({
    words: { again: 'reap', failed: 'reap and fail', cancelled: 'reap and cancel' }[to],
    other: complete,
    act: async (scene: Scene, { task, attempt }: Lease, duty: DutyTenure) => {
      const items = [{ task, attempt, to, reason: 'none', delayMs: 0 } as const];
      return (await scene.store.leaseReap({ duty, items })).reaped > 0;
    },
  })),
];

/** The lease of attempt 1 has run out and was taken over; the task is what `to` says. */
async function reaped(scene: Scene, duty: DutyTenure, to: 'again' | 'failed' = 'again', delayMs = 0): Promise<Lease> {
  const grant = await scene.running({ maxTries: 9 });
  await scene.pass(TTL + 1);
  assert.equal(await scene.reap(duty, to, delayMs), 1);
  return grant;
}

function casesOf({ words, other, act }: Write): Record<string, Run> {
  const refused = async (scene: Scene, lease: Lease, duty: DutyTenure): Promise<void> => {
    assert.equal(await scene.unchanged(() => act(scene, lease, duty)), false, 'it was accepted');
  };
  return {
    [`a stale attempt cannot ${words} the task that another attempt holds`]: async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const stale = await reaped(scene, duty);
      const newer = await scene.claimOne();
      assert.deepEqual([stale.attempt, newer.attempt], [1, 2]);
      await refused(scene, stale, duty);
      // Also when the lease has run out: only the reaper decides about that.
      await scene.pass(TTL + 1);
      await refused(scene, stale, duty);
      assert.equal(await act(scene, newer, duty), true, 'the holder itself was refused');
    },

    [`an attempt cannot ${words} its task after the reap, whatever the reap made of it`]: async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      await refused(scene, await reaped(scene, duty, 'again', HOUR), duty);
      await refused(scene, await reaped(scene, duty, 'failed'), duty);
      await refused(scene, await reaped(scene, duty), duty);
    },

    [`an attempt cannot ${words} its task after it has ended it`]: async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const grant = await scene.running();
      assert.equal(await other(scene, grant), 'done');
      await scene.pass(TTL + 1);
      await refused(scene, grant, duty);
    },

    [`an attempt cannot ${words} a task that was ended, run again and is held by the next attempt`]: async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const grant = await scene.running();
      assert.equal(await other(scene, grant), 'done');
      await scene.store.taskRevive({ tasks: [grant.task] });
      await refused(scene, grant, duty);
      await scene.claimOne();
      await scene.pass(TTL + 1);
      await refused(scene, grant, duty);
    },

    [`an attempt that never was cannot ${words} any task`]: async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const { task } = await scene.running({ queue: 'running' });
      const never = await scene.push({ queue: 'ready' });
      await scene.pass(TTL + 1);
      for (const attempt of [2, 3, 1000, 0, -1]) await refused(scene, { task, attempt }, duty);
      for (const attempt of [0, 1]) await refused(scene, { task: never, attempt }, duty);
      await refused(scene, { task: 4711, attempt: 1 }, duty);
    },
  };
}

export const FENCES: Topic = {
  name: 'fences',
  cases: Object.assign({}, ...WRITES.map(casesOf)) as Record<string, Run>,
};
