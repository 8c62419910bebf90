import assert from 'node:assert/strict';
import type { NewTrigger } from '../../store.ts';
import { DAY, HOUR, MINUTE, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

async function trigger(scene: Scene, wish: Partial<NewTrigger> = {}): Promise<NewTrigger> {
  const made: NewTrigger = {
    name: 'nightly',
    lane: await scene.lane('mail', 'send'),
    spec: await scene.spec(),
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
    missed: 'latest',
    priority: 0,
    maxTries: 3,
    payload: '{"n":1}',
    nextAt: scene.world.clock.wall() + HOUR,
    ...wish,
  };
  await scene.store.triggerPut({ trigger: made });
  return made;
}

export const TRIGGERS: Topic = {
  name: 'triggers',
  needs: ['whole'],
  cases: {
    'a trigger is listed as it was put, with the names of its queue and handler': async (scene) => {
      const first = await trigger(scene, { name: 'b', priority: -5, missed: 'all' });
      const second = await trigger(scene, { name: 'a', priority: 7, missed: 'skip' });
      const third = await trigger(scene, { name: 'c', priority: 0 });
      const names = { queue: 'mail', handler: 'send' };
      assert.deepEqual(await scene.store.triggerList(), [
        { ...second, ...names },
        { ...first, ...names },
        { ...third, ...names },
      ]);
    },

    'a trigger that is put again replaces the one of its name': async (scene) => {
      await trigger(scene);
      const lane = await scene.lane('post', 'sort');
      const again = await trigger(scene, { lane, cron: '* * * * *', payload: '2', nextAt: 12_345 });
      assert.deepEqual(await scene.store.triggerList(), [{ ...again, queue: 'post', handler: 'sort' }]);
    },

    'a trigger that is put again keeps its place while its schedule is the same, so that no fire time is lost': async (
      scene,
    ) => {
      const { nextAt } = await trigger(scene, { payload: '1' });
      await trigger(scene, { payload: '2', priority: 5, missed: 'all', nextAt: nextAt + DAY });
      const [kept] = await scene.store.triggerList();
      assert.deepEqual([kept?.payload, kept?.priority, kept?.missed, kept?.nextAt], ['2', 5, 'all', nextAt]);
      await trigger(scene, { timezone: 'UTC', nextAt: nextAt + DAY });
      assert.equal((await scene.store.triggerList())[0]?.nextAt, nextAt + DAY);
    },

    'putting a trigger answers with the fire time that comes next': async (scene) => {
      const made = await trigger(scene);
      assert.equal(await scene.store.triggerPut({ trigger: { ...made, nextAt: made.nextAt + DAY } }), made.nextAt);
      const other = { ...made, cron: '0 4 * * *', nextAt: made.nextAt + HOUR };
      assert.equal(await scene.store.triggerPut({ trigger: other }), other.nextAt);
    },

    'a trigger can be removed once': async (scene) => {
      await trigger(scene);
      assert.equal(await scene.store.triggerRemove({ name: 'nightly' }), true);
      assert.equal(await scene.store.triggerRemove({ name: 'nightly' }), false);
      assert.deepEqual(await scene.store.triggerList(), []);
    },

    'a trigger is due from its fire time on, the earliest first, and the next one is announced': async (scene) => {
      const now = scene.world.clock.wall();
      await trigger(scene, { name: 'late', nextAt: now + 2 * MINUTE });
      await trigger(scene, { name: 'early', nextAt: now + MINUTE });
      await trigger(scene, { name: 'far', nextAt: now + DAY });
      assert.deepEqual(await scene.store.triggerDue({ limit: 10 }), { now, triggers: [], nextInMs: MINUTE });
      await scene.pass(MINUTE - 1);
      assert.deepEqual((await scene.store.triggerDue({ limit: 10 })).triggers, []);
      await scene.pass(MINUTE + 1);
      const due = await scene.store.triggerDue({ limit: 10 });
      assert.equal(due.now, now + 2 * MINUTE);
      assert.deepEqual(
        due.triggers.map(({ name }) => name),
        ['early', 'late'],
      );
      assert.equal(due.nextInMs, DAY - 2 * MINUTE);
      assert.deepEqual(
        (await scene.store.triggerDue({ limit: 1 })).triggers.map(({ name }) => name),
        ['early'],
      );
    },

    'without triggers nothing is due and nothing is announced': async ({ store, world }) => {
      assert.deepEqual(await store.triggerDue({ limit: 10 }), {
        now: world.clock.wall(),
        triggers: [],
        nextInMs: undefined,
      });
    },

    'firing pushes the tasks of the fire times and moves the trigger on, in one write': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const item = await scene.draft({ payload: '"slot"' });
      await scene.pass(HOUR);
      const answer = await scene.store.triggerFire({
        duty,
        name: 'nightly',
        from: nextAt,
        nextAt: nextAt + DAY,
        items: [item, { ...item, delayMs: MINUTE }],
      });
      assert.equal(answer.moved, true);
      assert.deepEqual(
        answer.pushed.map((pushed) => pushed.ok && [pushed.state, pushed.fresh]),
        [
          ['ready', true],
          ['scheduled', true],
        ],
      );
      assert.equal((await scene.store.triggerList())[0]?.nextAt, nextAt + DAY);
      assert.equal((await scene.claimOne()).payload, '"slot"');
    },

    'a fire time that was fired cannot be fired again': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const firing = {
        duty,
        name: 'nightly',
        from: nextAt,
        nextAt: nextAt + DAY,
        items: [await scene.draft()],
      };
      assert.equal((await scene.store.triggerFire(firing)).moved, true);
      assert.deepEqual(await scene.unchanged(() => scene.store.triggerFire(firing)), { moved: false, pushed: [] });
    },

    'many that fire one fire time at once fire it once': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const items = [await scene.draft()];
      const answers = await Promise.all(
        Array.from({ length: 10 }, () =>
          scene.store.triggerFire({ duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, items }),
        ),
      );
      assert.equal(answers.filter(({ moved }) => moved).length, 1);
      assert.equal((await scene.stats()).ready, 1);
    },

    'a trigger that was removed or changed after the look does not fire': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const items = [await scene.draft()];
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, items };
      await trigger(scene, { cron: '0 4 * * *', nextAt: nextAt + 5 });
      assert.equal((await scene.unchanged(() => scene.store.triggerFire(fire))).moved, false);
      await scene.store.triggerRemove({ name: 'nightly' });
      assert.equal((await scene.unchanged(() => scene.store.triggerFire(fire))).moved, false);
    },

    'the unique key of a fire time keeps its task single, also when the trigger was put back': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const item = await scene.draft({ unique: { key: 'cron:nightly:slot', hash: 0, windowMs: DAY } });
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, items: [item] };
      const [first] = (await scene.store.triggerFire(fire)).pushed;
      await scene.store.triggerRemove({ name: 'nightly' });
      await trigger(scene, { nextAt });
      const { moved, pushed } = await scene.store.triggerFire(fire);
      assert.ok(moved && first?.ok && pushed[0]?.ok);
      assert.deepEqual([pushed[0].task, pushed[0].fresh], [first.task, false]);
    },

    'a trigger without a further fire time is never due again': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      await scene.store.triggerFire({
        duty,
        name: 'nightly',
        from: nextAt,
        nextAt: Number.MAX_SAFE_INTEGER,
        items: [],
      });
      await scene.pass(3650 * DAY);
      assert.deepEqual((await scene.store.triggerDue({ limit: 10 })).triggers, []);
      assert.equal((await scene.store.triggerList())[0]?.nextAt, Number.MAX_SAFE_INTEGER);
    },
  },
};
