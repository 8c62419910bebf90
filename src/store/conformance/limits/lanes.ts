import assert from 'node:assert/strict';
import { DAY } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const LANES: Topic = {
  name: 'lanes and specs',
  cases: {
    'the same queue and handler are the same lane, also in one call': async ({ store }) => {
      const name = { queue: 'mail', handler: 'send' };
      const [first, twin] = await store.laneIntern({ lanes: [name, name] });
      const [later] = await store.laneIntern({ lanes: [name] });
      assert.deepEqual(first, { id: first?.id, ...name, paused: false });
      assert.deepEqual(twin, first);
      assert.deepEqual(later, first);
    },

    'another queue or another handler is another lane': async ({ store }) => {
      const lanes = await store.laneIntern({
        lanes: [
          { queue: 'mail', handler: 'send' },
          { queue: 'mail', handler: 'sort' },
          { queue: 'post', handler: 'send' },
          { queue: 'mail.send', handler: 'x' },
          { queue: 'mail', handler: 'send/x' },
        ],
      });
      assert.equal(new Set(lanes.map(({ id }) => id)).size, 5);
      assert.deepEqual(
        lanes.map(({ queue, handler }) => `${queue} ${handler}`),
        ['mail send', 'mail sort', 'post send', 'mail.send x', 'mail send/x'],
      );
    },

    'lanes that are interned at the same time get one number each': async ({ store }) => {
      const name = { queue: 'mail', handler: 'send' };
      const answers = await Promise.all(Array.from({ length: 20 }, () => store.laneIntern({ lanes: [name] })));
      assert.equal(new Set(answers.map(([lane]) => lane?.id)).size, 1);
    },

    'the scan shows the lanes that have ready tasks now, and no others': async (scene) => {
      const empty = await scene.lane('empty', 'h');
      const later = await scene.draft({ queue: 'later', delayMs: 1000 });
      const ready = await scene.draft({ queue: 'ready' });
      const runs = await scene.running({ queue: 'runs' });
      await scene.push(later);
      await scene.push(ready);
      const found = await scene.store.laneScan({ after: 0, limit: 100 });
      assert.deepEqual(
        found.map(({ id }) => id),
        [ready.lane],
      );
      assert.deepEqual(found[0], { id: ready.lane, priority: 0 });
      assert.ok(![empty, later.lane, runs.lane].includes(found[0]?.id ?? 0));
    },

    'the scan goes on after a lane, page by page, and misses none': async (scene) => {
      const lanes: number[] = [];
      for (let i = 0; i < 23; i++) {
        const item = await scene.draft({ queue: `q${i}` });
        await scene.push(item);
        await scene.push(item);
        lanes.push(item.lane);
      }
      const seen: number[] = [];
      for (let after = 0; ; ) {
        const page = await scene.store.laneScan({ after, limit: 5 });
        assert.ok(page.length <= 5);
        seen.push(...page.map(({ id }) => id));
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.id;
      }
      assert.deepEqual(
        seen,
        lanes.sort((a, b) => a - b),
      );
    },

    'the same spec has the same number, and its text comes back unchanged': async ({ store }) => {
      const text = '{"retry":{"baseMs":1000},"label":"ünïcödé 🚂"}';
      const [first, other, again] = await store.specIntern({ specs: [text, '{}', text] });
      assert.equal(again, first);
      assert.notEqual(other, first);
      assert.deepEqual(await store.specIntern({ specs: [text] }), [first]);
      assert.equal(await store.specGet({ spec: first as number }), text);
    },

    'a spec that was never made is undefined': async ({ store }) => {
      assert.equal(await store.specGet({ spec: 4711 }), undefined);
    },

    'lanes tell how full they are, up to what is asked for, and since when their oldest is ready': async (scene) => {
      const { store, world } = scene;
      const born = world.clock.wall();
      const [one, two, none] = [await scene.lane('a'), await scene.lane('b'), await scene.lane('c')];
      await scene.pushMany(3, { queue: 'a', priority: -5 });
      await scene.pass(1000);
      await scene.pushMany(2, { queue: 'a', priority: 9 });
      await scene.pushMany(7, { queue: 'b' });
      await scene.push({ queue: 'c', delayMs: DAY });
      const depth = (lanes: readonly number[], most: number) => store.laneDepth({ lanes, most });
      const empty = { ready: 0, readySince: Number.POSITIVE_INFINITY };
      assert.deepEqual(await depth([two, one, none, one, 4711], 100), [
        { ready: 7, readySince: born + 1000 },
        { ready: 5, readySince: born },
        empty,
        { ready: 5, readySince: born },
        empty,
      ]);
      const ready = async (most: number): Promise<readonly number[]> =>
        (await depth([one, two], most)).map((lane) => lane.ready);
      assert.deepEqual(
        [await ready(5), await ready(4), await ready(0)],
        [
          [5, 5],
          [4, 4],
          [0, 0],
        ],
      );
      assert.equal((await depth([one], 0))[0]?.readySince, born, 'its age is told also where nothing is counted');
      assert.deepEqual(await depth([], 5), []);
      await scene.claim({ lanes: [one], max: 5 });
      assert.deepEqual(await depth([one], 5), [empty]);
    },
  },
};
