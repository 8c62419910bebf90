import assert from 'node:assert/strict';
import { type LimitInput, normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { EntryAnswer, Lane, NewChild, NewTask, Then, TurnAnswer } from '../../store.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { COMPLETE, did, ON, plainly, STORED, signal, turn, value } from './turns.ts';

type Wish = Partial<NewTask> & { readonly queue?: string; readonly handler?: string };

async function child(scene: Scene, key: string, wish: Wish = {}, more: Partial<NewChild> = {}): Promise<NewChild> {
  return { key, kind: 'child', task: await scene.draft({ queue: 'children', ...wish }), ...more };
}

const childrenOf = (answer: TurnAnswer): readonly (EntryAnswer & { readonly kind: 'child' })[] => {
  assert.ok(answer.kind === 'done', `the turn was not taken: ${JSON.stringify(answer)}`);
  return answer.entries.filter((one): one is EntryAnswer & { readonly kind: 'child' } => one.kind === 'child');
};

const settleAll = async (scene: Scene, tasks: readonly number[]): Promise<void> => {
  for (const task of tasks) await scene.settle(await scene.claimOne({ task }), 'completed');
};

/** A lane whose tasks take from a limit. */
async function limited(scene: Scene, limit: object, queue = 'children'): Promise<number> {
  await scene.store.limitPut({ name: 'gpu', limit: normalizeLimit(limit as LimitInput), by: '' });
  const [lane] = await scene.store.laneIntern({
    lanes: [{ queue, handler: 'send', limits: normalizeUses(['gpu']) }],
  });
  return (lane as Lane).id;
}

export const TURN_BIRTHS: Topic = {
  name: 'births of turns',
  needs: ['whole'],
  cases: {
    'a child has a parent and a root, is ready and written down': async (scene) => {
      const grant = await scene.running();
      const answer = await turn(scene, grant, [await child(scene, 'spawn:a'), value('b')]);
      const [one] = childrenOf(answer);
      assert.ok(one);
      const { task, createdAt } = one;
      assert.deepEqual(
        plainly(answer),
        did('on', [{ kind: 'child', task, createdAt, state: 'ready', fresh: true }, STORED]),
      );
      const record = await scene.get(task);
      assert.deepEqual(
        [record.state, record.queue, record.parent, record.root],
        ['ready', 'children', grant.task, grant.task],
      );
      const own = await scene.get(grant.task);
      assert.deepEqual([own.parent, own.root], [undefined, undefined], 'a task that was pushed is its own root');
      const [entry] = await scene.store.journalList({ task: grant.task });
      assert.deepEqual(entry && [entry.key, entry.kind, entry.ref, entry.value], ['b', 'value', undefined, '1']);
      const [, born] = await scene.store.journalList({ task: grant.task });
      assert.deepEqual(born && [born.key, born.kind, born.ref, born.value], [
        'spawn:a',
        'child',
        task,
        String(createdAt),
      ]);
    },

    'the root of a grandchild is that of its parent': async (scene) => {
      const grant = await scene.running();
      const [one] = childrenOf(await turn(scene, grant, [await child(scene, 'a')]));
      const son = await scene.claimOne({ task: one?.task as number });
      const [two] = childrenOf(await turn(scene, son, [await child(scene, 'a', { queue: 'grandchildren' })], COMPLETE));
      const record = await scene.get(two?.task as number);
      assert.deepEqual([record.parent, record.root], [son.task, grant.task]);
    },

    'a turn that is sent again bears nobody twice, whether it goes on, waits or ends': async (scene) => {
      const ends: readonly (readonly [Then, string])[] = [
        [ON, 'on'],
        [{ go: 'park', key: 'w', children: ['a', 'b'] }, 'parked'],
        [COMPLETE, 'ended'],
        [{ go: 'back', change: 'retried', delayMs: 0, refund: true, bounced: false }, 'back'],
      ];
      for (const [then, went] of ends) {
        const grant = await scene.running({ queue: went });
        const entries = [await child(scene, 'a'), await child(scene, 'b'), signal('s', 'c')];
        const first = await turn(scene, grant, entries, then);
        assert.equal(first.kind === 'done' && first.went, went);
        const again = await scene.unchanged(() => turn(scene, grant, entries, then));
        assert.deepEqual(
          childrenOf(again).map(({ task }) => task),
          childrenOf(first).map(({ task }) => task),
        );
        assert.equal(again.kind === 'done' && again.went, went);
        assert.equal((await scene.store.treeList({ root: grant.task, after: 0, limit: 9 })).length, 2);
      }
    },

    'the next attempt finds the children of the one before': async (scene) => {
      const grant = await scene.running();
      const entry = await child(scene, 'a');
      const [first] = childrenOf(await turn(scene, grant, [entry]));
      await scene.giveBack(grant);
      const next = await scene.claimOne({ task: grant.task });
      const [found] = childrenOf(await scene.unchanged(() => turn(scene, next, [entry])));
      assert.deepEqual(found && [found.task, found.createdAt, found.fresh], [first?.task, first?.createdAt, false]);
    },

    'a turn can bear children and wait for all of them in one commit': async (scene) => {
      const grant = await scene.running();
      const entries = [await child(scene, 'a'), await child(scene, 'b')];
      const answer = await turn(scene, grant, entries, { go: 'park', key: 'w', children: ['a', 'b'] });
      const tasks = childrenOf(answer).map(({ task }) => task);
      assert.equal((await scene.get(grant.task)).state, 'waiting');
      await settleAll(scene, tasks.slice(0, 1));
      assert.equal((await scene.get(grant.task)).state, 'waiting');
      await settleAll(scene, tasks.slice(1));
      assert.equal((await scene.get(grant.task)).state, 'ready');
    },

    'a turn waits for as many ends as it needs, of new children and old ones': async (scene) => {
      for (const need of [1, 2, 3]) {
        const queue = `q${need}`;
        const grant = await scene.running({ queue });
        const [old] = childrenOf(await turn(scene, grant, [await child(scene, 'old', { queue })]));
        const entries = await Promise.all(['a', 'b'].map((key) => child(scene, key, { queue })));
        const park: Then = { go: 'park', key: 'w', children: ['a', (old as { task: number }).task, 'b'], need };
        const answer = await turn(scene, grant, entries, park);
        const all = [(old as { task: number }).task, ...childrenOf(answer).map(({ task }) => task)];
        for (const [i, task] of all.entries()) {
          assert.equal((await scene.get(grant.task)).state, i < need ? 'waiting' : 'ready', `${i} of ${need}`);
          await settleAll(scene, [task]);
        }
        assert.equal((await scene.get(grant.task)).state, 'ready');
      }
    },

    'children that have ended count for those that are needed': async (scene) => {
      const grant = await scene.running();
      const entries = await Promise.all(['a', 'b', 'c'].map((key) => child(scene, key)));
      const tasks = childrenOf(await turn(scene, grant, entries)).map(({ task }) => task);
      await settleAll(scene, tasks.slice(0, 2));
      const two: Then = { go: 'park', key: 'w', children: tasks, need: 2 };
      assert.deepEqual(plainly(await scene.unchanged(() => turn(scene, grant, [], two))), did('woken'));
      const three: Then = { go: 'park', key: 'w', children: tasks };
      assert.deepEqual(plainly(await turn(scene, grant, [], three)), did('parked'));
      await settleAll(scene, tasks.slice(2));
      assert.equal((await scene.get(grant.task)).state, 'ready');
    },

    'children of one turn wait for each other, for those before them and for strangers': async (scene) => {
      const stranger = await scene.push({ queue: 'strangers' });
      const grant = await scene.running();
      const [old] = childrenOf(await turn(scene, grant, [await child(scene, 'old')]));
      const entries = [
        await child(scene, 'a'),
        await child(scene, 'b', {}, { after: [{ child: 'a', optional: false }] }),
        await child(scene, 'c', {}, { after: [{ child: 'old', optional: true }] }),
        await child(scene, 'd', {}, { after: [{ task: stranger, optional: false }], afterFailure: 'run' }),
      ];
      const born = childrenOf(await turn(scene, grant, entries, COMPLETE));
      assert.deepEqual(
        born.map(({ state }) => state),
        ['ready', 'waiting', 'waiting', 'waiting'],
      );
      await settleAll(scene, [(born[0] as { task: number }).task, (old as { task: number }).task]);
      await scene.settle(await scene.claimOne({ task: stranger }), 'failed', { reason: 'gave_up' });
      const states = await Promise.all(born.slice(1).map(async ({ task }) => (await scene.get(task)).state));
      assert.deepEqual(states, ['ready', 'ready', 'ready']);
      for (const { task } of born) assert.equal((await scene.get(task)).root, grant.task);
    },

    'a child whose delay is not over is scheduled, and one may not wait for its start for ever': async (scene) => {
      const duty = await scene.duty('stager', DAY);
      const grant = await scene.running();
      const entries = [
        await child(scene, 'a', { delayMs: 50 }),
        await child(scene, 'b', { waitTimeoutMs: 20 }),
        await child(scene, 'c', {
          payload: JSON.stringify('x'.repeat(5000)),
          resultKey: 'r',
          priority: 7,
          maxTries: 9,
        }),
      ];
      const born = childrenOf(await turn(scene, grant, entries));
      assert.deepEqual(
        born.map(({ state }) => state),
        ['scheduled', 'ready', 'ready'],
      );
      const [a, b, c] = await Promise.all(born.map(({ task }) => scene.get(task)));
      assert.deepEqual([a?.runAt, b?.expiresAt], [(a?.createdAt ?? 0) + 50, (b?.createdAt ?? 0) + 20]);
      assert.deepEqual([c?.payload.length, c?.priority, c?.maxTries], [5002, 7, 9]);
      assert.deepEqual(await scene.store.resultKeys({ tasks: [c?.task as number] }), ['r']);
      await scene.pass(60);
      assert.equal((await scene.store.taskStage({ duty, limit: 9 })).staged, 1);
    },

    'a unique key leads a child to the task that is there, which stays whose it was': async (scene) => {
      const unique = { key: 'u', hash: 7, windowMs: HOUR };
      const stranger = await scene.push({ queue: 'children', unique });
      const grant = await scene.running();
      const [found] = childrenOf(await turn(scene, grant, [await child(scene, 'a', { unique })]));
      assert.deepEqual(found && [found.task, found.fresh], [stranger, false]);
      const record = await scene.get(stranger);
      assert.deepEqual([record.parent, record.root], [undefined, undefined]);
      assert.deepEqual(await scene.store.treeList({ root: grant.task, after: 0, limit: 9 }), []);
    },

    'a key that another input holds refuses the whole turn': async (scene) => {
      const held = await scene.push({ queue: 'children', unique: { key: 'u', hash: 7, windowMs: HOUR } });
      const grant = await scene.running();
      const bad = await child(scene, 'b', { unique: { key: 'u', hash: 8, windowMs: HOUR } });
      for (const then of [ON, COMPLETE, { go: 'park', key: 'w', children: ['a', 'b'] }] as const) {
        const entries = [value('v'), await child(scene, 'a'), signal('s', 'c'), bad];
        const logs = [{ seq: 1, at: 1, stream: 'log', text: 'lost' }] as const;
        const answer = await scene.unchanged(() => turn(scene, grant, entries, then, { logs }));
        assert.deepEqual(answer, { kind: 'refused', key: 'b', why: { conflict: held } });
      }
      const twin = (key: string, hash: number): Promise<NewChild> =>
        child(scene, key, { unique: { key: 'u2', hash, windowMs: HOUR } });
      const twins = [await twin('c', 1), await twin('d', 2)];
      const answer = await scene.unchanged(() => turn(scene, grant, twins));
      assert.deepEqual(answer, { kind: 'refused', key: 'd', why: { conflict: 0 } });
    },

    'a child that should wait for what is not there refuses the whole turn': async (scene) => {
      const grant = await scene.running();
      const entries = [
        value('v'),
        await child(scene, 'a'),
        await child(scene, 'b', {}, { after: [{ task: 4711, optional: false }] }),
      ];
      const answer = await scene.unchanged(() => turn(scene, grant, entries));
      assert.deepEqual(answer, { kind: 'refused', key: 'b', why: { unknown: 4711 } });
    },

    'a backlog counts the children of a turn, and refuses all of it when it has no room for one': async (scene) => {
      const lane = await limited(scene, { concurrent: 1, backlog: 3 });
      const grant = await scene.running();
      const three = await Promise.all(['a', 'b', 'c'].map((key) => child(scene, key, { lane })));
      const four = [...three, await child(scene, 'd', { lane })];
      const refused = { kind: 'refused', key: 'd', why: { limit: 'gpu', key: '' } };
      assert.deepEqual(await scene.unchanged(() => turn(scene, grant, four)), refused);
      assert.equal(childrenOf(await turn(scene, grant, three)).length, 3);
      const one = [await child(scene, 'd', { lane })];
      assert.deepEqual(await scene.unchanged(() => turn(scene, grant, one)), refused);
    },

    'a limit that refuses what it cannot run refuses the child, and one that replaces lets it take the place': async (
      scene,
    ) => {
      const lane = await limited(scene, { concurrent: 1, strategy: 'refuse' });
      const grant = await scene.running();
      const two = [await child(scene, 'a', { lane }), await child(scene, 'b', { lane })];
      const refused = { kind: 'refused', key: 'b', why: { limit: 'gpu', key: '' } };
      assert.deepEqual(await scene.unchanged(() => turn(scene, grant, two)), refused);
      await limited(scene, { concurrent: 1, strategy: 'replace_pending' });
      const waiting = await scene.push({ lane, queue: 'children' });
      const born = childrenOf(await turn(scene, grant, two));
      assert.equal((await scene.get(waiting)).state, 'cancelled');
      const states = await Promise.all(born.map(async ({ task }) => (await scene.get(task)).state));
      assert.deepEqual(states, ['cancelled', 'ready'], 'the second takes the place of the first');
    },

    'a task that was asked to stop bears nobody, and ends': async (scene) => {
      for (const then of [ON, COMPLETE, { go: 'park', key: 'w', children: ['a'] }] as const) {
        const grant = await scene.running();
        await scene.store.taskCancel({ tasks: [grant.task] });
        const answer = await turn(scene, grant, [value('v'), await child(scene, 'a')], then);
        const entries: readonly EntryAnswer[] = [STORED, { kind: 'none' }];
        assert.deepEqual(plainly(answer), did('cancelled', entries, { cancelRequested: true }));
        assert.equal((await scene.get(grant.task)).state, 'cancelled');
        assert.deepEqual(await scene.store.treeList({ root: grant.task, after: 0, limit: 9 }), []);
      }
    },

    'births are told in the feed and counted in their queues': async (scene) => {
      const grant = await scene.running();
      const entries = [await child(scene, 'a'), await child(scene, 'b', { delayMs: 5 })];
      const { last } = await scene.eventPage({ after: 0, limit: 10 });
      await turn(scene, grant, entries, { go: 'park', key: 'w', children: ['a', 'b'] });
      const { events } = await scene.eventPage({ after: last, limit: 10 });
      assert.deepEqual(events.map(({ change, state, queue }) => `${queue} ${change} ${state}`).toSorted(), [
        'children created ready',
        'children created scheduled',
        'mail parked waiting',
      ]);
      const stats = await scene.stats('children');
      assert.deepEqual([stats.ready, stats.scheduled], [1, 1]);
    },

    'five hundred children of one turn are all there, and their parent wakes after the last': async (scene) => {
      const grant = await scene.running();
      const { task: draft } = await child(scene, 'x');
      const keys = Array.from({ length: 500 }, (_, i) => `spawn:n#${i}`);
      const entries = keys.map((key): NewChild => ({ key, kind: 'child', task: draft }));
      const answer = await turn(scene, grant, entries, { go: 'park', key: 'w', children: keys });
      assert.equal(new Set(childrenOf(answer).map(({ task }) => task)).size, 500);
      const lane = await scene.lane('children');
      for (let left = 500; left > 0; ) {
        const grants = await scene.claim({ lanes: [lane], max: 250 });
        assert.equal((await scene.get(grant.task)).state, 'waiting');
        await scene.store.taskSettle({
          items: grants.map(({ task, attempt }) => ({ task, attempt, to: 'completed', reason: 'none' })),
        });
        left -= grants.length;
      }
      const duty = await scene.duty('stager', DAY);
      while ((await scene.store.depCarry({ duty, limit: 500 })).more);
      assert.equal((await scene.get(grant.task)).state, 'ready');
    },
  },
};
