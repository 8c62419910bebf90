import assert from 'node:assert/strict';
import type { DocumentAnswer, DocumentRecord, DocumentWrite, NewDocument, Store } from '../../store.ts';
import { draft, end, ends, states, type Wish } from '../kit/graph-scene.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';
import { park } from './parks.ts';

const doc = (id: string, parent?: string, more: Partial<NewDocument> = {}): NewDocument => ({
  id,
  parent,
  user: undefined,
  body: JSON.stringify({ name: id }),
  ...more,
});

const write = ({ store }: Pick<Scene, 'store'>, given: DocumentWrite): Promise<DocumentAnswer> =>
  store.documentWrite(given);

/** A root with two below it. */
async function plant(scene: Scene, root = 'r'): Promise<void> {
  const add = [doc(root), doc(`${root}-a`, root), doc(`${root}-b`, root)];
  assert.deepEqual(await write(scene, { root, version: 0, add }), { ok: true, tasks: [] });
}

async function execute(
  scene: Scene,
  root: string,
  version: number,
  wishes: Readonly<Record<string, Wish>>,
): Promise<DocumentAnswer> {
  const items = await Promise.all(Object.values(wishes).map((wish) => draft(scene, wish)));
  return write(scene, { root, version, push: { items, documents: Object.keys(wishes) } });
}

async function get(scene: Scene, id: string): Promise<DocumentRecord> {
  const [record] = await scene.store.documentGet({ ids: [id] });
  assert.ok(record, `${id} is not there`);
  return record;
}

const tree = async (scene: Scene, root = 'r'): Promise<readonly string[]> =>
  (await scene.store.documentTree({ root })).map(({ id, version }) => `${id} ${version}`);

