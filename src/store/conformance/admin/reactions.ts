import assert from 'node:assert/strict';
import { FIRINGS_KEPT } from '../../../core/trigger/trigger.ts';
import type { Delivered, ReactionAnswer, ReactionDelivery, ReactionFiring, Store } from '../../store.ts';
import { guarded } from '../kit/guarded.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const RUN = { kind: 'machine', title: 'ingest', fingerprint: 'f', definition: undefined };

/** A reaction that is on; answers its revision. */
function reaction(scene: Scene, name = 'hook', cursor?: number): Promise<number> {
  return scene.store.reactionPut({ name, kind: cursor === undefined ? 'webhook' : 'event', body: '{"a":1}', cursor });
}

async function delivery(scene: Scene, wish: Partial<ReactionDelivery> = {}): Promise<ReactionDelivery> {
  return { key: 'd1', keepMs: HOUR, about: 'delivery d1', outcome: 'pushed', item: await scene.draft(), ...wish };
}

async function fire(
  { store }: { readonly store: Store },
  revision: number,
  deliveries: readonly ReactionDelivery[],
  more: Partial<ReactionFiring> = {},
): Promise<ReactionAnswer> {
  return store.reactionFire({ name: 'hook', revision, deliveries, ...more });
}

function done(answer: ReactionAnswer): readonly Delivered[] {
  assert.equal(answer.kind, 'done');
  return (answer as { readonly delivered: readonly Delivered[] }).delivered;
}

function taskOf(one: Delivered | undefined): number {
  assert.ok(one?.task, 'it has pushed no task');
  return one.task.task;
}

