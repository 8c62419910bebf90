import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lane, LaneName } from '../../store/store.ts';
import { Interner } from './interner.ts';

function rig(): { interner: Interner; asked: string[]; learned: Lane[] } {
  const asked: string[] = [];
  const learned: Lane[] = [];
  const store = {
    laneIntern: async ({ lanes }: { lanes: readonly LaneName[] }) => {
      await Promise.resolve();
      return lanes.map(({ queue, handler }) => {
        asked.push(`lane ${queue} ${handler}`);
        return { id: asked.length, queue, handler, paused: false };
      });
    },
    specIntern: async ({ specs }: { specs: readonly string[] }) => {
      await Promise.resolve();
      return specs.map((body) => {
        asked.push(`spec ${body}`);
        return 7;
      });
    },
    specGet: async ({ spec }: { spec: number }) => {
      await Promise.resolve();
      asked.push(`get ${spec}`);
      return spec === 9 ? '{"nine":1}' : undefined;
    },
  };
  return { interner: new Interner(store, (lane) => void learned.push(lane)), asked, learned };
}

test('a lane is interned once and then known without a call', async () => {
  const { interner, asked, learned } = rig();
  const name = { queue: 'mail', handler: 'send' };
  assert.equal(interner.knownLane(name), undefined);
  const id = await interner.lane(name);
  assert.equal(await interner.lane(name), id);
  assert.equal(interner.knownLane(name), id);
  assert.deepEqual(asked, ['lane mail send']);
  assert.deepEqual(
    learned.map(({ queue }) => queue),
    ['mail'],
  );
});

test('names that look the same when joined are kept apart', async () => {
  const { interner } = rig();
  const one = await interner.lane({ queue: 'a', handler: 'b/c' });
  const two = await interner.lane({ queue: 'a.b', handler: 'c' });
  assert.notEqual(one, two);
});

test('a spec is interned once, and its text is then known by its number', async () => {
  const { interner, asked } = rig();
  assert.equal(interner.knownSpec('{}'), undefined);
  assert.equal(await interner.spec('{}'), 7);
  assert.equal(await interner.spec('{}'), 7);
  assert.equal(interner.knownSpec('{}'), 7);
  assert.equal(await interner.specBody(7), '{}');
  assert.deepEqual(asked, ['spec {}']);
});

test("the text of another process's spec is read once; a missing one is read again", async () => {
  const { interner, asked } = rig();
  assert.equal(await interner.specBody(9), '{"nine":1}');
  assert.equal(await interner.specBody(9), '{"nine":1}');
  assert.equal(await interner.specBody(5), undefined);
  assert.equal(await interner.specBody(5), undefined);
  assert.deepEqual(asked, ['get 9', 'get 5', 'get 5']);
});
