import assert from 'node:assert/strict';
import type { NodeAnswer, NodeBeat, NodeRecord, Store } from '../../store.ts';
import { DAY, HOUR, MINUTE, type Scene } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

type Beat = Partial<NodeBeat>;

const beat = (scene: Scene, more: Beat = {}): Promise<NodeAnswer> =>
  scene.store.nodeBeat({ id: 'a', incarnation: 'a1', first: false, wish: 'auto', stand: 'worker', ...more });

const list = async (scene: Scene): Promise<readonly NodeRecord[]> => (await scene.store.nodeList()).nodes;

async function only(scene: Scene): Promise<NodeRecord> {
  const [node, ...others] = await list(scene);
  assert.ok(node !== undefined && others.length === 0);
  return node;
}

/** How long each node has been silent. */
async function silence(scene: Scene): Promise<Readonly<Record<string, number>>> {
  const { now, nodes } = await scene.store.nodeList();
  return Object.fromEntries(nodes.map(({ id, beatAt }) => [id, now - beatAt]));
}

const FINE = { ok: true, override: 'auto', replaced: undefined } as const;

export const NODES: Topic = {
  name: 'nodes',
  needs: ['whole'],
  cases: {
    'a node is there with its first beat, with all that it said of itself': async (scene) => {
      const said = { address: 'http://127.0.0.1:7420', version: '1.2.3', host: 'box', pid: 42 } as const;
      assert.deepEqual(await beat(scene, { first: true, wish: 'leader', stand: 'leader', ...said }), FINE);
      const { startedAt, standSince, beatAt: _, ...rest } = await only(scene);
      assert.deepEqual(rest, {
        id: 'a',
        incarnation: 'a1',
        wish: 'leader',
        stand: 'leader',
        override: 'auto',
        left: false,
        ...said,
      });
      const { calendar } = await scene.store.clock();
      assert.deepEqual([startedAt, standSince], [calendar, calendar]);
    },

    'what a node does not say of itself is undefined': async (scene) => {
      await beat(scene, { first: true });
      const { address, version, host, pid } = await only(scene);
      assert.deepEqual([address, version, host, pid], [undefined, undefined, undefined, undefined]);
    },

    'to register twice is to register once': async (scene) => {
      await beat(scene, { first: true });
      const before = await only(scene);
      assert.deepEqual(await beat(scene, { first: true }), FINE);
      assert.deepEqual(await only(scene), before);
    },

    'nodes are listed by their ids, each by itself': async (scene) => {
      for (const id of ['c', 'a', 'b']) await beat(scene, { id, incarnation: `${id}1`, first: true });
      assert.deepEqual(
        (await list(scene)).map(({ id, incarnation }) => [id, incarnation]),
        [
          ['a', 'a1'],
          ['b', 'b1'],
          ['c', 'c1'],
        ],
      );
    },

    'a store without nodes says what time it is': async (scene) => {
      const { now, nodes } = await scene.store.nodeList();
      assert.deepEqual([now, nodes], [(await scene.store.clock()).lease, []]);
    },

    'a beat ends the silence of one node and of no other': async (scene) => {
      await beat(scene, { first: true });
      await beat(scene, { id: 'b', incarnation: 'b1', first: true });
      await scene.pass(MINUTE);
      assert.deepEqual(await silence(scene), { a: MINUTE, b: MINUTE });
      await beat(scene);
      assert.deepEqual(await silence(scene), { a: 0, b: MINUTE });
    },

    'setting the wall clock makes no node silent': async (scene) => {
      await beat(scene, { first: true });
      scene.world.jump(DAY);
      assert.deepEqual(await silence(scene), { a: 0 });
    },

    'it is told since when a node does what it does': async (scene) => {
      await beat(scene, { first: true });
      const { startedAt } = await only(scene);
      await scene.pass(MINUTE);
      await beat(scene, { stand: 'leader' });
      await scene.pass(MINUTE);
      await beat(scene, { stand: 'leader' });
      const node = await only(scene);
      assert.deepEqual(
        [node.stand, node.startedAt, node.standSince],
        ['leader', startedAt, startedAt + MINUTE],
        'since it has led, not since its last beat',
      );
    },

    'the first beat of another process takes the id, and the older one is refused and told who has it': async (
      scene,
    ) => {
      await beat(scene, { first: true, host: 'one', pid: 1 });
      await scene.pass(MINUTE);
      assert.deepEqual(await beat(scene, { incarnation: 'a2', first: true, host: 'two', pid: 2, stand: 'leader' }), {
        ...FINE,
        replaced: 'a1',
      });
      const newer = await only(scene);
      await scene.pass(MINUTE);
      assert.deepEqual(await beat(scene, { host: 'one', pid: 1 }), { ok: false, host: 'two', pid: 2 });
      assert.deepEqual(await only(scene), newer, 'a beat that was refused changed something');
      assert.deepEqual(await beat(scene, { incarnation: 'a2', host: 'two', pid: 2, stand: 'leader' }), FINE);
      assert.deepEqual([newer.incarnation, newer.startedAt], ['a2', newer.standSince]);
    },

    'of many processes that begin with one id at the same time one has it': async (scene) => {
      const names = Array.from({ length: 10 }, (_, n) => `p${n}`);
      await Promise.all(names.map((incarnation) => beat(scene, { incarnation, first: true })));
      const answers = await Promise.all(names.map((incarnation) => beat(scene, { incarnation })));
      const { incarnation } = await only(scene);
      assert.deepEqual(
        names.filter((_, i) => answers[i]?.ok),
        [incarnation],
      );
    },

    'a node that leaves is gone, and what is left of it is nothing': async (scene) => {
      await beat(scene, { first: true });
      await scene.store.nodeLeave({ id: 'a', incarnation: 'a1' });
      assert.deepEqual(await list(scene), []);
    },

    'an older process that leaves takes nothing from the newer one': async (scene) => {
      await beat(scene, { first: true });
      await beat(scene, { incarnation: 'a2', first: true });
      const newer = await only(scene);
      await scene.store.nodeLeave({ id: 'a', incarnation: 'a1' });
      assert.deepEqual(await only(scene), newer);
    },

    'an older process has its id back once the newer one has left': async (scene) => {
      await beat(scene, { first: true });
      await beat(scene, { incarnation: 'a2', first: true });
      await scene.store.nodeRole({ id: 'a', role: 'observer' });
      await scene.store.nodeLeave({ id: 'a', incarnation: 'a2' });
      assert.deepEqual(await beat(scene), { ok: true, override: 'observer', replaced: 'a2' });
      assert.deepEqual([(await only(scene)).incarnation, (await only(scene)).left], ['a1', false]);
    },

    'a beat without a row makes one, as after a day of silence': async (scene) => {
      await beat(scene, { first: true });
      await scene.pass(DAY + 1);
      scene.forgets = true;
      const duty = await scene.store.dutyTake({ name: 'pruner', holder: 'x', ttlMs: HOUR });
      assert.ok(duty);
      await scene.store.taskPrune({ duty, retentionMs: 7 * DAY, limit: 100 });
      assert.deepEqual(await list(scene), [], 'a node that was not heard of for a day is forgotten');
      assert.deepEqual(await beat(scene), FINE);
      assert.equal((await only(scene)).incarnation, 'a1');
    },

    'a node that was heard of within a day is not forgotten': async (scene) => {
      await beat(scene, { first: true });
      await scene.pass(DAY - MINUTE);
      const duty = await scene.store.dutyTake({ name: 'pruner', holder: 'x', ttlMs: HOUR });
      assert.ok(duty);
      await scene.store.taskPrune({ duty, retentionMs: HOUR, limit: 100 });
      assert.equal((await only(scene)).id, 'a');
    },

    'what is asked of a node is told with its beats and in the list, until it is taken back': async (scene) => {
      await beat(scene, { first: true });
      assert.equal(await scene.store.nodeRole({ id: 'a', role: 'observer' }), true);
      assert.deepEqual(await beat(scene), { ...FINE, override: 'observer' });
      assert.deepEqual([(await only(scene)).override, (await only(scene)).wish], ['observer', 'auto']);
      assert.equal(await scene.store.nodeRole({ id: 'a', role: 'auto' }), true);
      assert.deepEqual(await beat(scene), FINE);
    },

    'what is asked of a node holds for its next process too, whether the last one left or vanished': async (scene) => {
      await beat(scene, { first: true });
      await scene.store.nodeRole({ id: 'a', role: 'worker' });
      const second = await beat(scene, { incarnation: 'a2', first: true });
      assert.deepEqual(second, { ok: true, override: 'worker', replaced: 'a1' });
      await scene.store.nodeLeave({ id: 'a', incarnation: 'a2' });
      assert.deepEqual([(await only(scene)).left, (await only(scene)).override], [true, 'worker']);
      const third = await beat(scene, { incarnation: 'a3', first: true });
      assert.deepEqual(third, { ok: true, override: 'worker', replaced: 'a2' });
      assert.equal((await only(scene)).left, false);
    },

    'at most one node is asked to lead, and nobody is when the new one is not there': async (scene) => {
      for (const id of ['a', 'b', 'c']) await beat(scene, { id, first: true });
      await scene.store.nodeRole({ id: 'c', role: 'observer' });
      const asked = async (): Promise<readonly string[]> => (await list(scene)).map(({ override }) => override);
      assert.equal(await scene.store.nodeRole({ id: 'a', role: 'leader' }), true);
      assert.deepEqual(await asked(), ['leader', 'auto', 'observer']);
      assert.equal(await scene.store.nodeRole({ id: 'nobody', role: 'leader' }), false);
      assert.deepEqual(await asked(), ['leader', 'auto', 'observer']);
      assert.equal(await scene.store.nodeRole({ id: 'b', role: 'leader' }), true);
      assert.deepEqual(await asked(), ['auto', 'leader', 'observer']);
    },

    'nothing can be asked of a node that is not there': async (scene) => {
      assert.equal(await scene.store.nodeRole({ id: 'nobody', role: 'observer' }), false);
      assert.deepEqual(await list(scene), []);
    },

    'duties are listed with who holds them and until when, also those that are over or were given back': async (
      scene,
    ) => {
      const { store } = scene;
      const empty = await store.dutyList();
      assert.deepEqual(
        empty.duties.filter(({ name }) => name !== 'feed'),
        [],
      );
      assert.equal(empty.now, (await store.clock()).lease);
      await store.dutyTake({ name: 'stager', holder: 'n/1', ttlMs: MINUTE });
      await store.dutyTake({ name: 'cron', holder: 'n/1', ttlMs: HOUR });
      const given = await store.dutyTake({ name: 'reaper', holder: 'm/2', ttlMs: HOUR });
      assert.ok(given);
      await store.dutyRelease({ duty: given });
      await scene.pass(2 * MINUTE);
      const { now, duties } = await store.dutyList();
      assert.deepEqual(
        duties
          .filter(({ name }) => name !== 'feed')
          .map(({ name, holder, epoch, until }) => [name, holder, epoch, until === 0 ? 'free' : until - now]),
        [
          ['cron', 'n/1', 1, HOUR - 2 * MINUTE],
          ['reaper', 'm/2', 1, 'free'],
          ['stager', 'n/1', 1, -MINUTE],
        ],
      );
    },

    'the first fingerprint of the secret is kept, and no other takes its place unless it is told to': async (scene) => {
      const { store } = scene;
      assert.equal(await store.secretPin({}), undefined);
      const one = { fingerprint: 'one', leasesBefore: undefined };
      assert.deepEqual(await store.secretPin({ fingerprint: 'one' }), one);
      assert.deepEqual(await store.secretPin({ fingerprint: 'two' }), one);
      assert.deepEqual(await store.secretPin({}), one);
      assert.deepEqual((await store.secretPin({ fingerprint: 'two', replace: true }))?.fingerprint, 'two');
      assert.deepEqual(await store.secretPin({ replace: true }), { ...one, fingerprint: 'two' });
    },

    'of nodes that bring their first secrets at once one is kept': needing(['reopen'], async (scene) => {
      const stores = [scene.store, await scene.reopen()];
      const pins = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (stores[n % 2] as Store).secretPin({ fingerprint: `f${n}` })),
      );
      assert.equal(new Set(pins.map((pin) => pin?.fingerprint)).size, 1);
    }),

    'a setting of the cluster is written by whoever has read it last, and by nobody else': async ({ store }) => {
      const name = 'upgrade';
      // Other cases may have written it: what is kept beside the tables outlives them.
      const before = await store.settingRead({ name });
      assert.equal(await store.settingSwap({ name, before: 'x', value: 'a' }), false);
      assert.equal(await store.settingSwap({ name, before, value: '{"ä":1}' }), true);
      assert.equal(await store.settingRead({ name }), '{"ä":1}');
      assert.equal(await store.settingSwap({ name, before: undefined, value: 'b' }), false);
      assert.equal(await store.settingSwap({ name, before: '{"ä":2}', value: 'b' }), false);
      assert.equal(await store.settingSwap({ name, before: '{"ä":1}', value: 'b' }), true);
      assert.equal(await store.settingRead({ name }), 'b');
    },

    'of writers of a setting that have read the same one succeeds, and every process reads what it wrote': needing(
      ['reopen'],
      async (scene) => {
        const name = 'upgrade';
        const stores = [scene.store, await scene.reopen()];
        const before = await scene.store.settingRead({ name });
        await scene.store.settingSwap({ name, before, value: 'first' });
        const won = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            (stores[n % 2] as Store).settingSwap({ name, before: 'first', value: `by ${n}` }),
          ),
        );
        assert.equal(won.filter((one) => one).length, 1);
        for (const store of stores) assert.equal(await store.settingRead({ name }), `by ${won.indexOf(true)}`);
      },
    ),

    'a first secret that finds tasks running says when it came, and one that replaces it does not': async (scene) => {
      const { store } = scene;
      await scene.running();
      await scene.pass(1000);
      const { calendar } = await store.clock();
      const pin = { fingerprint: 'one', leasesBefore: calendar };
      assert.deepEqual(await store.secretPin({ fingerprint: 'one' }), pin);
      await scene.pass(1000);
      assert.deepEqual(await store.secretPin({ fingerprint: 'one' }), pin);
      const other = { fingerprint: 'two', leasesBefore: undefined };
      assert.deepEqual(await store.secretPin({ fingerprint: 'two', replace: true }), other);
    },
  },
};