export const REACTIONS: Topic = {
  name: 'reactions',
  needs: ['whole'],
  cases: {
    'a reaction is found and listed as it was put, by name and by kind': async (scene) => {
      const { store } = scene;
      const at = scene.world.clock.wall();
      const revision = await reaction(scene, 'b');
      await reaction(scene, 'a', 7);
      const b = { name: 'b', kind: 'webhook', body: '{"a":1}', enabled: true, revision, cursor: 0 };
      assert.deepEqual(await store.reactionFind({ name: 'b' }), {
        ...b,
        createdAt: at,
        changedAt: at,
        lines: 0,
        last: undefined,
      });
      const names = async (kind?: 'event'): Promise<readonly string[]> =>
        (await store.reactionList(kind === undefined ? {} : { kind })).map(({ name }) => name);
      assert.deepEqual(await names(), ['a', 'b']);
      assert.deepEqual(await names('event'), ['a']);
      assert.equal(await store.reactionFind({ name: 'c' }), undefined);
    },

    'a reaction that is put again has another revision, and keeps its switch, its cursor, its lines and its keys':
      async (scene) => {
        const { store } = scene;
        const first = await reaction(scene, 'hook', 5);
        done(await fire(scene, first, [await delivery(scene)]));
        await store.reactionEnable({ name: 'hook', enabled: false, cursor: 9 });
        const second = await store.reactionPut({ name: 'hook', kind: 'event', body: '{"b":2}' });
        assert.ok(second > first);
        const found = await store.reactionFind({ name: 'hook' });
        assert.deepEqual([found?.body, found?.enabled, found?.cursor, found?.lines], ['{"b":2}', false, 5, 1]);
        const [again] = done(await fire(scene, second, [await delivery(scene)], { byHand: true }));
        assert.equal(again?.fresh, false);
        await store.reactionPut({ name: 'hook', kind: 'event', body: '{}', cursor: 30 });
        assert.equal((await store.reactionFind({ name: 'hook' }))?.cursor, 30);
      },

    'a delivery pushes its task and leaves a line, in one write': async (scene) => {
      const revision = await reaction(scene);
      const at = scene.world.clock.wall();
      const [made] = done(await fire(scene, revision, [await delivery(scene, { detail: 'more' })]));
      assert.ok(made?.fresh && made.pushed?.ok && made.pushed.fresh);
      assert.equal((await scene.claimOne()).task, made.task?.task);
      const lines = await scene.store.reactionLines({ name: 'hook', limit: 10 });
      const line = { n: 1, at, outcome: 'pushed', task: made.task?.task, about: 'delivery d1', detail: 'more' };
      assert.deepEqual(lines, [line]);
      assert.deepEqual((await scene.store.reactionFind({ name: 'hook' }))?.last, line);
    },

    'a delivery whose key is known changes nothing, and answers with the task of the first': async (scene) => {
      const revision = await reaction(scene);
      const [first] = done(await fire(scene, revision, [await delivery(scene)]));
      const item = await scene.draft({ payload: '"another"' });
      const again = await delivery(scene, { item });
      const [second] = done(await scene.unchanged(() => fire(scene, revision, [again])));
      assert.deepEqual(second, { fresh: false, n: 1, task: first?.task });
      assert.equal((await scene.store.reactionLines({ name: 'hook', limit: 10 })).length, 1);
    },

    'of many that bring the same delivery at once, on several stores, one acts': async (scene) => {
      const revision = await reaction(scene);
      const one = await delivery(scene);
      const answers = await Promise.all(Array.from({ length: 10 }, () => fire(scene, revision, [one])));
      assert.equal(answers.flatMap(done).filter(({ fresh }) => fresh).length, 1);
      assert.equal(new Set(answers.flatMap(done).map(({ task }) => task?.task)).size, 1);
      assert.equal((await scene.stats()).ready, 1);
    },

    'several processes that bring the same delivery at once act once': {
      needs: ['reopen'],
      async run(scene) {
        const revision = await reaction(scene);
        const other = await scene.reopen();
        for (let i = 0; i < 5; i++) {
          const one = await delivery(scene, { key: `d${i}` });
          const both = await Promise.all([fire(scene, revision, [one]), fire({ store: other }, revision, [one])]);
          assert.equal(both.flatMap(done).filter(({ fresh }) => fresh).length, 1);
        }
        assert.equal((await scene.stats()).ready, 5);
      },
    },

    'the same key with another version is another delivery, and takes the place of the first': async (scene) => {
      const revision = await reaction(scene);
      const of = (version: string): Promise<ReactionDelivery> => delivery(scene, { key: 'file:a', version });
      const fresh = async (version: string): Promise<boolean | undefined> =>
        done(await fire(scene, revision, [await of(version)]))[0]?.fresh;
      assert.deepEqual(
        [await fresh('1'), await fresh('1'), await fresh('2'), await fresh('2')],
        [true, false, true, false],
      );
      assert.deepEqual(await scene.store.reactionKeys({ name: 'hook', prefix: 'file:', after: '', limit: 10 }), [
        { key: 'file:a', version: '2' },
      ]);
    },

    'a key is known for its time, and not afterwards': async (scene) => {
      const revision = await reaction(scene);
      const one = await delivery(scene, { keepMs: MINUTE });
      done(await fire(scene, revision, [one]));
      await scene.pass(MINUTE - 1);
      assert.equal(done(await fire(scene, revision, [one]))[0]?.fresh, false);
      await scene.pass(1);
      assert.equal(done(await fire(scene, revision, [one]))[0]?.fresh, true);
      await scene.pass(MINUTE);
      done(await fire(scene, revision, [await delivery(scene, { key: 'd2' })]));
      const known = await scene.store.reactionKeys({ name: 'hook', prefix: '', after: '', limit: 10 });
      assert.deepEqual(
        known.map(({ key }) => key),
        ['d2'],
        'what is over is removed',
      );
    },

    'keys are listed by their beginning, in order and in pages, and can be forgotten': async (scene) => {
      const { store } = scene;
      const revision = await reaction(scene);
      const keys = ['f:b', 'f:a', 'g:a', 'f:c'];
      const many = await Promise.all(keys.map((key) => delivery(scene, { key, item: undefined, outcome: 'done' })));
      done(await fire(scene, revision, many));
      const list = async (after: string, limit: number): Promise<readonly string[]> =>
        (await store.reactionKeys({ name: 'hook', prefix: 'f:', after, limit })).map(({ key }) => key);
      assert.deepEqual([await list('', 2), await list('f:b', 2)], [['f:a', 'f:b'], ['f:c']]);
      done(await fire(scene, revision, [], { forget: ['f:b', 'f:z'] }));
      assert.deepEqual(await list('', 10), ['f:a', 'f:c']);
    },

    'a refused push leaves a line that says so, and takes no key': async (scene) => {
      const revision = await reaction(scene);
      const unique = { key: 'k', hash: 1, windowMs: DAY };
      await scene.push({ unique });
      const item = await scene.draft({ unique: { ...unique, hash: 2 } });
      for (const n of [1, 2]) {
        const [refused] = done(await fire(scene, revision, [await delivery(scene, { item })]));
        assert.deepEqual([refused?.fresh, refused?.n, refused?.pushed?.ok, refused?.task], [true, n, false, undefined]);
      }
      const [line] = await scene.store.reactionLines({ name: 'hook', limit: 1 });
      assert.deepEqual([line?.outcome, line?.task], ['refused', undefined]);
    },

    'a limit judges each delivery as if those before it were pushed, and a task that is there already not at all':
      async (scene) => {
        const revision = await reaction(scene);
        const unique = { key: 'k', hash: 1, windowMs: DAY };
        const item = await guarded(scene, { concurrent: 1, strategy: 'refuse' });
        const many = [
          await delivery(scene, { key: 'a', item: { ...item, unique } }),
          await delivery(scene, { key: 'b', item }),
          await delivery(scene, { key: 'c', item: { ...item, unique } }),
        ];
        const [first, second, third] = done(await fire(scene, revision, many));
        assert.deepEqual(second?.pushed, { ok: false, limit: 'guard', key: '' });
        assert.equal(taskOf(third), taskOf(first));
      },

    'the run of a delivery has its name and its budgets from the same commit, and one of that name is the answer':
      async (scene) => {
        const { store } = scene;
        const revision = await reaction(scene);
        const run = { ...RUN, name: 'hook:1' };
        const budgets = [{ unit: 'tokens', soft: 50, hard: 100 }] as const;
        const [first] = done(await fire(scene, revision, [await delivery(scene, { key: 'a', run, budgets })]));
        const task = taskOf(first);
        assert.equal((await store.runFind({ name: 'hook:1' }))?.task, task);
        const kept = await store.budgetGet({ root: task });
        assert.deepEqual(
          kept.map(({ unit, soft, hard }) => ({ unit, soft, hard })),
          budgets,
        );
        const [again] = done(await fire(scene, revision, [await delivery(scene, { key: 'b', run, budgets })]));
        assert.deepEqual([taskOf(again), again?.pushed?.ok === true && again.pushed.fresh], [task, false]);
        assert.equal((await scene.stats()).ready, 1);
      },

    'of several deliveries each has its own answer and line, in order': async (scene) => {
      const revision = await reaction(scene);
      done(await fire(scene, revision, [await delivery(scene, { key: 'known' })]));
      const many = [
        await delivery(scene, { key: 'a' }),
        await delivery(scene, { key: 'known' }),
        await delivery(scene, { key: undefined, item: undefined, outcome: 'lost', about: 'events' }),
        await delivery(scene, { key: 'b' }),
      ];
      const delivered = done(await fire(scene, revision, many));
      assert.deepEqual(
        delivered.map(({ fresh, n }) => [fresh, n]),
        [
          [true, 2],
          [false, 1],
          [true, 3],
          [true, 4],
        ],
      );
      const lines = await scene.store.reactionLines({ name: 'hook', limit: 3 });
      assert.deepEqual(
        lines.map(({ n, outcome, task }) => [n, outcome, task]),
        [
          [4, 'pushed', delivered[3]?.task?.task],
          [3, 'lost', undefined],
          [2, 'pushed', delivered[0]?.task?.task],
        ],
      );
      const older = await scene.store.reactionLines({ name: 'hook', limit: 10, before: 3 });
      assert.deepEqual(
        older.map(({ n }) => n),
        [2, 1],
      );
    },

    'a task of a delivery is a run where it is to be one, with its definition, in the same write': async (scene) => {
      const revision = await reaction(scene);
      const definition = { hash: 'a'.repeat(64), kind: 'machine', body: '{}' };
      const run = { ...RUN, definition: definition.hash, labels: { trigger: 'hook' } };
      const [made] = done(await fire(scene, revision, [await delivery(scene, { run, definition })]));
      const [found] = await scene.store.runGet({ tasks: [taskOf(made)] });
      assert.deepEqual([found?.kind, found?.title, found?.labels], ['machine', 'ingest', { trigger: 'hook' }]);
      assert.equal((await scene.store.definitionGet({ hash: definition.hash }))?.body, '{}');
    },

    'a firing moves the cursor, and one that began elsewhere does nothing': async (scene) => {
      const revision = await reaction(scene, 'hook', 10);
      const one = [await delivery(scene)];
      const stale = { cursor: { from: 9, to: 20 } };
      assert.deepEqual(await scene.unchanged(() => fire(scene, revision, one, stale)), { kind: 'changed' });
      done(await fire(scene, revision, one, { cursor: { from: 10, to: 20 } }));
      assert.equal((await scene.store.reactionFind({ name: 'hook' }))?.cursor, 20);
      const again = await scene.unchanged(() => fire(scene, revision, one, { cursor: { from: 10, to: 20 } }));
      assert.deepEqual(again, { kind: 'changed' });
      done(await fire(scene, revision, [], { cursor: { from: 20, to: 25 } }));
      assert.equal((await scene.store.reactionFind({ name: 'hook' }))?.cursor, 25);
    },

    'many that read on from one place at once act once': async (scene) => {
      const revision = await reaction(scene, 'hook', 10);
      const many = await Promise.all(
        Array.from({ length: 10 }, async (_, i) =>
          fire(scene, revision, [await delivery(scene, { key: `by ${i}` })], { cursor: { from: 10, to: 20 } }),
        ),
      );
      assert.equal(many.filter(({ kind }) => kind === 'done').length, 1);
      assert.equal((await scene.stats()).ready, 1);
    },

    'a firing of a former holder of its duty is refused, and does nothing': async (scene) => {
      const revision = await reaction(scene, 'hook', 10);
      const old = await scene.duty('triggers', MINUTE);
      await scene.pass(2 * MINUTE);
      await scene.duty('triggers', MINUTE);
      const one = await delivery(scene);
      const late = (): Promise<ReactionAnswer> =>
        fire(scene, revision, [one], { duty: old, cursor: { from: 10, to: 20 } });
      assert.equal(await scene.unchanged(() => refusal(late())), 'DUTY_LOST');
    },

    'a reaction that was changed, is off or was removed after the look does not fire': async (scene) => {
      const { store } = scene;
      const first = await reaction(scene);
      const one = [await delivery(scene)];
      const second = await reaction(scene);
      assert.deepEqual(await scene.unchanged(() => fire(scene, first, one)), { kind: 'changed' });
      await store.reactionEnable({ name: 'hook', enabled: false, cursor: 0 });
      assert.deepEqual(await scene.unchanged(() => fire(scene, second, one)), { kind: 'changed' });
      const { revision } = (await store.reactionFind({ name: 'hook' })) as { revision: number };
      assert.deepEqual(await scene.unchanged(() => fire(scene, revision, one)), { kind: 'changed' });
      assert.equal(done(await fire(scene, revision, one, { byHand: true })).length, 1, 'by hand it fires');
      assert.equal(await store.reactionRemove({ name: 'hook' }), true);
      assert.deepEqual(await scene.unchanged(() => fire(scene, revision, one)), { kind: 'gone' });
    },

    'turning a reaction on moves its cursor, and a repeat changes nothing': async (scene) => {
      const { store } = scene;
      const first = await reaction(scene, 'hook', 10);
      assert.equal(await store.reactionEnable({ name: 'hook', enabled: true, cursor: 50 }), true);
      const same = await store.reactionFind({ name: 'hook' });
      assert.deepEqual([same?.revision, same?.cursor], [first, 10]);
      await store.reactionEnable({ name: 'hook', enabled: false, cursor: 50 });
      assert.equal((await store.reactionFind({ name: 'hook' }))?.cursor, 10);
      await store.reactionEnable({ name: 'hook', enabled: true, cursor: 60 });
      const on = await store.reactionFind({ name: 'hook' });
      assert.ok(on !== undefined && on.enabled && on.revision > first);
      assert.equal(on.cursor, 60);
      assert.equal(await store.reactionEnable({ name: 'none', enabled: true, cursor: 0 }), false);
    },

    'a reaction that was removed leaves no lines, keys or revisions to one of its name': async (scene) => {
      const { store } = scene;
      const first = await reaction(scene);
      done(await fire(scene, first, [await delivery(scene)]));
      assert.equal(await store.reactionRemove({ name: 'hook' }), true);
      assert.equal(await store.reactionRemove({ name: 'hook' }), false);
      await scene.pass(1);
      const second = await reaction(scene);
      assert.notEqual(second, first);
      assert.deepEqual(await store.reactionLines({ name: 'hook', limit: 10 }), []);
      const [made] = done(await fire(scene, second, [await delivery(scene)]));
      assert.deepEqual([made?.fresh, made?.n], [true, 1]);
    },

    'only the newest lines are kept, and an accepted one can be told what became of it': async (scene) => {
      const { store } = scene;
      const revision = await reaction(scene);
      const note = { key: undefined, keepMs: 0, about: 'check', outcome: 'accepted' } as const;
      for (let i = 0; i < 4; i++)
        done(
          await fire(
            scene,
            revision,
            Array.from({ length: 30 }, () => note),
          ),
        );
      const lines = await store.reactionLines({ name: 'hook', limit: 500 });
      assert.deepEqual([lines.length, lines[0]?.n, lines.at(-1)?.n], [FIRINGS_KEPT, 120, 21]);
      await store.reactionNote({ name: 'hook', n: 120, outcome: 'failed', detail: 'no such pool' });
      await store.reactionNote({ name: 'hook', n: 1, outcome: 'done' });
      const [newest] = await store.reactionLines({ name: 'hook', limit: 1 });
      assert.deepEqual([newest?.outcome, newest?.detail], ['failed', 'no such pool']);
    },

    'the links of tasks that reactions have pushed are known, by the longest chain': async (scene) => {
      const revision = await reaction(scene);
      const [a, b] = done(
        await fire(scene, revision, [
          await delivery(scene, { key: 'a', links: 3 }),
          await delivery(scene, { key: 'b', links: 1 }),
        ]),
      );
      const tasks = [a, b].map(taskOf);
      const other = await scene.push();
      assert.deepEqual(await scene.store.reactionLinks({ tasks: [...tasks, other] }), [3, 1, undefined]);
      assert.deepEqual(await scene.store.reactionLinks({ tasks: [] }), []);
    },

    'a worker that falls silent is a loss, once for each time, in order': async (scene) => {
      const { store } = scene;
      assert.deepEqual(await store.workerLosses({ after: 0, limit: 10 }), { losses: [], reset: false, last: 0 });
      const duty = await scene.duty('reaper', DAY);
      const told = { incarnation: 'x', slots: 1, tags: [], host: 'box' };
      const a = await store.workerRegister({ ...told, name: 'a' });
      await scene.pass(2 * MINUTE);
      assert.deepEqual(await store.workerReap({ duty, staleMs: MINUTE }), [a]);
      assert.deepEqual(await store.workerReap({ duty, staleMs: MINUTE }), []);
      const at = scene.world.clock.wall();
      const { losses, last } = await store.workerLosses({ after: 0, limit: 10 });
      assert.deepEqual(losses, [{ n: last, worker: a, name: 'a', host: 'box', at }]);
      await store.workerBeat({ beats: [{ worker: a }] });
      const b = await store.workerRegister({ ...told, name: 'b', incarnation: 'y' });
      await scene.pass(2 * MINUTE);
      await store.workerReap({ duty, staleMs: MINUTE });
      const next = await store.workerLosses({ after: last, limit: 10 });
      assert.deepEqual([next.losses.map(({ worker }) => worker), next.reset], [[a, b], false]);
      assert.deepEqual((await store.workerLosses({ after: 0, limit: 1 })).losses.length, 1);
      const ahead = await store.workerLosses({ after: 2 ** 52, limit: 1 });
      assert.deepEqual(ahead, { losses: [], reset: true, last: next.last });
    },
  },
};