export const DOCUMENTS: Topic = {
  name: 'documents',
  needs: ['whole'],
  cases: {
    'a document is kept as it was written, and found by its id': async (scene) => {
      const { calendar } = await scene.store.clock();
      const body = JSON.stringify({ text: 'Ä "{x}", \\ 🎄', long: 'b'.repeat(5000) });
      const id = 'Root/1:a.b@c';
      const given = doc(id, undefined, { user: "o'neill", body });
      await write(scene, { root: id, version: 0, add: [given, doc('below', id)] });
      const record = await get(scene, id);
      assert.deepEqual(record, {
        ...given,
        number: record.number,
        root: id,
        shows: undefined,
        task: undefined,
        state: undefined,
        attempt: undefined,
        run: 0,
        dropped: false,
        version: 1,
        createdAt: calendar,
        updatedAt: calendar,
      });
      const below = await get(scene, 'below');
      assert.deepEqual([below.root, below.parent, below.user], [id, id, undefined]);
      assert.ok(below.number > record.number);
      assert.deepEqual(await scene.store.documentGet({ ids: ['none', id, 'root/1:a.b@c'] }), [
        undefined,
        record,
        undefined,
      ]);
      assert.deepEqual(await scene.store.documentTree({ root: 'none' }), []);
      assert.deepEqual(await scene.store.documentTree({ root: 'below' }), []);
    },

    'a tree is changed only by who has seen it as it is, and then all of it or nothing': async (scene) => {
      await plant(scene);
      const change = [{ id: 'r-a', parent: 'r', user: 'ada', dropped: true, body: '{"n":2}' }];
      assert.equal(
        (await write(scene, { root: 'r', version: 1, change, remove: ['r-b'], add: [doc('c', 'r')] })).ok,
        true,
      );
      const a = await get(scene, 'r-a');
      assert.deepEqual([a.body, a.user, a.dropped, a.version], ['{"n":2}', 'ada', true, 2]);
      assert.deepEqual(await tree(scene), ['r 2', 'r-a 2', 'c 1']);
    },

    'nobody writes what another one has written since': async (scene) => {
      await plant(scene);
      for (const version of [2, 7]) {
        const answer = await write(scene, { root: 'r', version, remove: ['r-a'], add: [doc('d', 'r')] });
        assert.deepEqual(answer, { ok: false, why: 'stale' });
      }
      const inside = await write(scene, { root: 'r-a', version: 1, add: [doc('e', 'r-a')] });
      assert.deepEqual(inside, { ok: false, why: 'stale' }, 'a tree is named by its root');
      assert.deepEqual(await write(scene, { root: 'none', version: 1, add: [doc('e', 'none')] }), {
        ok: false,
        why: 'stale',
      });
      assert.deepEqual(await tree(scene), ['r 1', 'r-a 1', 'r-b 1']);
      assert.deepEqual(await scene.store.documentGet({ ids: ['d', 'e'] }), [undefined, undefined]);
    },

    'of many who change a tree at once one does, and one pushes': async (scene) => {
      await plant(scene);
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => execute(scene, 'r', 1, { r: { after: [1] }, 'r-a': {} })),
      );
      assert.equal(answers.filter(({ ok }) => ok).length, 1);
      assert.equal((await scene.stats()).ready + (await scene.stats()).waiting, 2);
      assert.deepEqual(
        answers.flatMap((answer) => (answer.ok ? [] : [answer.why])),
        Array(4).fill('stale'),
      );
    },

    'an id that is there is not given twice, in whichever tree, and nothing of the write is kept': async (scene) => {
      await plant(scene);
      for (const [given, taken] of [
        [{ root: 'r', version: 0, add: [doc('r')] }, 'r'],
        [{ root: 's', version: 0, add: [doc('s'), doc('r-a', 's')] }, 'r-a'],
        [{ root: 'r', version: 1, add: [doc('x', 'r'), doc('r-b', 'r')], remove: ['r-a'] }, 'r-b'],
        [{ root: 'r-a', version: 0, add: [doc('y', 'r-a')] }, 'r-a'],
        [{ root: 'r', version: 0, remove: ['r-a'] }, 'r'],
      ] as const) {
        assert.deepEqual(await write(scene, given), { ok: false, why: 'taken', id: taken });
      }
      assert.deepEqual(await scene.store.documentGet({ ids: ['s', 'x', 'y'] }), [undefined, undefined, undefined]);
      assert.deepEqual(await tree(scene), ['r 1', 'r-a 1', 'r-b 1']);
    },

    'only documents of the tree that is named are changed': async (scene) => {
      await plant(scene);
      await plant(scene, 's');
      const change = [{ id: 's-a', parent: undefined, user: 'eve', dropped: true, body: '{}' }];
      await write(scene, { root: 'r', version: 1, change, remove: ['s-b', 's'] });
      assert.deepEqual(await tree(scene, 's'), ['s 1', 's-a 1', 's-b 1']);
    },

    'an execution pushes its tasks and remembers them in one write': async (scene) => {
      await plant(scene);
      const answer = await execute(scene, 'r', 1, { r: { after: [1] }, 'r-a': {} });
      assert.ok(answer.ok);
      const [root, below] = answer.tasks.map(({ task }) => task) as [number, number];
      assert.deepEqual(await states(scene, [root, below]), ['waiting', 'ready']);
      const [r, a, b] = await scene.store.documentTree({ root: 'r' });
      assert.deepEqual([r?.task, r?.run, r?.version], [root, 1, 2]);
      assert.deepEqual([a?.task, a?.run, a?.version], [below, 1, 2]);
      assert.deepEqual([b?.task, b?.run, b?.version], [undefined, 0, 1]);
      const [ofRoot, ofBelow, none] = await scene.store.documentOf({ tasks: [root, below, 4711] });
      assert.deepEqual([ofRoot?.id, ofBelow?.id, none], ['r', 'r-a', undefined]);
      assert.deepEqual([r?.state, a?.state, b?.state], ['waiting', 'ready', undefined]);
      assert.deepEqual([ofRoot?.state, (await get(scene, 'r-a')).state], ['waiting', 'ready']);
      await end(scene, below);
      await end(scene, root);
      const again = await execute(scene, 'r', 2, { r: { after: [{ task: below, optional: false }] } });
      assert.ok(again.ok);
      assert.deepEqual([(await get(scene, 'r')).run, (await get(scene, 'r')).task], [2, again.tasks[0]?.task]);
      assert.deepEqual(await scene.store.documentOf({ tasks: [root] }), [undefined], 'its newest execution counts');
    },

    'it is told whether somebody has begun the task of a document, also where it waits or is ready again': async (
      scene,
    ) => {
      const tell = async (): Promise<readonly string[]> =>
        (await scene.store.documentTree({ root: 'r' })).map(({ id, state, attempt }) => `${id} ${state} ${attempt}`);
      const parked = async (): Promise<number> => (await scene.store.documentCount({ roots: false })).parked;
      await plant(scene);
      const pushed = await execute(scene, 'r', 1, { r: { after: [1] }, 'r-a': {} });
      assert.ok(pushed.ok);
      const below = pushed.tasks[1]?.task as number;
      assert.deepEqual(await tell(), ['r waiting 0', 'r-a ready 0', 'r-b undefined undefined']);
      assert.equal(await parked(), 0, 'what waits for others has not begun');
      const grant = await scene.claimOne({ task: below });
      assert.deepEqual(await tell(), ['r waiting 0', 'r-a running 1', 'r-b undefined undefined']);
      await park(scene, grant, { channel: 'c' });
      assert.deepEqual(await tell(), ['r waiting 0', 'r-a waiting 1', 'r-b undefined undefined']);
      assert.equal(await parked(), 1);
      assert.equal((await get(scene, 'r-a')).attempt, 1);
      assert.equal((await scene.store.documentOf({ tasks: [below] }))[0]?.attempt, 1);
      await scene.store.signalSend({ items: [{ channel: 'c', body: '1' }] });
      assert.deepEqual(await tell(), ['r waiting 0', 'r-a ready 1', 'r-b undefined undefined']);
      await end(scene, below);
      assert.deepEqual(await tell(), ['r ready 0', 'r-a completed 2', 'r-b undefined undefined']);
      const listed = await scene.store.documentList({ roots: false, limit: 9 });
      assert.deepEqual(
        listed.map(({ attempt }) => attempt),
        [undefined, 2, 0],
      );
    },

    'tasks beyond those of the documents are pushed with them, and belong to none': async (scene) => {
      await plant(scene);
      const items = [await draft(scene, {}), await draft(scene, { after: [{ item: 0, optional: true }] })];
      const answer = await write(scene, { root: 'r', version: 1, push: { items, documents: ['r'] } });
      assert.ok(answer.ok);
      const [own, beyond] = answer.tasks.map(({ task }) => task) as [number, number];
      const [ofOwn, ofBeyond] = await scene.store.documentOf({ tasks: [own, beyond] });
      assert.deepEqual([ofOwn?.id, ofOwn?.run, ofBeyond], ['r', 1, undefined]);
      assert.deepEqual(await tree(scene), ['r 2', 'r-a 1', 'r-b 1']);
      assert.deepEqual(await states(scene, [own, beyond]), ['ready', 'waiting']);
      await end(scene, own, 'failed');
      assert.deepEqual(await states(scene, [own, beyond]), ['failed', 'ready']);
    },

    'what cannot be pushed changes no document': async (scene) => {
      await plant(scene);
      const answer = await execute(scene, 'r', 1, { r: {}, 'r-a': { after: [{ task: 4711, optional: false }] } });
      assert.deepEqual(answer, { ok: false, why: 'push', answer: { ok: false, unknown: 4711 } });
      assert.deepEqual(await tree(scene), ['r 1', 'r-a 1', 'r-b 1']);
      assert.equal((await get(scene, 'r')).task, undefined);
    },

    'the same operation id leads to the task of the first execution': async (scene) => {
      await plant(scene);
      const first = await execute(scene, 'r', 1, { r: { op: 'r:1' } });
      assert.ok(first.ok);
      const second = await execute(scene, 'r', 2, { r: { op: 'r:1' } });
      assert.ok(second.ok);
      assert.deepEqual([second.tasks[0]?.task, second.tasks[0]?.fresh], [first.tasks[0]?.task, false]);
    },

    'documents are listed newest first, with the state of their tasks, by user and by root': async (scene) => {
      await plant(scene);
      await write(scene, { root: 's', version: 0, add: [doc('s', undefined, { user: 'ada' })] });
      const pushed = await execute(scene, 'r', 1, { r: {}, 'r-a': {}, 'r-b': { after: [0] } });
      assert.ok(pushed.ok);
      await end(scene, pushed.tasks[0]?.task as number);
      const list = async (more: object): Promise<readonly string[]> =>
        (await scene.store.documentList({ roots: false, limit: 10, ...more })).map(({ id, state }) => `${id} ${state}`);
      assert.deepEqual(await list({}), ['s undefined', 'r-b ready', 'r-a ready', 'r completed']);
      assert.deepEqual(await list({ roots: true }), ['s undefined', 'r completed']);
      assert.deepEqual(await list({ user: 'ada' }), ['s undefined']);
      assert.deepEqual(await list({ user: 'eve' }), []);
      const [s, b] = await scene.store.documentList({ roots: false, limit: 2 });
      assert.deepEqual(await list({ before: b?.number }), ['r-a ready', 'r completed']);
      assert.deepEqual(await list({ before: s?.number, limit: 1 }), ['r-b ready']);
      await write(scene, { root: 't', version: 0, add: [doc('t')] });
      const dropped = [{ id: 't', parent: undefined, user: undefined, dropped: true, body: '{}' }];
      await write(scene, { root: 't', version: 1, change: dropped });
      const none = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 };
      assert.deepEqual(await scene.store.documentCount({ roots: false }), {
        fresh: 1,
        dropped: 1,
        parked: 0,
        states: { ...none, completed: 1, ready: 2 },
      });
      assert.deepEqual(await scene.store.documentCount({ roots: true, user: 'ada' }), {
        fresh: 1,
        dropped: 0,
        parked: 0,
        states: none,
      });
    },

    'one that shows another stands as that does, and one that shows a task stands for good': async (scene) => {
      await plant(scene);
      const pushed = await execute(scene, 'r', 1, { r: {} });
      assert.ok(pushed.ok);
      const task = pushed.tasks[0]?.task as number;
      await end(scene, task);
      await write(scene, { root: 'link', version: 0, add: [doc('link', undefined, { shows: 'r' })] });
      await write(scene, { root: 'kept', version: 0, add: [doc('kept', undefined, { task })] });
      await execute(scene, 'r', 2, { r: {} });
      const listed = await scene.store.documentList({ roots: true, limit: 9 });
      assert.deepEqual(
        listed.map(({ id, state }) => `${id} ${state}`),
        ['kept completed', 'link ready', 'r ready'],
      );
      assert.equal((await scene.store.documentOf({ tasks: [task] }))[0]?.id, 'kept');
    },

    'a document goes with its task, and a root when nothing hangs on it any more': async (scene) => {
      const duty = await scene.duty('pruner', DAY);
      await plant(scene);
      const pushed = await execute(scene, 'r', 1, { r: {}, 'r-a': {} });
      assert.ok(pushed.ok);
      for (const { task } of pushed.tasks) await end(scene, task);
      await scene.pass(2 * HOUR);
      await scene.push();
      await scene.prune(duty, HOUR);
      assert.deepEqual(await tree(scene), ['r 2', 'r-b 1'], 'what was never executed stays, and so does its root');
      await write(scene, { root: 'r', version: 2, remove: ['r-b'], add: [doc('c', 'r')] });
      const last = await execute(scene, 'r', 3, { c: {} });
      assert.ok(last.ok);
      await end(scene, last.tasks[0]?.task as number);
      await scene.pass(2 * HOUR);
      await scene.push();
      await scene.prune(duty, HOUR);
      assert.deepEqual(await tree(scene), []);
    },

    'ready tasks of lanes are told in the order of a claim, and nothing is claimed': async (scene) => {
      const [mail, post] = [await scene.lane(), await scene.lane('post')];
      const one = await scene.push({ lane: mail });
      const two = await scene.push({ lane: post, priority: 5 });
      const three = await scene.push({ lane: mail, priority: 5 });
      await scene.push({ lane: mail, delayMs: HOUR });
      const found = await scene.unchanged(() => scene.store.taskReady({ lanes: [mail, post], limit: 10 }));
      assert.deepEqual(found, [
        { task: two, lane: post, priority: 5 },
        { task: three, lane: mail, priority: 5 },
        { task: one, lane: mail, priority: 0 },
      ]);
      const tasks = async (lanes: readonly number[], limit: number): Promise<readonly number[]> =>
        (await scene.store.taskReady({ lanes, limit })).map(({ task }) => task);
      assert.deepEqual(await tasks([mail], 1), [three]);
      assert.deepEqual(await tasks([post, mail], 2), [two, three]);
      assert.deepEqual(await tasks([], 5), []);
    },

    'documents are there for another process, which cannot write over what it has not seen': needing(
      ['reopen'],
      async (scene) => {
        await plant(scene);
        const other: Store = await scene.reopen();
        assert.deepEqual(
          (await other.documentTree({ root: 'r' })).map(({ id }) => id),
          ['r', 'r-a', 'r-b'],
        );
        assert.equal((await write(scene, { root: 'r', version: 1, remove: ['r-a'] })).ok, true);
        assert.deepEqual(await write({ store: other }, { root: 'r', version: 1, remove: ['r-b'] }), {
          ok: false,
          why: 'stale',
        });
      },
    ),

    'those that need what fails end with it, whatever was executed before': async (scene) => {
      await plant(scene);
      const pushed = await execute(scene, 'r', 1, {
        'r-a': { maxTries: 1 },
        'r-b': { after: [0], afterFailure: 'fail' },
        r: {
          after: [
            { item: 0, optional: true },
            { item: 1, optional: true },
          ],
        },
      });
      assert.ok(pushed.ok);
      const tasks = pushed.tasks.map(({ task }) => task);
      await end(scene, tasks[0] as number, 'failed');
      assert.deepEqual(await ends(scene, tasks), ['failed gave_up', 'failed dependency', 'ready']);
    },
  },
};
