import assert from 'node:assert/strict';
import { normalizeFairness } from '../../../core/placement/lane.ts';
import { normalizePlacement } from '../../../core/placement/placement.ts';
import type { Lane } from '../../store.ts';
import { MINUTE, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const register = (scene: Scene, name: string, more: object = {}): Promise<number> =>
  scene.store.workerRegister({ name, incarnation: `${name} ${Math.random()}`, slots: 4, tags: [], ...more });

const recordOf = async (scene: Scene, worker: number) =>
  (await scene.store.workerList()).find((record) => record.worker === worker);

export const PLACING: Topic = {
  name: 'placing',
  needs: ['whole'],
  cases: {
    'what a task asks of its worker makes it another lane, and comes back as it was given': async (scene) => {
      const plain = { queue: 'mail', handler: 'send' };
      const placement = normalizePlacement({ requires: ['gpu', 'memory_gb>=16'], never: ['old'], maxPerWorker: 2 });
      const fairness = normalizeFairness({ key: 'ann', weight: 3 });
      const lanes = await scene.store.laneIntern({
        lanes: [plain, { ...plain, placement }, { ...plain, fairness }, { ...plain, placement, fairness }, plain],
      });
      const ids = lanes.map(({ id }) => id);
      assert.equal(new Set(ids).size, 4);
      assert.equal(ids[0], ids[4]);
      assert.equal(lanes[0]?.rules, undefined);
      assert.deepEqual(lanes[3]?.rules, { placement, fairness, limits: [], uses: [], servedBy: undefined });
      await scene.push({ lane: ids[3] as number });
      assert.deepEqual(await scene.store.laneScan({ after: 0, limit: 9 }), [{ id: ids[3], priority: 0 }]);
      assert.deepEqual(await scene.store.laneGet({ lanes: [ids[3] as number] }), [lanes[3]]);
    },

    'the scan says the highest priority of each lane': async (scene) => {
      for (const priority of [3, -5, 7]) await scene.push({ priority });
      for (const priority of [-32_768, -9]) await scene.push({ queue: 'post', priority });
      const found = await scene.store.laneScan({ after: 0, limit: 9 });
      assert.deepEqual(
        found.map(({ priority }) => priority),
        [7, -9],
      );
    },

    'a claim by an outdated revision of its worker gets nothing, and says nothing of its lanes': async (scene) => {
      const worker = await register(scene, 'box');
      const lane = (await scene.draft()).lane;
      await scene.push();
      const claim = (revision?: number) =>
        scene.store.taskClaim({
          claims: [{ holder: worker, revision, ttlMs: TTL, max: 1, lanes: [{ lane, max: 1 }] }],
        });
      const { revision } = (await recordOf(scene, worker)) as { revision: number };
      await scene.store.workerSet({ name: 'box', tags: ['gpu'] });
      assert.deepEqual(await claim(revision), [undefined]);
      const now = (await recordOf(scene, worker)) as { revision: number; tags: readonly string[] };
      assert.deepEqual(now.tags, ['gpu']);
      const [answer] = await claim(now.revision);
      assert.equal(answer?.grants.length, 1);
    },

    'what is said of a name holds for those that live under it and for those that come': async (scene) => {
      const first = await register(scene, 'box', { tags: ['own'], priority: 5 });
      const other = await register(scene, 'other', { tags: ['own'] });
      await scene.store.workerSet({ name: 'box', tags: ['gpu', 'own'], priority: 9, enabled: false });
      await scene.store.workerSet({ name: 'box', enabled: true });
      const next = await register(scene, 'box', { tags: ['fresh'], priority: 1 });
      const seen = async (worker: number) => {
        const { tags, priority, enabled } = (await recordOf(scene, worker)) as NonNullable<
          Awaited<ReturnType<typeof recordOf>>
        >;
        return { tags, priority, enabled };
      };
      assert.deepEqual(await seen(first), { tags: ['own', 'gpu'], priority: 9, enabled: true });
      assert.deepEqual(await seen(next), { tags: ['fresh', 'gpu', 'own'], priority: 9, enabled: true });
      assert.deepEqual(await seen(other), { tags: ['own'], priority: 0, enabled: true });
      assert.deepEqual(await scene.store.workerSettings(), [
        { name: 'box', enabled: true, priority: 9, tags: ['gpu', 'own'], grant: {} },
      ]);
    },

    'a worker that counts as lost is told of settings too: it may come back': async (scene) => {
      const worker = await register(scene, 'box', { tags: ['own'] });
      await scene.pass(2 * MINUTE);
      const duty = await scene.duty('roster');
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), [worker]);
      await scene.store.workerSet({ name: 'box', enabled: false, tags: ['given'] });
      await scene.store.workerBeat({ beats: [{ worker }] });
      const record = await recordOf(scene, worker);
      assert.deepEqual([record?.state, record?.enabled, record?.tags], ['online', false, ['own', 'given']]);
      await scene.push();
      assert.deepEqual(await scene.claim({ holder: worker }), []);
    },

    'a priority that was given to a name is taken away again, and each worker has its own': async (scene) => {
      const first = await register(scene, 'box', { priority: 5 });
      await scene.store.workerSet({ name: 'box', priority: -3 });
      const second = await register(scene, 'box', { priority: 1 });
      const third = await register(scene, 'box');
      const priorities = async () => {
        const records = [first, second, third].map((worker) => recordOf(scene, worker));
        return (await Promise.all(records)).map((record) => record?.priority);
      };
      assert.deepEqual(await priorities(), [-3, -3, -3]);
      const before = (await recordOf(scene, first))?.revision ?? 0;
      await scene.store.workerSet({ name: 'box', priority: null });
      assert.deepEqual(await priorities(), [5, 1, 0]);
      assert.ok(((await recordOf(scene, first))?.revision ?? 0) > before, 'claims that were chosen by it are told');
      assert.deepEqual(await scene.store.workerSettings(), [
        { name: 'box', enabled: true, priority: undefined, tags: [], grant: {} },
      ]);
      await scene.store.workerSet({ name: 'box', tags: ['gpu'] });
      assert.deepEqual(await priorities(), [5, 1, 0]);
    },

    'a worker that was switched off by its name gets nothing, nor does its successor': async (scene) => {
      const first = await register(scene, 'box');
      await scene.store.workerSet({ name: 'box', enabled: false });
      const second = await register(scene, 'box');
      await scene.push();
      for (const holder of [first, second]) assert.equal(await scene.rawClaim({ holder }), undefined);
      await scene.store.workerSet({ name: 'box', enabled: true });
      assert.equal((await scene.claim({ holder: second })).length, 1);
    },

    'a worker that drains gets nothing more': async (scene) => {
      const worker = await register(scene, 'box');
      await scene.push();
      await scene.store.workerBeat({ beats: [{ worker, state: 'draining' }] });
      assert.equal(await scene.rawClaim({ holder: worker }), undefined);
    },

    'the fleet shows who is expected to beat, with what each has and says of itself': async (scene) => {
      const worker = await register(scene, 'box', {
        tags: ['gpu=nvidia'],
        handlers: ['send'],
        queues: ['mail'],
        version: '1.2.3',
        priority: 4,
      });
      const gone = await register(scene, 'gone');
      await scene.store.workerBeat({ beats: [{ worker: gone, state: 'offline' }] });
      await scene.pushMany(3);
      await scene.claim({ holder: worker, max: 2 });
      const { members } = await scene.store.workerFleet();
      assert.deepEqual(
        members.map(({ name, running, tags, handlers, queues, version, priority }) => {
          return { name, running, tags, handlers, queues, version, priority };
        }),
        [
          {
            name: 'box',
            running: 2,
            tags: ['gpu=nvidia'],
            handlers: ['send'],
            queues: ['mail'],
            version: '1.2.3',
            priority: 4,
          },
        ],
      );
    },

    'a claim for tasks of some age leaves younger ones alone': async (scene) => {
      const { lane } = await scene.draft();
      const [old] = await scene.pushMany(1);
      await scene.pass(150);
      await scene.pushMany(2);
      await scene.pass(60);
      const holder = await scene.worker();
      const claim = async (minAgeMs: number) => {
        const lanes = [{ lane, max: 5, minAgeMs }];
        const [answer] = await scene.store.taskClaim({ claims: [{ holder, ttlMs: TTL, max: 5, lanes }] });
        return { tasks: answer?.grants.map(({ task }) => task), blocked: answer?.blocked };
      };
      const later = [{ lane, counter: 0, freesInMs: 140, left: 0 }];
      assert.deepEqual(await claim(200), { tasks: [old], blocked: later });
      assert.deepEqual(await claim(200), { tasks: [], blocked: later });
      await scene.pass(140);
      assert.equal((await claim(200)).tasks?.length, 2);
      assert.deepEqual(await claim(200), { tasks: [], blocked: [] }, 'it is empty now');
    },

    'a task that was given back, staged or revived counts its age from then': async (scene) => {
      const { lane } = await scene.draft();
      const holder = await scene.worker();
      const aged = async (): Promise<number> => {
        const lanes = [{ lane, max: 5, minAgeMs: 200 }];
        const [answer] = await scene.store.taskClaim({ claims: [{ holder, ttlMs: TTL, max: 5, lanes }] });
        return answer?.grants.length ?? 0;
      };
      await scene.pushMany(1);
      await scene.pass(1000);
      const grant = await scene.claimOne();
      await scene.giveBack(grant);
      assert.equal(await aged(), 0);
      await scene.pass(200);
      assert.equal(await aged(), 1);
      await scene.push({ delayMs: 500 });
      await scene.pass(600);
      const duty = await scene.duty('stager');
      await scene.store.taskStage({ duty, limit: 9 });
      assert.equal(await aged(), 0, 'it has been due for 100 ms');
      await scene.pass(100);
      assert.equal(await aged(), 1);
    },

    'one worker has no more of a kind than the task allows; another one may take the rest': async (scene) => {
      const placement = normalizePlacement({ maxPerWorker: 2 });
      const [{ id: lane }] = (await scene.store.laneIntern({
        lanes: [{ queue: 'mail', handler: 'send', placement }],
      })) as readonly [Lane];
      await scene.pushMany(5, { lane });
      const [one, two] = [await register(scene, 'one'), await register(scene, 'two')];
      const claim = async (holder: number) => {
        const lanes = [{ lane, max: 5, maxHeld: 2 }];
        const [answer] = await scene.store.taskClaim({ claims: [{ holder, ttlMs: TTL, max: 5, lanes }] });
        return answer;
      };
      const first = await claim(one);
      assert.equal(first?.grants.length, 2);
      assert.deepEqual(first?.blocked, [{ lane, counter: 0, freesInMs: undefined, left: 0 }]);
      assert.equal((await claim(one))?.grants.length, 0);
      assert.equal((await claim(two))?.grants.length, 2);
      await scene.settle(first?.grants[0] as { task: number; attempt: number }, 'completed');
      assert.equal((await claim(one))?.grants.length, 1);
    },

    'tasks alike count together for one worker, whatever lanes their limits and keys put them in': async (scene) => {
      const placement = normalizePlacement({ maxPerWorker: 2 });
      const name = { queue: 'mail', handler: 'send', placement };
      const keys = ['ann', 'bob', 'cid'].map((key) => ({ ...name, fairness: normalizeFairness({ key }) }));
      const lanes = (await scene.store.laneIntern({ lanes: [name, ...keys] })).map(({ id }) => id);
      for (const lane of lanes) await scene.push({ lane });
      const holder = await register(scene, 'one');
      const asks = lanes.map((lane) => ({ lane, max: 5, maxHeld: 2 }));
      const held: number[] = [];
      for (let n = 0; n < 6; n++) {
        const [answer] = await scene.store.taskClaim({ claims: [{ holder, ttlMs: TTL, max: 5, lanes: asks }] });
        held.push(...(answer?.grants ?? []).map(({ task }) => task));
        assert.ok(held.length <= 2, `it holds ${held.length}`);
        // A lane that gave nothing is held back or empty. The caller tries others and comes back to it.
        asks.push(asks.shift() as (typeof asks)[number]);
      }
      assert.equal(held.length, 2);
    },

    'who served a lane last is remembered where the task asks for it': async (scene) => {
      const placement = normalizePlacement({ affinity: 'repo-7' });
      const name = { queue: 'mail', handler: 'send', placement };
      const [{ id: lane }] = (await scene.store.laneIntern({ lanes: [name] })) as readonly [Lane];
      await scene.pushMany(3, { lane });
      const [one, two] = [await register(scene, 'one'), await register(scene, 'two')];
      const servedBy = async () => (await scene.store.laneGet({ lanes: [lane] }))[0]?.rules?.servedBy;
      assert.equal(await servedBy(), undefined);
      await scene.claim({ holder: one, lanes: [lane] });
      assert.equal(await servedBy(), 'one');
      await scene.claim({ holder: two, lanes: [lane] });
      assert.equal(await servedBy(), 'two');
    },
  },
};
