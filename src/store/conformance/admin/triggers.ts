import assert from 'node:assert/strict';
import { FIRES_KEPT, NEVER } from '../../../core/schedule/due.ts';
import type { NewTrigger } from '../../store.ts';
import { guarded } from '../kit/guarded.ts';
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
      const more = { queue: 'mail', handler: 'send', heldAt: undefined, last: undefined };
      assert.deepEqual(await scene.store.triggerList(), [
        { ...second, ...more },
        { ...first, ...more },
        { ...third, ...more },
      ]);
    },

    'a trigger that is put again replaces the one of its name': async (scene) => {
      await trigger(scene);
      const lane = await scene.lane('post', 'sort');
      const again = await trigger(scene, { lane, cron: '* * * * *', payload: '2', nextAt: 12_345 });
      assert.deepEqual(await scene.store.triggerList(), [
        { ...again, queue: 'post', handler: 'sort', heldAt: undefined, last: undefined },
      ]);
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
        slots: [nextAt, nextAt + 1],
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
        slots: [nextAt],
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
          scene.store.triggerFire({
            duty,
            name: 'nightly',
            from: nextAt,
            nextAt: nextAt + DAY,
            slots: [nextAt],
            items,
          }),
        ),
      );
      assert.equal(answers.filter(({ moved }) => moved).length, 1);
      assert.equal((await scene.stats()).ready, 1);
    },

    'a trigger that was removed or changed after the look does not fire': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const items = [await scene.draft()];
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt], items };
      await trigger(scene, { cron: '0 4 * * *', nextAt: nextAt + 5 });
      assert.equal((await scene.unchanged(() => scene.store.triggerFire(fire))).moved, false);
      await scene.store.triggerRemove({ name: 'nightly' });
      assert.equal((await scene.unchanged(() => scene.store.triggerFire(fire))).moved, false);
    },

    'the unique key of a fire time keeps its task single, also when the trigger was put back': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const item = await scene.draft({ unique: { key: 'cron:nightly:slot', hash: 0, windowMs: DAY } });
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt], items: [item] };
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
        nextAt: NEVER,
        slots: [],
        items: [],
      });
      await scene.pass(3650 * DAY);
      assert.deepEqual((await scene.store.triggerDue({ limit: 10 })).triggers, []);
      assert.equal((await scene.store.triggerList())[0]?.nextAt, NEVER);
    },

    'a trigger is found by its name': async (scene) => {
      const made = await trigger(scene);
      const more = { queue: 'mail', handler: 'send', heldAt: undefined, last: undefined };
      assert.deepEqual(await scene.store.triggerFind({ name: 'nightly' }), { ...made, ...more });
      assert.equal(await scene.store.triggerFind({ name: 'other' }), undefined);
    },

    'a paused trigger is not due and does not fire, and keeps its place for when it goes on': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt, cron, timezone } = await trigger(scene);
      assert.equal(await scene.store.triggerPause({ name: 'nightly' }), true);
      const paused = await scene.store.triggerFind({ name: 'nightly' });
      assert.deepEqual([paused?.nextAt, paused?.heldAt], [NEVER, nextAt]);
      assert.equal(await scene.store.triggerPause({ name: 'nightly' }), true);
      assert.deepEqual(await scene.store.triggerFind({ name: 'nightly' }), paused, 'a repeat changes nothing');
      await scene.pass(2 * HOUR);
      assert.deepEqual((await scene.store.triggerDue({ limit: 10 })).triggers, []);
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt] };
      const items = [await scene.draft()];
      assert.equal((await scene.unchanged(() => scene.store.triggerFire({ ...fire, items }))).moved, false);
      const on = { name: 'nightly', cron, timezone };
      assert.equal(await scene.store.triggerResume({ ...on, nextAt: nextAt + DAY }), true);
      const resumed = await scene.store.triggerFind({ name: 'nightly' });
      assert.deepEqual([resumed?.nextAt, resumed?.heldAt], [nextAt + DAY, undefined]);
      await scene.unchanged(() => scene.store.triggerResume({ ...on, nextAt: nextAt + 2 * DAY }));
    },

    'a paused trigger never goes on before the place where it was held, and not by the fire times of another schedule':
      async (scene) => {
        const { nextAt, cron, timezone } = await trigger(scene);
        await scene.store.triggerPause({ name: 'nightly' });
        const other = { name: 'nightly', cron: '0 4 * * *', timezone, nextAt: nextAt + DAY };
        assert.equal(await scene.unchanged(() => scene.store.triggerResume(other)), false);
        assert.equal(await scene.store.triggerResume({ name: 'nightly', cron, timezone, nextAt: nextAt - DAY }), true);
        assert.equal((await scene.store.triggerFind({ name: 'nightly' }))?.nextAt, nextAt);
      },

    'a trigger that is put again while it is paused stays paused, with the place of the schedule that it has': async (
      scene,
    ) => {
      const { nextAt } = await trigger(scene);
      await scene.store.triggerPause({ name: 'nightly' });
      await trigger(scene, { payload: '2', nextAt: nextAt + DAY });
      const same = await scene.store.triggerFind({ name: 'nightly' });
      assert.deepEqual([same?.payload, same?.nextAt, same?.heldAt], ['2', NEVER, nextAt]);
      await trigger(scene, { cron: '0 4 * * *', nextAt: nextAt + HOUR });
      const changed = await scene.store.triggerFind({ name: 'nightly' });
      assert.deepEqual([changed?.nextAt, changed?.heldAt], [NEVER, nextAt + HOUR]);
    },

    'nobody pauses, resumes or runs a trigger that is not there': async (scene) => {
      const { store } = scene;
      const item = await scene.draft();
      assert.equal(await scene.unchanged(() => store.triggerPause({ name: 'none' })), false);
      const on = { name: 'none', cron: '* * * * *', timezone: 'UTC', nextAt: 1 };
      assert.equal(await scene.unchanged(() => store.triggerResume(on)), false);
      assert.equal(await scene.unchanged(() => store.triggerRun({ name: 'none', item })), undefined);
      assert.deepEqual(await store.triggerFires({ name: 'none', limit: 10 }), []);
    },

    'each firing leaves a line for what was skipped and one for each fire time, the newest first': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      await scene.pass(2 * HOUR);
      const at = scene.world.clock.wall();
      const { pushed } = await scene.store.triggerFire({
        duty,
        name: 'nightly',
        from: nextAt,
        nextAt: nextAt + DAY,
        skipped: { first: nextAt, before: nextAt + MINUTE },
        slots: [nextAt + MINUTE, nextAt + 2 * MINUTE],
        items: [await scene.draft(), await scene.draft()],
      });
      const tasks = pushed.map((answer) => (answer.ok ? answer.task : undefined));
      const lines = await scene.store.triggerFires({ name: 'nightly', limit: 10 });
      assert.deepEqual(lines, [
        { n: 3, slot: nextAt + 2 * MINUTE, ends: undefined, at, outcome: 'fired', task: tasks[1] },
        { n: 2, slot: nextAt + MINUTE, ends: undefined, at, outcome: 'fired', task: tasks[0] },
        { n: 1, slot: nextAt, ends: nextAt + MINUTE, at, outcome: 'skipped', task: undefined },
      ]);
      assert.deepEqual((await scene.store.triggerFind({ name: 'nightly' }))?.last, lines[0]);
      assert.deepEqual((await scene.store.triggerList())[0]?.last, lines[0]);
      assert.deepEqual(await scene.store.triggerFires({ name: 'nightly', limit: 1 }), [lines[0]]);
    },

    'a stale firing leaves no line': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const items = [await scene.draft()];
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt], items };
      await scene.store.triggerFire(fire);
      await Promise.all([scene.store.triggerFire(fire), scene.store.triggerFire(fire)]);
      assert.equal((await scene.store.triggerFires({ name: 'nightly', limit: 10 })).length, 1);
    },

    'a fire time whose task is refused is a line that says so': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const unique = { key: 'k', hash: 1, windowMs: DAY };
      await scene.push({ unique });
      const items = [await scene.draft({ unique: { ...unique, hash: 2 } })];
      const { pushed } = await scene.store.triggerFire({
        duty,
        name: 'nightly',
        from: nextAt,
        nextAt: nextAt + DAY,
        slots: [nextAt],
        items,
      });
      assert.equal(pushed[0]?.ok, false);
      const [line] = await scene.store.triggerFires({ name: 'nightly', limit: 10 });
      assert.deepEqual([line?.outcome, line?.task, line?.slot], ['refused', undefined, nextAt]);
    },

    'a limit that refuses new tasks refuses those of fire times too, each as if those before it were pushed': async (
      scene,
    ) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const item = await guarded(scene, { concurrent: 1, strategy: 'refuse' });
      const slots = [nextAt, nextAt + 1];
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots, items: [item, item] };
      const { moved, pushed } = await scene.store.triggerFire(fire);
      assert.deepEqual([moved, pushed[0]?.ok, pushed[1]], [true, true, { ok: false, limit: 'guard', key: '' }]);
      const refused = await scene.store.triggerRun({ name: 'nightly', item });
      assert.deepEqual(refused, { ok: false, limit: 'guard', key: '' });
      const lines = await scene.store.triggerFires({ name: 'nightly', limit: 10 });
      assert.deepEqual(
        lines.map(({ outcome }) => outcome),
        ['refused', 'refused', 'fired'],
      );
      assert.equal((await scene.stats()).ready, 1);
    },

    'a limit that replaces what waits does so for a fire time, and for one that is run out of turn': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const item = await guarded(scene, { concurrent: 1, strategy: 'replace_pending' });
      const slots = [nextAt, nextAt + 1];
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots, items: [item, item] };
      const { pushed } = await scene.store.triggerFire(fire);
      const last = await scene.store.triggerRun({ name: 'nightly', item });
      const tasks = [...pushed, last].map((answer) => (answer?.ok === true ? answer.task : assert.fail()));
      const found = await Promise.all(tasks.map((task) => scene.get(task)));
      assert.deepEqual(
        found.map(({ state, reason }) => [state, reason]),
        [
          ['cancelled', 'replaced'],
          ['cancelled', 'replaced'],
          ['ready', 'none'],
        ],
      );
    },

    'a fire time that has its task finds it before its limits are asked': async (scene) => {
      const duty = await scene.duty('cron', DAY);
      const { nextAt } = await trigger(scene);
      const unique = { key: 'cron:nightly:slot', hash: 0, windowMs: DAY };
      const item = await guarded(scene, { concurrent: 1, strategy: 'refuse' }, { unique });
      const fire = { duty, name: 'nightly', from: nextAt, nextAt: nextAt + DAY, slots: [nextAt], items: [item] };
      const [first] = (await scene.store.triggerFire(fire)).pushed;
      await scene.store.triggerRemove({ name: 'nightly' });
      await trigger(scene, { nextAt });
      const [again] = (await scene.store.triggerFire(fire)).pushed;
      assert.ok(first?.ok && again?.ok);
      assert.deepEqual([again.task, again.fresh], [first.task, false]);
    },

    'a trigger that is run out of turn pushes its task, keeps its place and says so, also while it is paused': async (
      scene,
    ) => {
      const { nextAt } = await trigger(scene);
      const item = await scene.draft({ payload: '"by hand"' });
      const answer = await scene.store.triggerRun({ name: 'nightly', item });
      assert.ok(answer?.ok);
      assert.equal((await scene.claimOne()).payload, '"by hand"');
      await scene.store.triggerPause({ name: 'nightly' });
      await scene.store.triggerRun({ name: 'nightly', item });
      const found = await scene.store.triggerFind({ name: 'nightly' });
      assert.deepEqual([found?.heldAt, found?.last?.n, found?.last?.outcome], [nextAt, 2, 'run']);
      const [, first] = await scene.store.triggerFires({ name: 'nightly', limit: 2 });
      assert.deepEqual([first?.task, first?.slot], [answer.task, first?.at]);
    },

    'only the newest lines are kept, and none of a trigger that was removed': async (scene) => {
      await trigger(scene);
      const item = await scene.draft();
      for (let n = 0; n < FIRES_KEPT + 3; n++) await scene.store.triggerRun({ name: 'nightly', item });
      const lines = await scene.store.triggerFires({ name: 'nightly', limit: 1000 });
      assert.deepEqual([lines.length, lines[0]?.n, lines.at(-1)?.n], [FIRES_KEPT, FIRES_KEPT + 3, 4]);
      await trigger(scene, { name: 'other' });
      await scene.store.triggerRun({ name: 'other', item });
      await scene.store.triggerRemove({ name: 'nightly' });
      assert.deepEqual(await scene.store.triggerFires({ name: 'nightly', limit: 1000 }), []);
      assert.equal((await scene.store.triggerFires({ name: 'other', limit: 1000 })).length, 1);
      await trigger(scene);
      await scene.store.triggerRun({ name: 'nightly', item });
      assert.equal((await scene.store.triggerFind({ name: 'nightly' }))?.last?.n, 1);
    },

    'many that run a trigger at once leave a line each': async (scene) => {
      await trigger(scene);
      const item = await scene.draft();
      await Promise.all(Array.from({ length: 10 }, () => scene.store.triggerRun({ name: 'nightly', item })));
      const lines = await scene.store.triggerFires({ name: 'nightly', limit: 100 });
      assert.deepEqual(
        lines.map(({ n }) => n),
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
      );
      assert.equal(new Set(lines.map(({ task }) => task)).size, 10);
    },
  },
};
