import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault } from '../core/errors.ts';
import { refusal } from '../store/conformance/kit/scene.ts';
import { VirtualWorld } from '../testing.ts';
import { type Batcher, type BatcherOptions, Coalescer } from './coalescer.ts';

interface Rig {
  readonly world: VirtualWorld;
  readonly batcher: Batcher<string, string>;
  /** The items of each batch, in the order of the batches. */
  readonly sent: string[][];
  /** Lets the oldest batch that is under way end. */
  readonly answer: () => Promise<void>;
}

/** A batcher whose batches stay under way until they are answered. Items that begin with "bad" break their batch. */
function rig(options: Partial<BatcherOptions<string, string>> = {}): Rig {
  const world = new VirtualWorld();
  const sent: string[][] = [];
  const open: (() => void)[] = [];
  const batcher = new Coalescer(world).batcher<string, string>({
    name: 'test',
    maxItems: 10,
    maxInFlight: 1,
    send: async (items) => {
      sent.push([...items]);
      await new Promise<void>((resolve) => void open.push(resolve));
      if (items.some((item) => item.startsWith('bad'))) throw new Error('one of them is bad');
      return items.map((item) => `${item}!`);
    },
    ...options,
  });
  const answer = async (): Promise<void> => {
    open.shift()?.();
    await world.settle();
  };
  return { world, batcher, sent, answer };
}

test('a call of an idle batcher leaves in the next turn, without waiting for time to pass', async () => {
  const { world, batcher, sent, answer } = rig();
  const call = batcher.submit('a');
  assert.deepEqual(sent, []);
  await world.settle();
  assert.deepEqual(sent, [['a']]);
  assert.deepEqual(world.waits, []);
  await answer();
  assert.equal(await call, 'a!');
});

test('calls of one turn leave together, in order, and each gets its own answer', async () => {
  const { world, batcher, sent, answer } = rig();
  const calls = ['a', 'b', 'c'].map((item) => batcher.submit(item));
  await world.settle();
  await answer();
  assert.deepEqual(sent, [['a', 'b', 'c']]);
  assert.deepEqual(await Promise.all(calls), ['a!', 'b!', 'c!']);
});

test('calls during a batch leave together in the next one', async () => {
  const { world, batcher, sent, answer } = rig();
  const first = batcher.submit('a');
  await world.settle();
  const later = [batcher.submit('b'), batcher.submit('c')];
  await world.settle();
  later.push(batcher.submit('d'));
  await world.settle();
  assert.deepEqual(sent, [['a']]);
  await answer();
  assert.equal(await first, 'a!');
  assert.deepEqual(sent, [['a'], ['b', 'c', 'd']]);
  await answer();
  assert.deepEqual(await Promise.all(later), ['b!', 'c!', 'd!']);
});

test('a call is answered after its own batch, and not before', async () => {
  const { world, batcher, answer } = rig();
  let answered = false;
  void batcher.submit('a').then(() => {
    answered = true;
  });
  await world.advance(60_000);
  assert.equal(answered, false);
  await answer();
  assert.equal(answered, true);
});

test('no more batches are under way than the batcher allows', async () => {
  const { world, batcher, sent, answer } = rig({ maxInFlight: 2, maxItems: 1 });
  const calls = ['a', 'b', 'c', 'd'].map((item) => batcher.submit(item));
  await world.settle();
  assert.deepEqual(sent, [['a'], ['b']]);
  await answer();
  assert.deepEqual(sent, [['a'], ['b'], ['c']]);
  await answer();
  await answer();
  await answer();
  assert.deepEqual(await Promise.all(calls), ['a!', 'b!', 'c!', 'd!']);
});

test('a batch takes no more items than the batcher allows, and the order is kept over all batches', async () => {
  const { world, batcher, sent, answer } = rig({ maxItems: 4 });
  const items = Array.from({ length: 11 }, (_, n) => `${n}`);
  const calls = items.map((item) => batcher.submit(item));
  await world.settle();
  for (let n = 0; n < 3; n++) await answer();
  assert.deepEqual(
    sent.map((flush) => flush.length),
    [4, 4, 3],
  );
  assert.deepEqual(sent.flat(), items);
  assert.deepEqual(
    await Promise.all(calls),
    items.map((item) => `${item}!`),
  );
});

