import assert from 'node:assert/strict';
import type { DutyTenure, DutyTerm } from '../../store.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import type { Run, Topic } from '../kit/topic.ts';

const take = (scene: Scene, holder: string, ttlMs = MINUTE): Promise<DutyTenure | undefined> =>
  scene.store.dutyTake({ name: 'reaper', holder, ttlMs });

interface DutyWrite {
  /** As in "a deposed holder cannot …". */
  readonly words: string;
  readonly act: (scene: Scene, duty: DutyTerm) => Promise<unknown>;
  readonly did: (answer: unknown) => boolean;
}

const WRITES: readonly DutyWrite[] = [
  {
    words: 'reap a lease',
    act: async ({ store }, duty) => {
      const { leases } = await store.leaseOverdue({ limit: 10 });
      const items = leases.map(
        ({ task, attempt }) => ({ task, attempt, to: 'again', reason: 'none', delayMs: 0 }) as const,
      );
      return store.leaseReap({ duty, items });
    },
    did: (answer) => (answer as { reaped: number }).reaped === 1,
  },
  {
    words: 'stage a task',
    act: ({ store }, duty) => store.taskStage({ duty, limit: 10 }),
    did: (answer) => (answer as { staged: number }).staged === 1,
  },
  {
    words: 'time out a task',
    act: ({ store }, duty) => store.taskExpire({ duty, limit: 10 }),
    did: (answer) => (answer as { expired: number }).expired === 1,
  },
  {
    words: 'call a worker lost',
    act: ({ store }, duty) => store.workerReap({ duty, staleMs: MINUTE }),
    did: (answer) => (answer as readonly number[]).length === 1,
  },
  {
    words: 'prune anything',
    act: ({ store }, duty) => store.taskPrune({ duty, retentionMs: HOUR, limit: 100 }),
    did: (answer) => (answer as { tasks: number }).tasks === 1,
  },
  {
    words: 'audit the counters',
    act: ({ store }, duty) => store.statsAudit({ duty }),
    did: (answer) => Array.isArray(answer) && answer.length === 0,
  },
  {
    words: 'fire a trigger',
    act: async (scene, duty) => {
      const { triggers } = await scene.store.triggerDue({ limit: 1 });
      const [trigger] = triggers;
      assert.ok(trigger);
      const item = await scene.draft({ queue: 'fired' });
      return scene.store.triggerFire({
        duty,
        name: trigger.name,
        from: trigger.nextAt,
        nextAt: trigger.nextAt + DAY,
        slots: [trigger.nextAt],
        items: [item],
      });
    },
    did: (answer) => (answer as { moved: boolean }).moved,
  },
];

/** A store in which every duty has something to do. */
async function muchToDo(scene: Scene): Promise<void> {
  const finished = await scene.running({ queue: 'finished' });
  await scene.settle(finished, 'completed');
  await scene.pass(2 * HOUR);
  await scene.running({ queue: 'overdue' }, { ttlMs: TTL });
  await scene.push({ queue: 'due', delayMs: TTL });
  await scene.push({ queue: 'late', waitTimeoutMs: TTL });
  const now = scene.world.clock.wall();
  await scene.store.triggerPut({
    trigger: {
      name: 'nightly',
      lane: await scene.lane('fired'),
      spec: await scene.spec(),
      cron: '0 3 * * *',
      timezone: 'UTC',
      missed: 'latest',
      priority: 0,
      maxTries: 3,
      payload: '{}',
      nextAt: now + 1,
    },
  });
  await scene.pass(TTL + 1);
}

function staleCases({ words, act, did }: DutyWrite): Record<string, Run> {
  return {
    [`a deposed holder cannot ${words}`]: async (scene) => {
      await muchToDo(scene);
      const deposed = await take(scene, 'a');
      await scene.pass(MINUTE + 1);
      const holder = await take(scene, 'b', DAY);
      assert.ok(deposed && holder && holder.epoch > deposed.epoch);
      assert.equal(await scene.unchanged(() => refusal(act(scene, deposed))), 'DUTY_LOST');
      scene.forgets = true;
      assert.ok(did(await act(scene, holder)), 'the holder itself could not');
    },

    [`an epoch that never was, or a duty that nobody ever held, cannot ${words}`]: async (scene) => {
      await muchToDo(scene);
      const holder = await take(scene, 'a', DAY);
      assert.ok(holder);
      for (const term of [
        { name: holder.name, epoch: holder.epoch + 1 },
        { name: holder.name, epoch: 0 },
        { name: 'nothing', epoch: holder.epoch },
      ]) {
        assert.equal(await scene.unchanged(() => refusal(act(scene, term))), 'DUTY_LOST');
      }
    },
  };
}

