import assert from 'node:assert/strict';
import { NAME_SILENT_MS } from '../../../core/placement/name-hold.ts';
import type { WorkerState } from '../../../core/placement/worker.ts';
import { isTaskEvent } from '../../../core/task/event.ts';
import type { Grant, NewWorker, WorkerBeat, WorkerRecord } from '../../store.ts';
import { DAY, HOUR, MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import { numberEvents, wholeFeed } from '../kit/snapshot.ts';
import { needing, type Topic } from '../kit/topic.ts';

const beat = async (scene: Scene, worker: number, more: Partial<WorkerBeat> = {}): Promise<boolean | undefined> =>
  (await scene.store.workerBeat({ beats: [{ worker, ...more }] }))[0];

async function recordOf({ store }: Scene, worker: number): Promise<WorkerRecord> {
  const record = (await store.workerList()).find((one) => one.worker === worker);
  assert.ok(record, `worker ${worker} is not there`);
  return record;
}

const stateOf = async (scene: Scene, worker: number): Promise<string> => (await recordOf(scene, worker)).state;

const joining = (incarnation: string, process: string, node?: string): NewWorker => ({
  name: 'box-1',
  incarnation,
  slots: 1,
  tags: [],
  takes: { holder: `box-1/${incarnation}`, process, node },
});

export const WORKERS: Topic = {
  name: 'workers',
  cases: {
    'a registered worker is listed with what it said of itself, is starting and is enabled': async ({
      store,
      world,
    }) => {
      const tags = ['gpu', 'gpu=nvidia', 'credential:GITHUB'];
      const said = {
        name: 'box-1',
        incarnation: 'i1',
        slots: 8,
        tags,
        host: 'box',
        pid: 77,
        handlers: ['send', 'A/b'],
      };
      const worker = await store.workerRegister(said);
      const [record] = await store.workerList();
      assert.deepEqual(record, {
        worker,
        ...said,
        state: 'starting',
        enabled: true,
        seenAt: record?.seenAt,
        startedAt: world.clock.wall(),
        queues: undefined,
        priority: 0,
        version: undefined,
        revision: 1,
        status: undefined,
        metadata: undefined,
        address: undefined,
        pool: undefined,
        beatMs: undefined,
        staleMs: undefined,
        totalTasks: 0,
      });
    },

    'a worker need not say where it runs and what it can do': async (scene) => {
      const { host, pid, handlers } = await recordOf(scene, await scene.newWorker());
      assert.deepEqual([host, pid, handlers], [undefined, undefined, []]);
    },

    'an incarnation belongs to the name that it came under: another one is refused, and leaves it as it was': async (
      scene,
    ) => {
      const { store } = scene;
      const first = await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] });
      assert.equal(await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] }), first);
      const before = await recordOf(scene, first);
      const stolen = store.workerRegister({ name: 'box-2', incarnation: 'i1', slots: 9, tags: ['gpu'] });
      assert.equal(await refusal(stolen), 'CONFLICT');
      assert.deepEqual(await recordOf(scene, first), before);
    },

    'a name that somebody keeps is refused to others, and whoever is refused leaves nothing': needing(
      ['whole'],
      async (scene) => {
        const { store } = scene;
        const first = await store.workerRegister(joining('i1', 'p'));
        assert.equal(await refusal(store.workerRegister(joining('i2', 'q'))), 'CONFLICT');
        assert.deepEqual(
          (await store.workerList()).map(({ incarnation }) => incarnation),
          ['i1'],
        );
        await store.workerRegister({ ...joining('i3', 'q'), name: 'box-2' });
        await store.workerRegister({ name: 'box-1', incarnation: 'i4', slots: 1, tags: [] });
        // The same one may move, and its process decides about its own.
        assert.equal(await store.workerRegister(joining('i1', 'q')), first);
        await store.workerRegister(joining('i5', 'q'));
        assert.deepEqual(await store.nameHolders({ names: ['box-2', 'nobody', 'box-1'] }), [
          { holder: 'box-1/i3', process: 'q' },
          undefined,
          { holder: 'box-1/i5', process: 'q' },
        ]);
      },
    ),

    'a name is free when its holder has left, signed off, or was not heard of for long': needing(
      ['whole'],
      async (scene) => {
        const { store } = scene;
        const first = await store.workerRegister(joining('i1', 'p'));
        await store.nameLeave({ name: 'box-1', holder: 'box-1/i1', process: 'q' });
        await store.nameLeave({ name: 'box-1', holder: 'box-1/i2', process: 'p' });
        assert.equal(await refusal(store.workerRegister(joining('i2', 'q'))), 'CONFLICT');
        await store.nameLeave({ name: 'box-1', holder: 'box-1/i1', process: 'p' });
        const second = await store.workerRegister(joining('i2', 'q'));
        assert.notEqual(second, first);
        await beat(scene, second, { state: 'offline' });
        await store.workerRegister(joining('i3', 'p'));
        await scene.pass(NAME_SILENT_MS / 2);
        assert.equal(await refusal(store.workerRegister(joining('i4', 'q'))), 'CONFLICT');
        await scene.pass(NAME_SILENT_MS);
        await store.workerRegister(joining('i4', 'q'));
      },
    ),

    'a name is free when the node of its holder has started again': needing(['whole'], async ({ store }) => {
      const node = { id: 'a', wish: 'auto', stand: 'worker' } as const;
      await store.nodeBeat({ ...node, incarnation: 'p', first: true });
      await store.workerRegister(joining('i1', 'p', 'a'));
      assert.equal(await refusal(store.workerRegister(joining('i2', 'q', 'b'))), 'CONFLICT');
      await store.nodeBeat({ ...node, incarnation: 'p2', first: true });
      await store.workerRegister(joining('i2', 'q', 'b'));
    }),

    'of several that come at once at different processes one gets the name': needing(['reopen'], async (scene) => {
      const other = await scene.reopen();
      for (let round = 0; round < 20; round++) {
        const name = `box-${round}`;
        const both = [scene.store, other].map((store, i) =>
          store.workerRegister({ ...joining(`${round}.${i}`, `p${i}`), name }).then(
            () => 'in',
            () => 'refused',
          ),
        );
        assert.deepEqual((await Promise.all(both)).sort(), ['in', 'refused']);
      }
    }),

    'a worker that registers while its name is switched off is off': needing(['reopen'], async (scene) => {
      const other = await scene.reopen();
      for (let round = 0; round < 30; round++) {
        const name = `box-${round}`;
        const [worker] = await Promise.all([
          scene.store.workerRegister({ name, incarnation: name, slots: 1, tags: [] }),
          other.workerSet({ name, enabled: false }),
        ]);
        assert.equal((await recordOf(scene, worker)).enabled, false, name);
      }
    }),

    'each start of a process is a worker of its own, also under the same name': async ({ store }) => {
      const first = await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] });
      const second = await store.workerRegister({ name: 'box-1', incarnation: 'i2', slots: 1, tags: [] });
      assert.notEqual(second, first);
      assert.equal((await store.workerList()).length, 2);
    },

    'a registration that is repeated leads to the same worker': async ({ store }) => {
      const worker = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const first = await store.workerRegister(worker);
      assert.equal(await store.workerRegister(worker), first);
      assert.equal((await store.workerList()).length, 1);
    },

    'a new incarnation does not hold the leases of its predecessor': async (scene) => {
      const grant = await scene.running();
      const next = await scene.newWorker();
      assert.notEqual((await scene.get(grant.task)).holder, next);
    },

    'a beat tells when a worker was last seen, and only for those who beat': async (scene) => {
      const { store } = scene;
      const one = await scene.newWorker();
      const two = await scene.newWorker();
      const seen = async (): Promise<readonly number[]> => (await store.workerList()).map(({ seenAt }) => seenAt);
      const [before] = await seen();
      await scene.pass(4000);
      assert.deepEqual(await store.workerBeat({ beats: [{ worker: two }] }), [true]);
      await scene.pass(1000);
      assert.deepEqual(await seen(), [before, (before as number) + 4000]);
      const beats = [one, 4711, two].map((worker) => ({ worker }));
      assert.deepEqual(await store.workerBeat({ beats }), [true, false, true]);
      assert.deepEqual(await seen(), [(before as number) + 5000, (before as number) + 5000]);
    },

    'setting the wall clock makes no worker look silent': async (scene) => {
      const worker = await scene.newWorker();
      const [before] = await scene.store.workerList();
      scene.world.jump(3_600_000);
      await beat(scene, worker);
      assert.equal((await scene.store.workerList())[0]?.seenAt, before?.seenAt);
    },

    'a worker can be switched off and on': needing(['whole'], async ({ store }) => {
      await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] });
      for (const enabled of [false, false, true]) {
        await store.workerSet({ name: 'box-1', enabled });
        assert.equal((await store.workerList())[0]?.enabled, enabled);
      }
    }),

    'a beat makes a starting worker online, and says what state it is in when it is another one': async (scene) => {
      const worker = await scene.newWorker();
      assert.equal(await stateOf(scene, worker), 'starting');
      await beat(scene, worker);
      assert.equal(await stateOf(scene, worker), 'online');
      for (const state of ['draining', 'offline', 'starting', 'online'] as const) {
        await beat(scene, worker, { state });
        assert.equal(await stateOf(scene, worker), state);
      }
      for (const state of ['draining', 'offline'] as const) {
        await beat(scene, worker, { state });
        await beat(scene, worker);
        assert.equal(await stateOf(scene, worker), state, 'a plain beat changed what the worker had said');
      }
    },

    'what a worker says of itself with a beat stays until it says something else or takes it back': async (scene) => {
      const worker = await scene.newWorker();
      const said = async (): Promise<readonly unknown[]> => {
        const { status, metadata } = await recordOf(scene, worker);
        return [status, metadata];
      };
      await beat(scene, worker, { status: 'busy', metadata: '{"n":1}' });
      await beat(scene, worker);
      assert.deepEqual(await said(), ['busy', '{"n":1}']);
      await beat(scene, worker, { status: null });
      assert.deepEqual(await said(), [undefined, '{"n":1}']);
      await beat(scene, worker, { status: 'idle', metadata: null });
      assert.deepEqual(await said(), ['idle', undefined]);
    },

    'a worker that is silent for too long is lost, and not before': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const silent = await scene.newWorker();
      const draining = await scene.newWorker();
      const alive = await scene.newWorker();
      await beat(scene, silent, { status: 'busy', metadata: '1' });
      await beat(scene, draining, { state: 'draining' });
      await scene.pass(MINUTE);
      assert.deepEqual(await scene.unchanged(() => scene.store.workerReap({ duty, staleMs: MINUTE })), []);
      await beat(scene, alive);
      await scene.pass(1);
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), [silent, draining]);
      assert.deepEqual(
        [await stateOf(scene, silent), await stateOf(scene, draining), await stateOf(scene, alive)],
        ['lost', 'lost', 'online'],
      );
      const { status, metadata } = await recordOf(scene, silent);
      assert.deepEqual([status, metadata], [undefined, '1'], 'its own word for what it does holds no longer');
      assert.deepEqual(await scene.unchanged(() => scene.store.workerReap({ duty, staleMs: MINUTE })), []);
    },

    'a worker that says how long it may be silent is lost after that, whatever the reaper thinks of others': async (
      scene,
    ) => {
      const { store } = scene;
      const duty = await scene.duty('reaper', DAY);
      const said = { slots: 1, tags: [] };
      const patient = { pool: 'papers', beatMs: 5 * MINUTE, staleMs: 10 * MINUTE };
      const slow = await store.workerRegister({ ...said, name: 'slow', incarnation: 'slow', ...patient });
      const quick = await store.workerRegister({ ...said, name: 'quick', incarnation: 'quick', staleMs: 2000 });
      const reap = (): Promise<readonly number[]> => store.workerReap({ duty, staleMs: MINUTE });
      const { pool, beatMs, staleMs } = await recordOf(scene, slow);
      assert.deepEqual({ pool, beatMs, staleMs }, patient);
      await scene.pass(2000);
      assert.deepEqual(await scene.unchanged(reap), []);
      await scene.pass(1);
      assert.deepEqual(await reap(), [quick]);
      await scene.pass(10 * MINUTE - 2001);
      assert.deepEqual(await scene.unchanged(reap), []);
      await scene.pass(1);
      assert.deepEqual(await reap(), [slow]);
    },

    'a worker that only says how often it beats is never lost before two beats have failed to come': async (scene) => {
      const { store } = scene;
      const duty = await scene.duty('reaper', DAY);
      const said = { slots: 1, tags: [] };
      const slow = await store.workerRegister({ ...said, name: 'slow', incarnation: 'slow', beatMs: 5 * MINUTE });
      const quick = await store.workerRegister({ ...said, name: 'quick', incarnation: 'quick', beatMs: 1000 });
      const reap = (): Promise<readonly number[]> => store.workerReap({ duty, staleMs: MINUTE });
      await scene.pass(MINUTE + 1);
      assert.deepEqual(await reap(), [quick]);
      await scene.pass(9 * MINUTE - 1);
      assert.deepEqual(await scene.unchanged(reap), []);
      await scene.pass(1);
      assert.deepEqual(await reap(), [slow]);
    },

    'a worker is lost after two of its own intervals and not before, whoever holds the reaper': async (scene) => {
      const { store } = scene;
      const registered = async (beatMs: number): Promise<number> => {
        const name = `every ${beatMs}`;
        const said = { name, incarnation: name, slots: 1, tags: [] };
        return store.workerRegister({ ...said, beatMs, staleMs: 2 * beatMs });
      };
      const [quick, half, slow] = [await registered(2000), await registered(MINUTE / 2), await registered(HOUR)];
      /** One process after another takes the reaper, looks, and gives it back, the most patient first. */
      const looks = async (): Promise<readonly (readonly number[])[]> => {
        const marked: (readonly number[])[] = [];
        for (const staleMs of [DAY, MINUTE / 2, 1000]) {
          const duty = await store.dutyTake({ name: 'reaper', holder: `takes ${staleMs}`, ttlMs: MINUTE });
          assert.ok(duty, 'the reaper is taken');
          marked.push(await store.workerReap({ duty, staleMs }));
          await store.dutyRelease({ duty });
        }
        return marked;
      };
      for (let i = 0; i < 3; i++) {
        for (const worker of [quick, half]) await beat(scene, worker);
        await scene.pass(4000);
        assert.deepEqual(await looks(), [[], [], []]);
        await scene.pass(1);
        assert.deepEqual(await looks(), [[quick], [], []]);
        await scene.pass(MINUTE / 2 - 4001);
        assert.deepEqual(await looks(), [[], [], []]);
      }
      await scene.pass(MINUTE / 2);
      assert.deepEqual(await looks(), [[], [], []]);
      await scene.pass(1);
      assert.deepEqual(await looks(), [[half], [], []]);
      await scene.pass(2 * HOUR - 2 * MINUTE - 1);
      assert.deepEqual(await looks(), [[], [], []]);
      await scene.pass(1);
      assert.deepEqual(await looks(), [[slow], [], []]);
    },

    'a worker that registered and never beat is lost too, one that said goodbye never': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const starting = await scene.newWorker();
      const offline = await scene.newWorker();
      await beat(scene, offline, { state: 'offline' });
      await scene.pass(MINUTE + 1);
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), [starting]);
      assert.equal(await stateOf(scene, offline), 'offline');
    },

    'a lost worker that beats again is online again, and keeps its number and its leases': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const worker = await scene.worker();
      const grant = await scene.running({}, { ttlMs: DAY });
      await scene.pass(HOUR);
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), [worker]);
      assert.equal((await scene.get(grant.task)).holder, worker);
      assert.equal(await beat(scene, worker), true);
      assert.equal(await stateOf(scene, worker), 'online');
      assert.equal(await scene.settle(grant, 'completed'), 'done');
    },

    'setting the wall clock makes no worker lost': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      await scene.newWorker();
      scene.world.jump(DAY);
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), []);
    },

    'a worker that is gone for longer than the retention is pruned, others are not': async (scene) => {
      const duty = await scene.duty('any', 30 * DAY);
      const offline = await scene.newWorker();
      const lost = await scene.newWorker();
      const draining = await scene.newWorker();
      const young = await scene.newWorker();
      await beat(scene, offline, { state: 'offline' });
      await scene.store.workerReap({ duty, staleMs: MINUTE });
      await scene.pass(2 * HOUR);
      assert.equal((await scene.store.workerReap({ duty, staleMs: MINUTE })).length, 3);
      await beat(scene, draining, { state: 'draining' });
      await beat(scene, young, { state: 'offline' });
      scene.forgets = true;
      assert.equal((await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 10 })).workers, 2);
      const left = (await scene.store.workerList()).map(({ worker }) => worker);
      assert.deepEqual(left, [draining, young]);
      assert.ok(!left.includes(lost));
      assert.equal(await beat(scene, lost), false);
      assert.equal(await scene.rawClaim({ holder: lost }), undefined);
    },

    'of all workers those in one state can be listed': async (scene) => {
      const duty = await scene.duty('any', HOUR);
      const lost = await scene.newWorker();
      await scene.pass(2 * MINUTE);
      const well = await scene.newWorker();
      await beat(scene, well, { state: 'online' });
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), [lost]);
      const inState = async (state: WorkerState): Promise<readonly number[]> =>
        (await scene.store.workerList({ state })).map(({ worker }) => worker);
      assert.deepEqual(await inState('lost'), [lost]);
      assert.deepEqual(await inState('online'), [well]);
      assert.deepEqual(await inState('draining'), []);
      const all = await scene.store.workerList();
      assert.deepEqual(
        await scene.store.workerList({ state: 'lost' }),
        all.filter(({ worker }) => worker === lost),
      );
    },

    'a worker that holds a running task stays, whatever its state': async (scene) => {
      const duty = await scene.duty('any', 30 * DAY);
      const worker = await scene.worker();
      const grant = await scene.running({}, { ttlMs: 10 * DAY });
      await beat(scene, worker, { state: 'offline' });
      await scene.pass(DAY);
      scene.forgets = true;
      const prune = async (): Promise<number> =>
        (await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 10 })).workers;
      assert.equal(await prune(), 0);
      await scene.settle(grant, 'completed');
      assert.equal(await prune(), 1);
      assert.deepEqual(await scene.store.workerList(), []);
    },

    'the number of a pruned worker never comes back, and its incarnation may register anew': async (scene) => {
      const duty = await scene.duty('any', 30 * DAY);
      const said = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const worker = await scene.store.workerRegister(said);
      await beat(scene, worker, { state: 'offline' });
      await scene.pass(DAY);
      scene.forgets = true;
      assert.equal((await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 10 })).workers, 1);
      assert.ok((await scene.store.workerRegister(said)) > worker);
    },

    'no more workers are pruned in one step than it was asked for': async (scene) => {
      const duty = await scene.duty('any', 30 * DAY);
      for (let n = 0; n < 5; n++) await beat(scene, await scene.newWorker(), { state: 'offline' });
      await scene.pass(DAY);
      scene.forgets = true;
      const first = await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 3 });
      assert.deepEqual([first.workers, first.done], [3, false]);
      assert.equal((await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 3 })).workers, 2);
    },

    'a registration that is repeated counts as a beat and keeps the state': async (scene) => {
      const duty = await scene.duty('any', DAY);
      const said = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const worker = await scene.store.workerRegister(said);
      await beat(scene, worker, { state: 'draining' });
      await scene.pass(TTL);
      assert.equal(await scene.store.workerRegister(said), worker);
      await scene.pass(MINUTE - TTL + 1);
      assert.deepEqual(await scene.store.workerReap({ duty, staleMs: MINUTE }), []);
      assert.equal(await stateOf(scene, worker), 'draining');
    },

    'where a worker was seen to come from is kept, and a registration that is repeated may say another place': async (
      scene,
    ) => {
      const said = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const worker = await scene.store.workerRegister({ ...said, address: '10.0.0.1' });
      assert.equal((await recordOf(scene, worker)).address, '10.0.0.1');
      await scene.store.workerRegister({ ...said, address: '10.0.0.2' });
      assert.equal((await recordOf(scene, worker)).address, '10.0.0.2');
      await scene.store.workerRegister(said);
      assert.equal((await recordOf(scene, worker)).address, '10.0.0.2', 'who does not say it has not moved');
    },

    'what beats say was ended adds up under the name of the worker, and outlives its process': async (scene) => {
      const { store } = scene;
      const register = (name: string, incarnation: string): Promise<number> =>
        store.workerRegister({ name, incarnation, slots: 1, tags: [] });
      const total = async (worker: number): Promise<number> => (await recordOf(scene, worker)).totalTasks;
      const [one, two, other] = [await register('a', 'a1'), await register('a', 'a2'), await register('b', 'b1')];
      const beats = [
        { worker: one, ended: 3 },
        { worker: 4711, ended: 100 },
        { worker: two, ended: 4 },
        { worker: one, ended: 5, status: 'busy' },
        { worker: other },
      ];
      assert.deepEqual(await store.workerBeat({ beats }), [true, false, true, true, true]);
      assert.deepEqual([await total(one), await total(two), await total(other)], [12, 12, 0]);
      await beat(scene, one, { state: 'offline', ended: 1 });
      const next = await register('a', 'a3');
      assert.equal(await total(next), 13);
      const fleet = (await store.workerFleet()).members.map(({ worker, totalTasks }) => [worker, totalTasks]);
      assert.deepEqual(fleet, [
        [two, 13],
        [other, 0],
        [next, 13],
      ]);
    },

    'a total is forgotten when nobody of its name is kept any more, and not before': async (scene) => {
      const duty = await scene.duty('any', 30 * DAY);
      const register = (incarnation: string): Promise<number> =>
        scene.store.workerRegister({ name: 'a', incarnation, slots: 1, tags: [] });
      const [old, young] = [await register('a1'), await register('a2')];
      await beat(scene, old, { state: 'offline', ended: 2 });
      await scene.pass(2 * HOUR);
      await beat(scene, young, { ended: 1 });
      scene.forgets = true;
      const prune = async (): Promise<number> =>
        (await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 10 })).workers;
      assert.equal(await prune(), 1);
      assert.equal((await recordOf(scene, young)).totalTasks, 3);
      await beat(scene, young, { state: 'offline' });
      await scene.pass(2 * HOUR);
      assert.equal(await prune(), 1);
      assert.equal((await recordOf(scene, await register('a3'))).totalTasks, 0);
    },

    'beats of many are one write: of several of one worker the last word counts': async (scene) => {
      const { store } = scene;
      const workers: number[] = [];
      for (let n = 0; n < 40; n++) workers.push(await scene.newWorker());
      await scene.pass(5);
      const beats: WorkerBeat[] = workers.map((worker) => ({ worker, state: 'online' }));
      const [first, second, third, fourth] = workers as [number, number, number, number];
      beats.push({ worker: first, state: 'draining' }, { worker: second, status: 'busy' }, { worker: third });
      beats.push({ worker: fourth, state: 'draining' }, { worker: fourth, state: 'online' }, { worker: 4711 });
      const answers = await store.workerBeat({ beats });
      assert.deepEqual(answers, [...beats.slice(0, -1).map(() => true), false]);
      const records = await store.workerList();
      const states = records.map(({ state }) => state);
      assert.deepEqual(states, ['draining', ...workers.slice(1).map(() => 'online')]);
      assert.deepEqual(new Set(records.map(({ seenAt }) => seenAt)).size, 1);
      assert.equal(records[1]?.status, 'busy');
    },

    'a registration and a beat that are to be told stand in the feed, among what happens to tasks': async (scene) => {
      const { store, world } = scene;
      const said = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const before = await scene.push();
      const at = world.clock.wall();
      const worker = await store.workerRegister({ ...said, told: true });
      await store.workerRegister({ ...said, told: true });
      await scene.pass(7);
      const quiet = await scene.newWorker();
      await store.workerBeat({
        beats: [{ worker, told: true }, { worker: quiet }, { worker: 4711, told: true }, { worker, status: 'busy' }],
      });
      const after = await scene.push();
      const feed = await wholeFeed(store);
      const told = { name: 'box-1', worker, createdAt: at };
      assert.deepEqual(
        feed.filter((event) => !isTaskEvent(event)),
        [
          { seq: 2, at, change: 'registered', ...told },
          { seq: 3, at: at + 7, change: 'beat', ...told },
        ],
      );
      assert.deepEqual(
        feed.filter(isTaskEvent).map(({ seq, task }) => [seq, task]),
        [
          [1, before],
          [4, after],
        ],
      );
      const page = await store.eventRead({ after: 1, limit: 1 });
      assert.deepEqual([page.last, page.events.length, page.reset], [2, 1, false]);
    },

    'the feed tells of more workers than one row packs, and of one that is pruned without its name': async (scene) => {
      const { store } = scene;
      const duty = await scene.duty('any', 30 * DAY);
      const workers: number[] = [];
      for (let n = 0; n < 260; n++) workers.push(await scene.newWorker());
      await store.workerBeat({ beats: workers.map((worker) => ({ worker, state: 'offline', told: true })) });
      const names = async (): Promise<readonly (string | undefined)[]> =>
        (await wholeFeed(store)).map((event) => (isTaskEvent(event) ? undefined : event.name));
      assert.deepEqual(
        await names(),
        workers.map((_, n) => `worker-${n + 1}`),
      );
      await scene.pass(2 * HOUR);
      // Events are younger than the workers here, and are not pruned.
      scene.forgets = true;
      await scene.prune(duty, HOUR);
      assert.deepEqual(new Set(await names()), new Set(['']), 'the newest row of the feed always stays');
    },

    'what runs is listed with its holder, of all or of some': async (scene) => {
      const { store } = scene;
      const [one, two, idle] = [await scene.newWorker(), await scene.newWorker(), await scene.newWorker()];
      await scene.pushMany(5);
      const first = await scene.claim({ holder: one, max: 2 });
      const second = await scene.claim({ holder: two, max: 2 });
      const held = (grants: readonly Grant[], holder: number) =>
        grants.map(({ task, attempt, createdAt }) => ({ task, attempt, holder, createdAt }));
      assert.deepEqual(await store.leaseList({}), [...held(first, one), ...held(second, two)]);
      assert.deepEqual(await store.leaseList({ holders: [two, idle, 4711] }), held(second, two));
      assert.deepEqual(await store.leaseList({ holders: [] }), []);
      await scene.settle(first[0] as Grant, 'completed');
      assert.deepEqual(await store.leaseList({ holders: [one] }), held(first.slice(1), one));
    },

    'who had an attempt is told by name, whether it runs, has ended, or was followed by others': async (scene) => {
      const { store } = scene;
      const [one, two] = [await scene.newWorker(), await scene.newWorker()];
      const task = await scene.push();
      const names = async (...attempts: number[]): Promise<readonly (string | undefined)[]> => {
        const found = await store.attemptWorkers({ items: attempts.map((attempt) => ({ task, attempt })) });
        return found.map((one) => one?.name);
      };
      assert.deepEqual(await names(0, 1), [undefined, undefined]);
      const [first] = await scene.claim({ holder: one });
      assert.deepEqual(await names(1, 2), ['worker-1', undefined]);
      await scene.giveBack(first as Grant);
      assert.deepEqual(await names(1), ['worker-1']);
      const [second] = await scene.claim({ holder: two });
      await scene.settle(second as Grant, 'completed');
      assert.deepEqual(await names(2, 1, 2), ['worker-2', 'worker-1', 'worker-2']);
      await store.taskRevive({ tasks: [task] });
      const [third] = await scene.claim({ holder: one });
      assert.deepEqual(await names(1, 2, 3), ['worker-1', 'worker-2', 'worker-1']);
      assert.equal(third?.attempt, 3);
      assert.deepEqual(await store.attemptWorkers({ items: [{ task: 4711, attempt: 1 }] }), [undefined]);
    },

    'with who had an attempt come its host, and the error and reason that it ended with': async (scene) => {
      const { store } = scene;
      const name = { name: 'far', incarnation: 'far-1', slots: 1, tags: [], host: 'h-1', handlers: [] };
      const holder = await store.workerRegister({ ...name, pid: undefined, told: true });
      const task = await scene.push();
      const facts = async (attempt: number): Promise<unknown> =>
        (await store.attemptWorkers({ items: [{ task, attempt }] }))[0];
      const [first] = (await scene.claim({ holder })) as [Grant];
      assert.deepEqual(await facts(1), { name: 'far', host: 'h-1', reason: 'none', error: undefined });
      const back = { change: 'retried', delayMs: 0, refund: false, bounced: false, error: '{"message":"oh"}' } as const;
      await store.taskReturn({ items: [{ task, attempt: first.attempt, ...back }] });
      assert.deepEqual(await facts(1), { name: 'far', host: 'h-1', reason: 'none', error: '{"message":"oh"}' });
      const [second] = (await scene.claim({ holder })) as [Grant];
      const end = { to: 'failed', reason: 'gave_up', result: '{"message":"no"}' } as const;
      await store.taskSettle({ items: [{ task, attempt: second.attempt, ...end }] });
      assert.deepEqual(await facts(2), { name: 'far', host: 'h-1', reason: 'gave_up', error: '{"message":"no"}' });
      await numberEvents(store);
      const { events } = await store.eventRead({ after: 0, limit: 100 });
      const [registered] = events.filter((event) => event.change === 'registered');
      assert.deepEqual(registered && 'worker' in registered && [registered.name, registered.host], ['far', 'h-1']);
    },
  },
};
