import assert from 'node:assert/strict';
import type { DutyTenure, Store, Sweep, SweepQuery } from '../../store.ts';
import { allOf, begin, draftOf, end, idsOf, leave, sha } from '../kit/artifact-scene.ts';
import { DAY, HOUR, refusal, type Scene, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const sweep = (store: Store, duty: DutyTenure, wish: Partial<SweepQuery> = {}): Promise<Sweep> =>
  store.artifactSweep({ duty, retentionMs: DAY, pendingMs: 10 * DAY, limit: 100, ...wish });

/** Steps until the walk has come round and nothing more goes; deletes as the duty does. Answers the blobs that went. */
async function sweepAll(store: Store, duty: DutyTenure, wish: Partial<SweepQuery> = {}): Promise<readonly string[]> {
  const blobs: string[] = [];
  for (let step = 0; step < 1000; step++) {
    const { gone, done, removed } = await sweep(store, duty, wish);
    blobs.push(...gone.flatMap(({ blob }) => blob ?? []));
    await store.artifactSwept({ duty, ids: gone.map(({ id }) => id) });
    if (done && gone.length === 0 && removed === 0) return blobs;
  }
  return assert.fail('the sweep never comes round');
}

const dutyOf = (scene: Scene): Promise<DutyTenure> => scene.duty('artifacts', 900 * DAY);

/** What nobody needs any more: rows that are marked, and bytes that are told to go. */
export const ARTIFACT_SWEEPS: Topic = {
  name: 'artifact sweeps',
  needs: ['whole'],
  cases: {
    'what was removed is answered until its bytes are gone': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const grant = await scene.running();
      const first = await leave(store, grant);
      const second = await leave(store, grant, { sha256: sha('b') });
      const kept = await leave(store, grant, { name: 'kept', sha256: sha('c') });
      await store.artifactRemove({ ids: [second.id] });
      const { gone } = await sweep(store, duty);
      assert.deepEqual(gone, [
        { id: first.id, blob: first.blob },
        { id: second.id, blob: second.blob },
      ]);
      assert.deepEqual((await sweep(store, duty)).gone, gone);
      await store.artifactSwept({ duty, ids: [first.id, kept.id] });
      assert.deepEqual((await sweep(store, duty)).gone, gone.slice(1));
      await store.artifactSwept({ duty, ids: [second.id] });
      assert.deepEqual((await sweep(store, duty)).gone, []);
      assert.deepEqual(await idsOf(store), [kept.id], 'what is live is not swept, whatever is said');
    },

    'what an attempt began and did not end is given up, and its bytes go when nobody may send them any more': async (
      scene,
    ) => {
      const { store } = scene;
      const [reaper, duty] = [await scene.duty(), await dutyOf(scene)];
      const lost = await scene.running({ queue: 'lost' });
      const runs = await scene.running({ queue: 'runs' }, { ttlMs: 90 * DAY });
      const { id, blob } = await begin(store, lost);
      const long = await begin(store, runs, { sha256: sha('b') });
      const pendingMs = 2 * HOUR;
      assert.equal((await sweep(store, duty, { pendingMs })).removed, 0);
      await scene.pass(TTL + 1);
      await scene.reap(reaper);
      const { removed, gone } = await sweep(store, duty, { pendingMs });
      assert.deepEqual([removed, gone], [1, []]);
      assert.deepEqual(await store.artifactUsage(), { entries: 1, bytes: 20 }, 'somebody may still be sending it');
      assert.equal(await store.artifactPending({ id }), undefined);
      await scene.pass(2 * HOUR);
      const late = await sweep(store, duty, { pendingMs });
      assert.equal(late.removed, 1, 'an upload takes no longer than that, also of an attempt that runs');
      assert.deepEqual(late.gone, [
        { id, blob },
        { id: long.id, blob: long.blob },
      ]);
      assert.equal(await end(store, runs, long.id), 'unknown');
      assert.deepEqual(await store.artifactUsage(), { entries: 0, bytes: 20 });
      await store.artifactSwept({ duty, ids: [id] });
      assert.deepEqual(await store.artifactUsage(), { entries: 0, bytes: 10 });
      await store.artifactSwept({ duty, ids: [id, long.id] });
      assert.deepEqual(await store.artifactUsage(), { entries: 0, bytes: 0 });
    },

    'artifacts go when the retention after the end of their task is over, and not before': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const [grant, runs] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const { blob } = await leave(store, grant);
      const kept = await leave(store, runs, { sha256: sha('b') });
      await scene.pass(30 * DAY);
      assert.deepEqual(await sweepAll(store, duty), []);
      await scene.settle(grant, 'failed');
      await scene.pass(DAY);
      assert.deepEqual(await sweepAll(store, duty), []);
      await scene.pass(1);
      assert.deepEqual(await sweepAll(store, duty), [blob]);
      assert.deepEqual(await idsOf(store), [kept.id]);
    },

    'a task that was run again keeps its artifacts': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const grant = await scene.running();
      const { id } = await leave(store, grant);
      await scene.settle(grant, 'completed');
      await store.taskRevive({ tasks: [grant.task] });
      await scene.pass(9 * DAY);
      assert.deepEqual(await sweepAll(store, duty), []);
      assert.deepEqual(await idsOf(store), [id]);
    },

    'of a living tree nothing goes, however long ago a part of it has ended': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const root = await scene.running();
      const child = async (n: number) => ({
        key: `child ${n}`,
        kind: 'child' as const,
        task: await scene.draft({ queue: 'child' }),
      });
      const entries = [await child(1), await child(2)];
      await store.taskTurn({ items: [{ task: root.task, attempt: root.attempt, entries, then: { go: 'on' } }] });
      const lanes = [await scene.lane('child')];
      const [a, b] = [await scene.claimOne({ lanes }), await scene.claimOne({ lanes })];
      const [of, its] = [await leave(store, root), await leave(store, a, { sha256: sha('b') })];
      await scene.settle(root, 'completed');
      await scene.settle(a, 'completed');
      await scene.pass(9 * DAY);
      assert.deepEqual(await sweepAll(store, duty), []);
      await scene.settle(b, 'completed');
      await scene.pass(DAY + 1);
      assert.deepEqual(new Set(await sweepAll(store, duty)), new Set([of.blob, its.blob]));
    },

    'artifacts of tasks that are no longer kept go, and a tree can be pruned with them': async (scene) => {
      const { store } = scene;
      const [duty, pruner] = [await dutyOf(scene), await scene.duty('pruner', 900 * DAY)];
      const grant = await scene.running();
      const { blob } = await leave(store, grant);
      await scene.settle(grant, 'completed');
      const young = await scene.running({ queue: 'young' });
      const kept = await leave(store, young, { sha256: sha('b') });
      await scene.pass(DAY);
      assert.equal((await scene.prune(pruner, HOUR)).tasks, 1);
      assert.equal((await store.taskGet({ tasks: [grant.task] }))[0], undefined);
      assert.equal((await allOf(store)).length, 2);
      assert.deepEqual(await sweepAll(store, duty, { retentionMs: 900 * DAY }), [blob]);
      assert.deepEqual(await idsOf(store), [kept.id]);
    },

    'shared bytes go when nobody refers to them any more': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const [a, b] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const first = await leave(store, a);
      const second = await begin(store, b);
      assert.equal(first.blob, second.blob);
      await store.artifactRemove({ ids: [first.id] });
      const { gone } = await sweep(store, duty);
      assert.deepEqual(gone, [{ id: first.id, blob: undefined }], 'somebody is sending them once more');
      await store.artifactSwept({ duty, ids: [first.id] });
      await end(store, b, second.id);
      assert.deepEqual(await sweepAll(store, duty), []);
      await store.artifactRemove({ ids: [second.id] });
      assert.deepEqual(await sweepAll(store, duty), [first.blob]);
    },

    'a blob that may be deleted never gets a new reference, also after the deletion': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const grant = await scene.running();
      const first = await leave(store, grant);
      await store.artifactRemove({ ids: [first.id] });
      const { gone } = await sweep(store, duty);
      assert.deepEqual(gone, [{ id: first.id, blob: first.blob }]);
      const second = await leave(store, grant);
      assert.notEqual(second.blob, first.blob);
      await store.artifactSwept({ duty, ids: [first.id] });
      // A deletion that hangs may arrive even now.
      const third = await leave(store, grant, { name: 'third' });
      assert.notEqual(third.blob, first.blob);
      assert.equal(third.blob, second.blob);
      assert.deepEqual((await sweep(store, duty)).gone, []);
    },

    'begins and sweeps at once on several stores never meet on a blob': needing(['reopen'], async (scene) => {
      const { store } = scene;
      const other = await scene.reopen();
      const duty = await dutyOf(scene);
      const grants = [];
      for (let n = 0; n < 4; n++) grants.push(await scene.running({ queue: `q${n}` }));
      const deleted = new Set<string>();
      for (let round = 0; round < 8; round++) {
        const ids = (await idsOf(store)).filter((_, n) => n % 2 === round % 2);
        const work = grants.map(async (grant, n) => {
          const place = n % 2 === 0 ? store : other;
          const { id, blob } = await begin(place, grant);
          assert.ok(!deleted.has(blob), 'it was deleted before');
          await end(place, grant, id);
        });
        const removal = other.artifactRemove({ ids });
        const step = sweep(store, duty).then(({ gone }) => {
          for (const { blob } of gone) if (blob !== undefined) deleted.add(blob);
        });
        await Promise.all([...work, removal, step]);
        for (const { blob } of await allOf(store)) assert.ok(!deleted.has(blob), 'a live artifact has lost its bytes');
      }
    }),

    'a deposed holder of the duty sweeps nothing': async (scene) => {
      const { store } = scene;
      const old = await scene.duty('artifacts', 1000);
      const grant = await scene.running();
      const { id, blob } = await leave(store, grant);
      await store.artifactRemove({ ids: [id] });
      await sweep(store, old);
      await scene.pass(1001);
      const duty = await scene.duty('artifacts', 900 * DAY);
      assert.equal(await refusal(sweep(store, old)), 'DUTY_LOST');
      assert.equal(await refusal(store.artifactSwept({ duty: old, ids: [id] })), 'DUTY_LOST');
      assert.deepEqual((await sweep(store, duty)).gone, [{ id, blob }]);
    },

    'a step does no more than its limit, and the walk goes over all trees': async (scene) => {
      const { store } = scene;
      const duty = await dutyOf(scene);
      const blobs = new Set<string>();
      for (let n = 0; n < 7; n++) {
        const grant = await scene.running({ queue: `q${n}` });
        for (const name of ['a', 'b', 'c']) blobs.add((await leave(store, grant, { name, own: true })).blob);
        await store.artifactBegin(draftOf(grant, { name: 'begun' }));
        if (n !== 2) await scene.settle(grant, 'completed');
        else
          for (const { id, task, blob } of await allOf(store)) if (task === grant.task && id !== '') blobs.delete(blob);
      }
      await scene.pass(2 * DAY);
      const first = await sweep(store, duty, { limit: 2 });
      assert.ok(first.removed <= 4 && first.gone.length <= 2 && !first.done, JSON.stringify(first));
      assert.deepEqual(new Set(await sweepAll(store, duty, { limit: 2 })), blobs);
      assert.equal((await allOf(store)).length, 3);
    },
  },
};