export const DUTIES: Topic = {
  name: 'duties',
  cases: {
    'the first holder of a duty has epoch 1, begins at 0, and finds it vacant': async (scene) => {
      assert.deepEqual(await take(scene, 'a'), { name: 'reaper', epoch: 1, cursor: 0, vacant: true });
    },

    'a duty has one holder at a time, whatever that one is called': async (scene) => {
      assert.ok(await take(scene, 'a'));
      assert.equal(await take(scene, 'b'), undefined);
      assert.equal(await take(scene, 'a'), undefined);
    },

    'many that try for a duty at the same time get it once': async (scene) => {
      const terms = await Promise.all(Array.from({ length: 20 }, (_, n) => take(scene, `p${n}`)));
      assert.equal(terms.filter((term) => term !== undefined).length, 1);
    },

    'duties of other names are other duties': async (scene) => {
      assert.ok(await take(scene, 'a'));
      assert.ok(await scene.store.dutyTake({ name: 'stager', holder: 'b', ttlMs: MINUTE }));
    },

    'a term that has run out may be taken over, with the next epoch, and is not called vacant': async (scene) => {
      await take(scene, 'a');
      await scene.pass(MINUTE);
      assert.equal(await take(scene, 'b'), undefined);
      await scene.pass(1);
      assert.deepEqual(await take(scene, 'b'), { name: 'reaper', epoch: 2, cursor: 0, vacant: false });
    },

    'a duty that was given back is vacant at once, and its epoch still grows': async (scene) => {
      const first = await take(scene, 'a');
      assert.ok(first);
      await scene.store.dutyRelease({ duty: first });
      assert.deepEqual(await take(scene, 'b'), { name: 'reaper', epoch: 2, cursor: 0, vacant: true });
    },

    'a renewal extends the term from now on': async (scene) => {
      const term = await take(scene, 'a');
      assert.ok(term);
      await scene.pass(MINUTE - 1);
      assert.equal(await scene.store.dutyRenew({ duty: term, ttlMs: MINUTE }), true);
      await scene.pass(MINUTE);
      assert.equal(await take(scene, 'b'), undefined);
      await scene.pass(1);
      assert.ok(await take(scene, 'b'));
    },

    'a term that has run out cannot be renewed, also when nobody took it over': async (scene) => {
      const term = await take(scene, 'a');
      assert.ok(term);
      await scene.pass(MINUTE + 1);
      assert.equal(await scene.store.dutyRenew({ duty: term, ttlMs: MINUTE }), false);
      assert.equal((await take(scene, 'b'))?.epoch, 2);
    },

    'a deposed holder can neither renew the duty nor give it back': async (scene) => {
      const deposed = await take(scene, 'a');
      assert.ok(deposed);
      await scene.pass(MINUTE + 1);
      const holder = await take(scene, 'b');
      assert.ok(holder);
      assert.equal(await scene.store.dutyRenew({ duty: deposed, ttlMs: DAY }), false);
      await scene.store.dutyRelease({ duty: deposed });
      assert.equal(await take(scene, 'c'), undefined);
      assert.equal(await scene.store.dutyRenew({ duty: holder, ttlMs: MINUTE }), true);
    },

    'a duty that was given back cannot be renewed': async (scene) => {
      const term = await take(scene, 'a');
      assert.ok(term);
      await scene.store.dutyRelease({ duty: term });
      assert.equal(await scene.store.dutyRenew({ duty: term, ttlMs: MINUTE }), false);
      assert.equal((await take(scene, 'b'))?.vacant, true);
    },

    'the epoch grows with every term, through crashes and orderly ends alike': async (scene) => {
      const epochs: number[] = [];
      for (let n = 0; n < 6; n++) {
        const term = await take(scene, `p${n}`);
        assert.ok(term);
        epochs.push(term.epoch);
        if (n % 2 === 0) await scene.store.dutyRelease({ duty: term });
        else await scene.pass(MINUTE + 1);
      }
      assert.deepEqual(epochs, [1, 2, 3, 4, 5, 6]);
    },

    'setting the wall clock ends no term': async (scene) => {
      await take(scene, 'a');
      scene.world.jump(DAY);
      assert.equal(await take(scene, 'b'), undefined);
      scene.world.jump(-3 * DAY);
      assert.equal(await take(scene, 'b'), undefined);
      await scene.pass(MINUTE + 1);
      assert.ok(await take(scene, 'b'));
    },

    ...(Object.assign({}, ...WRITES.map(staleCases)) as Record<string, Run>),
  },
};
