import assert from 'node:assert/strict';
import type { ArtifactQuery, Store } from '../../store.ts';
import { begin, draftOf, end, idsOf, leave, newId, sha } from '../kit/artifact-scene.ts';
import { TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const listed = async (store: Store, query: Partial<ArtifactQuery>): Promise<readonly string[]> =>
  (await store.artifactList({ limit: 100, ...query })).map(({ id }) => id);

/** Files that tasks leave behind: what is announced, what is whole, and the room that they take. */
export const ARTIFACTS: Topic = {
  name: 'artifacts',
  needs: ['whole'],
  cases: {
    'an artifact is visible when its bytes have arrived, and not before': async (scene) => {
      const { store } = scene;
      const grant = await scene.running();
      const { calendar } = await store.clock();
      const item = draftOf(grant, { kind: 'log', type: 'text/plain; charset=utf-8', name: 'a/b ä.txt', size: 2 ** 41 });
      const answer = await store.artifactBegin(item);
      assert.equal(answer.kind, 'done');
      const seen = async () => [await idsOf(store), await store.artifactGet({ ids: [item.id] })];
      assert.deepEqual(await seen(), [[], []]);
      const pending = await store.artifactPending({ id: item.id });
      assert.deepEqual([pending?.task, pending?.attempt, pending?.name], [grant.task, grant.attempt, 'a/b ä.txt']);
      assert.equal(await end(store, grant, item.id), 'done');
      assert.equal(await store.artifactPending({ id: item.id }), undefined);
      const [record] = await store.artifactGet({ ids: [item.id, newId()] });
      assert.ok(record !== undefined && record.createdAt >= calendar && record.n > 0);
      const { own: _, ...said } = item;
      assert.deepEqual(record, {
        ...said,
        n: record.n,
        root: grant.task,
        createdAt: record.createdAt,
        blob: (answer as { blob: string }).blob,
      });
      assert.deepEqual(await store.artifactList({ limit: 9 }), [record]);
    },

    'a stale attempt begins nothing and ends nothing': async (scene) => {
      const { store } = scene;
      const duty = await scene.duty();
      const stale = await scene.running();
      const { id } = await begin(store, stale);
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      assert.deepEqual(await store.artifactBegin(draftOf(stale)), { kind: 'lost' });
      assert.equal(await end(store, stale, id), 'lost');
      const fresh = await scene.claimOne();
      assert.ok(fresh.task === stale.task && fresh.attempt > stale.attempt);
      assert.deepEqual(await store.artifactBegin(draftOf(stale)), { kind: 'lost' });
      assert.equal(await end(store, stale, id), 'lost');
      assert.equal(await end(store, fresh, id), 'unknown', 'the newest attempt ends only what it has begun');
      assert.deepEqual(await idsOf(store), []);
      const { id: own } = await leave(store, fresh);
      await scene.settle(fresh, 'completed');
      assert.deepEqual(await store.artifactBegin(draftOf(fresh)), { kind: 'lost' });
      assert.equal(await end(store, fresh, own), 'lost');
      assert.deepEqual(await store.artifactBegin(draftOf({ task: 4711, attempt: 1 })), { kind: 'lost' });
      assert.deepEqual(await idsOf(store), [own]);
    },

    'beginning and ending may be repeated': async (scene) => {
      const { store } = scene;
      const grant = await scene.running();
      const item = draftOf(grant, { quota: 15 });
      const first = await store.artifactBegin(item);
      assert.deepEqual(await store.artifactBegin(item), first);
      assert.deepEqual(await store.artifactUsage(), { entries: 1, bytes: 10 });
      assert.deepEqual([await end(store, grant, item.id), await end(store, grant, item.id)], ['done', 'done']);
      assert.deepEqual(await store.artifactBegin(item), first);
      assert.deepEqual(await store.artifactUsage(), { entries: 1, bytes: 10 });
      assert.equal(await end(store, grant, newId()), 'unknown');
    },

    'a later whole one of the same name takes the place of the first, also of an earlier attempt': async (scene) => {
      const { store } = scene;
      const grant = await scene.running();
      const first = await leave(store, grant, { size: 3 });
      const second = await begin(store, grant, { size: 5, sha256: sha('b') });
      assert.deepEqual(await idsOf(store), [first.id], 'the first one counts until the second is whole');
      await end(store, grant, second.id);
      assert.deepEqual(await idsOf(store), [second.id]);
      assert.equal(await end(store, grant, first.id), 'unknown', 'what was replaced does not come back');
      assert.deepEqual(await store.artifactUsage(), { entries: 1, bytes: 5 });
      await scene.giveBack(grant);
      const again = await scene.claimOne();
      const third = await leave(store, again, { size: 7 });
      const other = await leave(store, again, { name: 'Out.txt' });
      assert.deepEqual(await idsOf(store), [other.id, third.id]);
    },

    'what an earlier attempt has begun leaves the room of the task to the next one, and in all goes on counting':
      async (scene) => {
        const { store } = scene;
        const grant = await scene.running();
        const { id: kept } = await leave(store, grant, { name: 'kept' });
        const { id } = await begin(store, grant, { taskQuota: 25 });
        await scene.giveBack(grant);
        const again = await scene.claimOne();
        const second = await leave(store, again, { taskQuota: 25 });
        assert.equal(await store.artifactPending({ id }), undefined);
        assert.deepEqual(await idsOf(store), [second.id, kept]);
        assert.deepEqual(await store.artifactUsage(), { entries: 2, bytes: 30 });
        const more = draftOf(again, { name: 'more', taskQuota: 45, quota: 35 });
        assert.deepEqual(await store.artifactBegin(more), { kind: 'full', of: 'all', used: 30, quota: 35 });
        assert.equal((await store.artifactBegin({ ...more, quota: 40 })).kind, 'done');
      },

    'quotas count what is under way, of a task and in all, and free what is removed': async (scene) => {
      const { store } = scene;
      const [a, b] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const { id } = await leave(store, a, { name: '1' });
      await begin(store, a, { name: '2' });
      assert.deepEqual(await store.artifactBegin(draftOf(a, { name: '3', size: 6, taskQuota: 25 })), {
        kind: 'full',
        of: 'task',
        used: 20,
        quota: 25,
      });
      const begun = await begin(store, b, { size: 5, taskQuota: 5, quota: 25 });
      const more = draftOf(b, { size: 1, quota: 25 });
      const full = { kind: 'full', of: 'all', used: 25, quota: 25 };
      assert.deepEqual(await store.artifactBegin(more), full);
      assert.equal(await store.artifactPending({ id: more.id }), undefined);
      assert.equal((await store.artifactBegin(draftOf(b, { name: 'empty', size: 0, quota: 25 }))).kind, 'done');
      await end(store, b, begun.id);
      assert.deepEqual(await store.artifactBegin(more), full, 'what is whole goes on counting');
      assert.equal(await store.artifactRemove({ ids: [id, newId()] }), 1);
      assert.deepEqual(await store.artifactUsage(), { entries: 3, bytes: 15 });
      assert.equal((await store.artifactBegin(more)).kind, 'done');
    },

    'one task has no more artifacts than a bound, however small they are': async (scene) => {
      const { store } = scene;
      const [a, b] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const empty = { size: 0, taskEntries: 2 };
      await begin(store, a, { ...empty, name: '1' });
      await leave(store, a, { ...empty, name: '2' });
      const full = { kind: 'full', of: 'entries', used: 2, quota: 2 };
      assert.deepEqual(await store.artifactBegin(draftOf(a, { ...empty, name: '3' })), full);
      assert.equal((await store.artifactBegin(draftOf(b, empty))).kind, 'done');
    },

    'several stores at once never go beyond the quota': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen(), await scene.reopen()];
      const grants = [];
      for (let n = 0; n < 6; n++) grants.push(await scene.running({ queue: `q${n}` }));
      const answers = await Promise.all(
        grants.flatMap((grant, g) =>
          Array.from({ length: 5 }, (_, n) =>
            (stores[(g + n) % stores.length] as Store).artifactBegin(draftOf(grant, { name: `${n}`, quota: 105 })),
          ),
        ),
      );
      assert.equal(answers.filter(({ kind }) => kind === 'done').length, 10);
      assert.deepEqual(await scene.store.artifactUsage(), { entries: 10, bytes: 100 });
    }),

    'the same bytes lie in one place, unless nobody has checked them': async (scene) => {
      const { store } = scene;
      const [a, b] = [await scene.running({ queue: 'a' }), await scene.running({ queue: 'b' })];
      const own = await leave(store, a, { name: 'own', own: true });
      const first = await begin(store, a, { name: 'first' });
      assert.notEqual(first.blob, own.blob);
      assert.equal((await leave(store, b, { name: 'second' })).blob, first.blob);
      assert.notEqual((await leave(store, b, { name: 'own too', own: true })).blob, first.blob);
      const other = await leave(store, b, { name: 'of another size', size: 11 });
      assert.notEqual(other.blob, first.blob);
    },

    'lists go from the newest on, in pages, of tasks, of a tree, by name': async (scene) => {
      const { store } = scene;
      const root = await scene.running();
      const [turned] = await store.taskTurn({
        items: [
          {
            task: root.task,
            attempt: root.attempt,
            entries: [{ key: 'child', kind: 'child', task: await scene.draft({ queue: 'child' }) }],
            then: { go: 'on' },
          },
        ],
      });
      assert.equal(turned?.kind, 'done');
      const child = await scene.claimOne({ lanes: [await scene.lane('child')] });
      const other = await scene.running({ queue: 'other' });
      const [r1, r2, c1, o1] = [
        (await leave(store, root, { name: 'one' })).id,
        (await leave(store, root, { name: 'two' })).id,
        (await leave(store, child, { name: 'one' })).id,
        (await leave(store, other, { name: 'one' })).id,
      ];
      await begin(store, child, { name: 'begun' });
      const tasks = [root.task];
      assert.deepEqual(await listed(store, {}), [o1, c1, r2, r1]);
      assert.deepEqual(await listed(store, { root: root.task }), [c1, r2, r1]);
      assert.deepEqual(await listed(store, { tasks }), [r2, r1]);
      assert.deepEqual(await listed(store, { tasks: [other.task, child.task] }), [o1, c1]);
      assert.deepEqual(await listed(store, { tasks: [other.task, child.task], root: root.task }), [c1]);
      assert.deepEqual(await listed(store, { tasks, name: 'one' }), [r1]);
      assert.deepEqual(await listed(store, { tasks, name: 'one', root: other.task }), []);
      assert.deepEqual(await listed(store, { name: 'one', root: root.task }), [c1, r1]);
      const [newest] = await store.artifactList({ limit: 1 });
      assert.deepEqual(await listed(store, { before: newest?.n ?? 0, limit: 2 }), [c1, r2]);
      assert.deepEqual(await listed(store, { tasks, name: 'one', before: 1 }), []);
    },

    'what was removed is not seen any more, and its name is free': async (scene) => {
      const { store } = scene;
      const grant = await scene.running();
      const { id } = await leave(store, grant);
      const begun = await begin(store, grant, { name: 'begun' });
      assert.equal(await store.artifactRemove({ ids: [id, id, begun.id] }), 1);
      assert.equal(await store.artifactRemove({ ids: [id] }), 0);
      assert.deepEqual([await idsOf(store), await store.artifactGet({ ids: [id] })], [[], []]);
      assert.equal(await end(store, grant, id), 'unknown');
      assert.equal(await end(store, grant, begun.id), 'done');
      const second = await leave(store, grant);
      assert.deepEqual(await idsOf(store), [begun.id, second.id].toSorted().toReversed());
    },
  },
};