test('items of one call stay together', async () => {
  const { world, batcher, sent, answer } = rig({ maxItems: 5 });
  const calls = [batcher.submitMany(['a', 'b', 'c']), batcher.submitMany(['d', 'e', 'f']), batcher.submitMany(['g'])];
  await world.settle();
  await answer();
  await answer();
  assert.deepEqual(sent, [
    ['a', 'b', 'c'],
    ['d', 'e', 'f', 'g'],
  ]);
  assert.deepEqual(await Promise.all(calls), [['a!', 'b!', 'c!'], ['d!', 'e!', 'f!'], ['g!']]);
});

test('a call with more items than a batch can take is split, and gets one answer', async () => {
  const { world, batcher, sent, answer } = rig({ maxItems: 4 });
  const items = Array.from({ length: 10 }, (_, n) => `${n}`);
  const call = batcher.submitMany(items);
  await world.settle();
  for (let n = 0; n < 3; n++) await answer();
  assert.deepEqual(
    sent.map((flush) => flush.length),
    [4, 4, 2],
  );
  assert.deepEqual(
    await call,
    items.map((item) => `${item}!`),
  );
});

test('a call with no items is answered with none, and nothing is sent', async () => {
  const { world, batcher, sent } = rig();
  assert.deepEqual(await batcher.submitMany([]), []);
  await world.settle();
  assert.deepEqual(sent, []);
});

test('single calls and calls with several items share a batch, and each gets its own answers', async () => {
  const { world, batcher, sent, answer } = rig();
  const calls = [batcher.submit('a'), batcher.submitMany(['b', 'c']), batcher.submit('d'), batcher.submitMany(['e'])];
  await world.settle();
  await answer();
  assert.deepEqual(sent, [['a', 'b', 'c', 'd', 'e']]);
  assert.deepEqual(await Promise.all(calls), ['a!', ['b!', 'c!'], 'd!', ['e!']]);
});

test('one bad item does not fail the others: the batch is halved until it stands alone', async () => {
  const { world, batcher, sent, answer } = rig();
  const calls = ['a', 'b', 'bad', 'd', 'e', 'f', 'g', 'h'].map((item) => batcher.submit(item));
  const outcomes = Promise.allSettled(calls);
  await world.settle();
  for (let n = 0; n < 20; n++) await answer();
  assert.deepEqual(
    (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'refused')),
    ['a!', 'b!', 'refused', 'd!', 'e!', 'f!', 'g!', 'h!'],
  );
  // 1 bad item of 8: the whole batch, then two halves of each part that has it.
  assert.equal(sent.length, 7);
});

test('two bad items are both found', async () => {
  const { world, batcher, answer } = rig();
  const calls = ['bad 1', 'b', 'c', 'bad 2'].map((item) => batcher.submit(item));
  const outcomes = Promise.allSettled(calls);
  await world.settle();
  for (let n = 0; n < 20; n++) await answer();
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'rejected'],
  );
});

test('an INTERNAL error is blamed on one item, and the batch is halved', async () => {
  const { world, batcher, answer } = rig({
    send: async (items) => {
      if (items.includes('x')) throw fault('INTERNAL', { problem: 'x' });
      return items;
    },
  });
  const outcomes = Promise.allSettled(['a', 'x', 'c'].map((item) => batcher.submit(item)));
  await world.settle();
  await answer();
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('an error of the environment concerns all: every caller gets it at once, and nothing is sent again', async () => {
  let sends = 0;
  const { world, batcher } = rig({
    send: () => {
      sends++;
      return Promise.reject(fault('STORE_BUSY'));
    },
  });
  const outcomes = ['a', 'b', 'c'].map((item) => refusal(batcher.submit(item)));
  await world.settle();
  assert.deepEqual(await Promise.all(outcomes), ['STORE_BUSY', 'STORE_BUSY', 'STORE_BUSY']);
  assert.equal(sends, 1);
});

test('after a failed batch the next one leaves as always', async () => {
  const { world, batcher, answer } = rig();
  const bad = batcher.submit('bad').catch(() => 'refused');
  await world.settle();
  const good = batcher.submit('good');
  await answer();
  await answer();
  assert.deepEqual([await bad, await good], ['refused', 'good!']);
});

test('a caller that comes when too many wait is refused once its patience is over, and no other caller is', async () => {
  const { world, batcher, answer } = rig({ maxItems: 2, maxPending: 3, patienceMs: 1000 });
  const first = batcher.submit('under way');
  await world.settle();
  const early = ['a', 'b', 'c'].map((item) => batcher.submit(item));
  const crowded = refusal(batcher.submit('d'));
  await world.advance(1001);
  await answer(); // The next batch takes a and b.
  await answer(); // Then c; d has waited too long.
  await answer();
  assert.equal(await first, 'under way!');
  assert.deepEqual(await Promise.all(early), ['a!', 'b!', 'c!']);
  assert.equal(await crowded, 'OVERLOADED');
});

test('a caller that comes when too many wait is served when room comes within its patience', async () => {
  const { world, batcher, answer } = rig({ maxItems: 2, maxPending: 1, patienceMs: 1000 });
  const calls = ['a', 'b', 'c', 'd'].map((item) => batcher.submit(item));
  await world.advance(999);
  for (let n = 0; n < 3; n++) await answer();
  assert.deepEqual(await Promise.all(calls), ['a!', 'b!', 'c!', 'd!']);
});

test('all batchers of a coalescer flush in the same turn, so that a store can commit them together', async () => {
  const world = new VirtualWorld();
  const coalescer = new Coalescer(world);
  const order: string[] = [];
  const make = (name: string): Batcher<string, string> =>
    coalescer.batcher({
      name,
      maxItems: 10,
      maxInFlight: 1,
      send: async (items) => {
        order.push(name);
        await Promise.resolve();
        return items;
      },
    });
  const settle = make('settle');
  const push = make('push');
  const claim = make('claim');
  const calls = [claim.submit('1'), push.submit('2'), settle.submit('3')];
  await new Promise((resolve) => void setImmediate(resolve));
  assert.deepEqual(order, ['settle', 'push', 'claim']);
  await Promise.all(calls);
});

test('an error after the commit sends nothing again', async () => {
  const { world, batcher, sent, answer } = rig({
    sent: () => {
      throw new Error('a hook is broken');
    },
  });
  const both = Promise.all([batcher.submit('a'), batcher.submit('b')]);
  await world.settle();
  await answer();
  assert.deepEqual(await both, ['a!', 'b!']);
  assert.deepEqual(sent, [['a', 'b']]);
});

test('large items leave in several batches', async () => {
  const { world, batcher, sent, answer } = rig({ maxBytes: 10, sizeOf: (item) => item.length });
  const single = ['aaaa', 'bbbb', 'cccc'].map((item) => batcher.submit(item));
  const many = batcher.submitMany(['dddd', 'eeeeeeeeeeeeeeee', 'ffff', 'gggg']);
  for (let n = 0; n < 9; n++) {
    await world.settle();
    await answer();
  }
  assert.deepEqual(await Promise.all(single), ['aaaa!', 'bbbb!', 'cccc!']);
  assert.deepEqual(await many, ['dddd!', 'eeeeeeeeeeeeeeee!', 'ffff!', 'gggg!']);
  assert.deepEqual(sent, [['aaaa', 'bbbb'], ['cccc', 'dddd'], ['eeeeeeeeeeeeeeee'], ['ffff', 'gggg']]);
});

test('the parts of one call do not count as a crowd', async () => {
  const { world, batcher, answer } = rig({ maxPending: 10, patienceMs: 100 });
  const many = batcher.submitMany(Array.from({ length: 40 }, (_, n) => `i${n}`));
  for (let n = 0; n < 4; n++) {
    await world.advance(200);
    await answer();
  }
  assert.equal((await many).length, 40);
});

test('a batch whose send throws at once fails its callers, and the next one leaves', async () => {
  let sends = 0;
  const { world, batcher } = rig({
    send: (items) => {
      if (++sends === 1) throw fault('STORE_CLOSED');
      return Promise.resolve(items.map((item) => `${item}!`));
    },
  });
  const first = refusal(batcher.submit('a'));
  await world.settle();
  assert.equal(await first, 'STORE_CLOSED');
  const second = batcher.submit('b');
  await world.settle();
  assert.equal(await second, 'b!');
});
