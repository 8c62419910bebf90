import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_DURATION_MS } from '../duration.ts';
import { isEngineError } from '../errors.ts';
import type { Ask, CounterUse, LimitCounter, LimitInput, LimitUseInput, Rate } from './limit.ts';
import { allot, charge, freesIn, normalizeLimit, normalizeUses, roomOf, STRATEGIES } from './limit.ts';

/** A calendar time of today: in µs it leaves a double two bits for a fraction, so that careless sums show. */
const NOW = 1_760_000_000_123;
const ONE: CounterUse = { counter: 1, weight: 1, cost: 0 };
const FREE: LimitCounter = {
  id: 1,
  cap: undefined,
  active: 0,
  rate: undefined,
  cost: undefined,
  tat: 0,
  costTat: 0,
  pausedUntil: 0,
};

const rateOf = (max: number, windowMs: number, burst: number): Rate => ({ max, windowMs, burst, perKey: false });

function refusal(check: () => unknown): readonly [field: unknown, message: string] {
  try {
    check();
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return [error.details?.field, error.message];
  }
  return assert.fail('it was accepted');
}

// What a caller may give.

test('a limit has nothing but its strategy by default', () => {
  assert.deepEqual(normalizeLimit({}), { strategy: 'queue' });
  assert.deepEqual(normalizeLimit({ concurrent: undefined, rate: undefined }), { strategy: 'queue' });
  assert.deepEqual(normalizeLimit({ concurrent: 0, perKey: 0, backlog: 0 }), {
    concurrent: 0,
    perKey: 0,
    strategy: 'queue',
    backlog: 0,
  });
  for (const strategy of STRATEGIES) assert.deepEqual(normalizeLimit({ strategy }), { strategy });
});

test('a rate has a burst of a tenth of it by default, and is for all keys together', () => {
  const rate = (input: LimitInput['rate']): Rate | undefined => normalizeLimit({ rate: input }).rate;
  assert.deepEqual(rate({ max: 100, window: '1m' }), rateOf(100, 60_000, 10));
  assert.deepEqual(rate({ max: 9, window: 1 }), rateOf(9, 1, 1));
  assert.deepEqual(rate({ max: 9, window: '2s', burst: 9, perKey: true }), { ...rateOf(9, 2000, 9), perKey: true });
  assert.deepEqual(normalizeLimit({ cost: { max: 1_000_000_000, window: '1d' } }).cost?.burst, 100_000_000);
});

test('the same limit in another order is the same text', () => {
  const one = normalizeLimit({
    concurrent: 1,
    perKey: 2,
    rate: { max: 3, window: '1s', burst: 2, perKey: true },
    cost: { max: 4, window: '1m' },
    strategy: 'refuse',
    backlog: 5,
  });
  const other = normalizeLimit({
    backlog: 5,
    strategy: 'refuse',
    cost: { window: 60_000, max: 4, perKey: false, burst: 1 },
    rate: { perKey: true, burst: 2, window: 1000, max: 3 },
    perKey: 2,
    concurrent: 1,
  });
  assert.equal(JSON.stringify(one), JSON.stringify(other));
});

test('a wrong limit is refused with the place and the rule', () => {
  const rate = (change: Record<string, unknown>): unknown => ({ rate: { max: 10, window: '1s', ...change } });
  const wrong: readonly (readonly [unknown, string, RegExp])[] = [
    ...[null, undefined, 5, 'api', []].map((input) => [input, 'limit', /must be an object/] as const),
    [{ concurent: 5 }, 'limit', /"concurent" is not one of its keys concurrent, perKey, rate, cost, strategy, backlog/],
    ...[-1, 0.5, '5', null, Number.NaN, 1_000_000_001].flatMap((n) =>
      ['concurrent', 'perKey', 'backlog'].map((key) => [{ [key]: n }, `limit.${key}`, /from 0 to 1000000000/] as const),
    ),
    ...['wait', null, 0, 'toString'].map(
      (strategy) => [{ strategy }, 'limit.strategy', /one of queue, refuse/] as const,
    ),
    ...[null, 5, [], '10/s'].map((value) => [{ rate: value }, 'limit.rate', /must be an object/] as const),
    [{ cost: 5 }, 'limit.cost', /must be an object/],
    [rate({ per: '1s' }), 'limit.rate', /"per" is not one of its keys max, window, burst, perKey/],
    ...[0, undefined, '5', 1.5, 1_000_000_001].map((max) => [rate({ max }), 'limit.rate.max', /from 1/] as const),
    ...[undefined, 'soon', '', -1, null].map(
      (window) => [rate({ window }), 'limit.rate.window', /100 years|a dur/] as const,
    ),
    [rate({ window: 0 }), 'limit.rate.window', /at least 1 ms/],
    ...[0, null, '5', 2.5].map((burst) => [rate({ burst }), 'limit.rate.burst', /from 1/] as const),
    [rate({ burst: 11 }), 'limit.rate.burst', /11 is more than max, which is 10/],
    [rate({ max: 1e6, burst: 1e6, window: '1d' }), 'limit.rate.burst', /1000000 at once .* more than 100 years/],
    ...[null, 1, 'yes'].map((perKey) => [rate({ perKey }), 'limit.rate.perKey', /true or false/] as const),
    [{ cost: { max: 5, window: '1s', burst: 6 } }, 'limit.cost.burst', /more than max/],
  ];
  for (const [input, field, reason] of wrong) {
    const [place, message] = refusal(() => normalizeLimit(input as LimitInput));
    assert.equal(place, field, JSON.stringify(input));
    assert.match(message, reason);
  }
});

test('the uses of limits have one order and one spelling', () => {
  const uses = normalizeUses(['b', { cost: 5, weight: 2, key: 'Ann', name: 'a' }, { name: 'c', weight: undefined }]);
  const expected = [
    { name: 'a', key: 'Ann', weight: 2, cost: 5 },
    { name: 'b', weight: 1, cost: 0 },
    { name: 'c', weight: 1, cost: 0 },
  ];
  assert.equal(JSON.stringify(uses), JSON.stringify(expected));
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  fc.assert(
    fc.property(fc.shuffledSubarray(names, { minLength: 8 }), (some) => {
      const text = JSON.stringify(normalizeUses(some));
      assert.equal(text, JSON.stringify(normalizeUses(names)));
      assert.equal(JSON.stringify(normalizeUses(JSON.parse(text) as LimitUseInput[])), text);
    }),
  );
});

test('a wrong use of limits is refused with the place and the rule', () => {
  const wrong: readonly (readonly [unknown, string, RegExp])[] = [
    ...[null, 'api', {}, 5].map((input) => [input, 'limits', /a list of at most 8 limits/] as const),
    [Array.from({ length: 9 }, (_, n) => `l${n}`), 'limits', /at most 8/],
    [['A'], 'limit name', /"A" is not 1 to 63/],
    [[{}], 'limit name', /type undefined/],
    ...[[5], [null], [['api']]].map((input) => [input, 'limits', /must be an object/] as const),
    // oxlint-disable-next-line no-sparse-arrays
    [[, 'api'], 'limits', /must be an object/],
    [[{ name: 'a', wieght: 2 }], 'limits', /"wieght" is not one of its keys name, key, weight, cost/],
    [[{ name: 'a', key: '' }], 'limits.key', /empty/],
    [[{ name: 'a', key: 5 }], 'limits.key', /must be a text/],
    ...[0, 1.5, '1', null].map((weight) => [[{ name: 'a', weight }], 'limits.weight', /from 1 to/] as const),
    ...[-1, 1.5, '1', null].map((cost) => [[{ name: 'a', cost }], 'limits.cost', /from 0 to/] as const),
    [['b', 'a', { name: 'b', key: 'x' }], 'limits', /b comes twice/],
  ];
  for (const [input, field, reason] of wrong) {
    const [place, message] = refusal(() => normalizeUses(input as string[]));
    assert.equal(place, field, JSON.stringify(input));
    assert.match(message, reason);
  }
});

// Room.

test('a cap leaves room for as many as fit, and none while it is lowered below what runs', () => {
  const use = { ...ONE, weight: 4 };
  assert.equal(roomOf({ ...FREE, cap: 11, active: 0 }, use, NOW), 2);
  assert.equal(roomOf({ ...FREE, cap: 11, active: 8 }, use, NOW), 0);
  assert.equal(roomOf({ ...FREE, cap: 11, active: 20 }, use, NOW), 0);
  assert.equal(freesIn({ ...FREE, cap: 11, active: 7 }, use, NOW), 0);
  assert.equal(freesIn({ ...FREE, cap: 11, active: 8 }, use, NOW), undefined);
});

test('without a cap there is room for as much as the stores can count', () => {
  assert.equal(roomOf(FREE, ONE, NOW), 2_000_000_000);
  assert.equal(roomOf({ ...FREE, active: 1_000_000_000 }, { ...ONE, weight: 1_000_000_000 }, NOW), 1);
});

test('a paused counter has no room until its time has come', () => {
  const slot = { ...FREE, pausedUntil: NOW + 500 };
  assert.deepEqual([roomOf(slot, ONE, NOW), freesIn(slot, ONE, NOW)], [0, 500]);
  assert.deepEqual([roomOf(slot, ONE, NOW + 499), freesIn(slot, ONE, NOW + 499)], [0, 1]);
  assert.ok(roomOf(slot, ONE, NOW + 500) > 0);
});

test('a fresh rate has room for its burst, whatever the time of day', () => {
  for (const [max, windowMs] of [
    [3, 10_000],
    [7, 60_000],
    [11, 1000],
    [999, 1000],
  ] as const) {
    for (const burst of [1, 2, 3]) {
      for (let now = NOW; now < NOW + 50; now++) {
        assert.equal(roomOf({ ...FREE, rate: rateOf(max, windowMs, burst) }, ONE, now), burst, `${max} in ${windowMs}`);
      }
    }
  }
});

test('a task without a cost takes nothing from a cost, and a cost above the burst starts when nothing is owed', () => {
  const slot = { ...FREE, cost: rateOf(1000, 60_000, 100), costTat: (NOW + 1) * 1000 };
  const [none, small, large] = [0, 10, 500].map((cost) => ({ ...ONE, cost })) as [CounterUse, CounterUse, CounterUse];
  assert.equal(roomOf(slot, none, NOW), 2_000_000_000);
  assert.deepEqual([roomOf(slot, small, NOW), roomOf(slot, large, NOW)], [9, 0]);
  assert.deepEqual([freesIn(slot, small, NOW), freesIn(slot, large, NOW)], [0, 1]);
  assert.deepEqual([roomOf(slot, small, NOW + 1), roomOf(slot, large, NOW + 1)], [10, 1]);
});

test('a cost far above its rate is owed for a century, which every store can keep', () => {
  const slot = { ...FREE, cost: rateOf(1, 86_400_000, 1) };
  const [change] = charge([{ uses: [{ ...ONE, cost: 1_000_000_000 }], count: 1 }], new Map([[1, slot]]), NOW);
  assert.ok(Number.isSafeInteger(change?.costTat));
  assert.ok((change?.costTat ?? 0) > (NOW + MAX_DURATION_MS) * 1000);
});

// Rates.

interface Started {
  readonly at: number;
  readonly units: number;
}

/** The most starts in any window, its end excluded. */
function mostIn(windowMs: number, starts: readonly Started[]): number {
  let [most, sum, first] = [0, 0, 0];
  for (const { at, units } of starts) {
    sum += units;
    while ((starts[first] as Started).at <= at - windowMs) {
      sum -= (starts[first] as Started).units;
      first++;
    }
    most = Math.max(most, sum);
  }
  return most;
}

/** Starts as many as it may at each visit, and returns after each of the gaps. */
function greedy(
  counter: LimitCounter,
  visits: readonly { readonly gap: number; readonly use: CounterUse }[],
): readonly Started[] {
  let [now, state] = [NOW, counter];
  const starts: Started[] = [];
  for (const { gap, use } of visits) {
    now += gap;
    const count = (allot([{ lane: 1, max: 1_000_000, uses: [use] }], new Map([[1, state]]), now)[0] as { max: number })
      .max;
    const [change] = charge([{ uses: [use], count }], new Map([[1, state]]), now);
    state = { ...state, ...change };
    if (count > 0) starts.push({ at: now, units: count * (counter.cost === undefined ? 1 : use.cost) });
  }
  return starts;
}

const gapsFor = (windowMs: number): fc.Arbitrary<number[]> =>
  fc.array(
    fc.oneof(
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: Math.ceil(windowMs / 5) }),
      fc.integer({ min: 0, max: 2 * windowMs }),
    ),
    { maxLength: 80, size: 'max' },
  );

test('a caller that takes all it gets at random times never gets more than the rate in any window', () => {
  const window = fc.constantFrom(10, 997, 1000, 60_000);
  const times = window.chain((windowMs) => fc.tuple(fc.constant(windowMs), gapsFor(windowMs)));
  fc.assert(
    fc.property(times, ([windowMs, gaps]) => {
      const visits = gaps.map((gap) => ({ gap, use: ONE }));
      for (let max = 1; max <= 40; max++) {
        for (let burst = 1; burst <= max; burst++) {
          const most = mostIn(windowMs, greedy({ ...FREE, rate: rateOf(max, windowMs, burst) }, visits));
          assert.ok(most <= max, `${most} of ${max} with a burst of ${burst}`);
        }
      }
    }),
    { numRuns: 25 },
  );
});

test('a caller that comes as soon as it may gets the whole rate in the first window, and the steady rate ever after', () => {
  const [windowMs, windows] = [60_000, 20];
  for (let max = 1; max <= 40; max++) {
    for (let burst = 1; burst <= max; burst++) {
      const starts: Started[] = [];
      let [now, state]: [number, LimitCounter] = [NOW, { ...FREE, rate: rateOf(max, windowMs, burst) }];
      while (now < NOW + windows * windowMs) {
        assert.equal(roomOf(state, ONE, now), starts.length === 0 ? burst : 1);
        const count = roomOf(state, ONE, now);
        state = { ...state, ...charge([{ uses: [ONE], count }], new Map([[1, state]]), now)[0] };
        starts.push({ at: now, units: count });
        now += freesIn(state, ONE, now) as number;
      }
      assert.equal(mostIn(windowMs, starts), max);
      const steady = (starts.length - 1) / windows;
      const wanted = max - burst + 1;
      assert.ok(Math.abs(steady - wanted) <= wanted / 100 + 1 / windows, `${steady} instead of ${wanted}`);
    }
  }
});

test('large rates keep their windows too, and a burst is the same one by one and at once', () => {
  const rates = fc
    .record({ max: fc.integer({ min: 1, max: 100_000 }), windowMs: fc.integer({ min: 1, max: 100_000 }) })
    .chain((one) => fc.tuple(fc.constant(one), fc.integer({ min: 1, max: one.max }), gapsFor(one.windowMs)));
  fc.assert(
    fc.property(rates, ([{ max, windowMs }, burst, gaps]) => {
      const slot = { ...FREE, rate: rateOf(max, windowMs, burst) };
      const visits = gaps.map((gap) => ({ gap, use: ONE }));
      assert.ok(mostIn(windowMs, greedy(slot, visits)) <= max);
      assert.ok(roomOf(slot, ONE, NOW) <= burst);
      // Above this, rounding can be more than the millisecond that is forgiven.
      if (burst >= 1000) return;
      let state: LimitCounter = slot;
      for (let left = burst; left >= 0; left--) {
        assert.equal(roomOf(state, ONE, NOW), left);
        state = { ...state, ...charge([{ uses: [ONE], count: 1 }], new Map([[1, state]]), NOW)[0] };
      }
    }),
  );
});

test('costs never add up to more than the rate in any window, except for the part of one cost above the burst', () => {
  const costs = fc.record({
    rate: fc
      .record({ max: fc.integer({ min: 1, max: 1000 }), windowMs: fc.constantFrom(10, 997, 60_000) })
      .chain(({ max, windowMs }) => fc.integer({ min: 1, max }).map((burst) => rateOf(max, windowMs, burst))),
    visits: fc.array(fc.record({ share: fc.integer({ min: 1, max: 100 }), gap: fc.integer({ min: 0, max: 100 }) }), {
      maxLength: 80,
      size: 'max',
    }),
    scale: fc.constantFrom(1, 3),
  });
  fc.assert(
    fc.property(costs, ({ rate, visits, scale }) => {
      const { max, windowMs, burst } = rate;
      const largest = burst * scale;
      const all = visits.map(({ share, gap }) => ({
        gap: Math.ceil((gap * windowMs) / 200),
        use: { ...ONE, cost: Math.ceil((largest * share) / 100) },
      }));
      const most = mostIn(windowMs, greedy({ ...FREE, cost: rate }, all));
      assert.ok(most <= max + largest - burst, `${most} of ${max}, burst ${burst}, costs up to ${largest}`);
    }),
    { numRuns: 500 },
  );
});

test('forgiven rounding never adds a start to a window, even in its last millisecond', () => {
  // One unit each 2/3 µs: three of them are a whole number, and a burst of single ones would be rounded by 167 ms.
  const slot = { ...FREE, cost: rateOf(1_999_999, 1000, 500_000) };
  const visits = Array.from({ length: 10 }, (_, n) => ({ gap: n === 0 ? 0 : 111, use: { ...ONE, cost: 3 } }));
  assert.equal(mostIn(1000, greedy(slot, visits)), 1_999_998);
});

// Allotting.

const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const someRate = fc
  .record({ max: fc.integer({ min: 1, max: 30 }), windowMs: fc.integer({ min: 1, max: 5000 }) })
  .chain(({ max, windowMs }) => fc.integer({ min: 1, max }).map((burst) => rateOf(max, windowMs, burst)));
const someTat = fc.integer({ min: -2_000_000, max: 9_000_000 }).map((ahead) => NOW * 1000 + ahead);
const someSlot: fc.Arbitrary<LimitCounter> = fc.record({
  id: fc.constant(0),
  cap: some(fc.integer({ min: 0, max: 40 })),
  active: fc.integer({ min: 0, max: 20 }),
  rate: some(someRate),
  cost: some(someRate),
  tat: fc.oneof(fc.constant(0), someTat),
  costTat: fc.oneof(fc.constant(0), someTat),
  pausedUntil: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.integer({ min: NOW - 1, max: NOW + 9000 })),
});
const taking = fc.record({ weight: fc.integer({ min: 1, max: 5 }), cost: fc.integer({ min: 0, max: 12 }) });
/** Counters 1 to 4, and lanes that share them; counter 5 is not known. */
const scenes = fc.record({
  counters: fc
    .array(someSlot, { minLength: 4, maxLength: 4 })
    .map(
      (all): ReadonlyMap<number, LimitCounter> => new Map(all.map((counter, i) => [i + 1, { ...counter, id: i + 1 }])),
    ),
  asks: fc.array(
    fc.record({
      lane: fc.nat(99),
      max: fc.integer({ min: 0, max: 30 }),
      uses: fc
        .tuple(
          fc.oneof({ weight: 9, arbitrary: fc.subarray([1, 2, 3, 4], { maxLength: 3 }) }, fc.constant([2, 5])),
          fc.array(taking, { minLength: 3, maxLength: 3 }),
        )
        .map(([ids, takes]) =>
          ids.map((counter, i): CounterUse => ({ counter, ...(takes[i] as { weight: number; cost: number }) })),
        ),
    }),
    { maxLength: 6 },
  ),
});

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The rule for one task in whole numbers of any size. Undefined: it may not start. */
function tatAfter(rate: Rate, tat: number, units: number): number | undefined {
  const [at, was, steady] = [BigInt(NOW) * 1000n, BigInt(tat), BigInt(rate.max - rate.burst + 1)];
  const time = (n: number): bigint => BigInt(n) * BigInt(rate.windowMs) * 1000n;
  const step = (n: number): bigint => (time(n) + steady - 1n) / steady;
  const rounded = BigInt(rate.burst) * step(1);
  const bound = time(rate.burst) / steady + 999n;
  const next = larger(was, at) + step(units);
  const may = units > rate.burst ? was <= at : next <= at + (rounded < bound ? rounded : bound);
  return may ? Number(next) : undefined;
}

function startOne(counter: LimitCounter, { weight, cost }: CounterUse): LimitCounter | undefined {
  if (counter.pausedUntil > NOW || (counter.cap !== undefined && counter.active + weight > counter.cap))
    return undefined;
  const tat = counter.rate === undefined ? counter.tat : tatAfter(counter.rate, counter.tat, 1);
  const costTat =
    counter.cost === undefined || cost === 0 ? counter.costTat : tatAfter(counter.cost, counter.costTat, cost);
  return tat === undefined || costTat === undefined
    ? undefined
    : { ...counter, active: counter.active + weight, tat, costTat };
}

/** One task after the other, each checking all of its counters. */
function oneByOne(
  asks: readonly Ask[],
  counters: ReadonlyMap<number, LimitCounter>,
): [counts: number[], left: Map<number, LimitCounter>] {
  const left = new Map(counters);
  const counts = asks.map(({ max, uses }) => {
    for (let count = 0; count < max; count++) {
      const next = uses.map((use) => {
        const counter = left.get(use.counter);
        return counter && startOne(counter, use);
      });
      if (next.includes(undefined)) return count;
      for (const counter of next) if (counter !== undefined) left.set(counter.id, counter);
    }
    return max;
  });
  return [counts, left];
}

test('allotting and charging at once gives what tasks get one by one', () => {
  fc.assert(
    fc.property(scenes, ({ asks, counters }) => {
      const allotted = allot(asks, counters, NOW);
      const [counts, left] = oneByOne(asks, counters);
      assert.deepEqual(
        allotted.map(({ lane, max }) => [lane, max]),
        asks.map(({ lane }, i) => [lane, counts[i]]),
      );
      const granted = asks.map(({ uses }, i) => ({ uses, count: counts[i] as number }));
      const changes = charge(granted, counters, NOW);
      const touched = granted.flatMap(({ uses, count }) => (count === 0 ? [] : uses.map(({ counter }) => counter)));
      const ids = [...counters.keys()].filter((id) => touched.includes(id));
      assert.deepEqual(
        changes.map(({ counter }) => counter),
        ids,
      );
      for (const { counter: id, active, tat, costTat } of changes) {
        const [before, after] = [counters.get(id) as LimitCounter, left.get(id) as LimitCounter];
        assert.deepEqual([active, tat], [after.active, after.tat]);
        // Without a cost, a time in the past may be moved up to now: it means the same.
        assert.equal(Math.max(costTat, NOW * 1000), Math.max(after.costTat, NOW * 1000));
        assert.ok(before.cap === undefined || active <= before.cap);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a lane that gets less than it asked for learns which counter has no room for one more', () => {
  fc.assert(
    fc.property(scenes, ({ asks, counters }) => {
      const allotted = allot(asks, counters, NOW);
      const left = new Map(counters);
      for (const [i, { max, block }] of allotted.entries()) {
        const { uses, max: asked } = asks[i] as Ask;
        for (const { counter: id, ...change } of charge([{ uses, count: max }], left, NOW)) {
          left.set(id, { ...(left.get(id) as LimitCounter), ...change });
        }
        assert.equal(block === undefined, max === asked);
        if (block === undefined) continue;
        const use = uses.find(({ counter }) => counter === block.counter) as CounterUse;
        const counter = left.get(block.counter);
        if (counter === undefined) assert.deepEqual([max, block.freesInMs], [0, undefined]);
        else assert.deepEqual([roomOf(counter, use, NOW), block.freesInMs], [0, freesIn(counter, use, NOW)]);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a charge for fewer than were allotted takes less, and leaves at least as much for others', () => {
  const shares = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(scenes, shares, ({ asks, counters }, share) => {
      const allotted = allot(asks, counters, NOW);
      const charged = (percent: (i: number) => number): Map<number, LimitCounter> => {
        const granted = asks.map(({ uses }, i) => ({
          uses,
          count: Math.floor(((allotted[i] as { max: number }).max * percent(i)) / 100),
        }));
        const after = new Map(counters);
        for (const { counter: id, ...change } of charge(granted, counters, NOW)) {
          after.set(id, { ...(counters.get(id) as LimitCounter), ...change });
        }
        return after;
      };
      const [all, less] = [charged(() => 100), charged((i) => share[i] as number)];
      for (const id of counters.keys()) {
        const [most, some] = [all.get(id) as LimitCounter, less.get(id) as LimitCounter];
        assert.ok(some.active <= most.active && some.tat <= most.tat && some.costTat <= most.costTat);
        assert.ok(roomOf(some, { ...ONE, cost: 1 }, NOW) >= roomOf(most, { ...ONE, cost: 1 }, NOW));
      }
      // All room was allotted: once it is charged, a lane that was blocked gets nothing more.
      for (const [i, { max }] of allot(asks, all, NOW).entries()) if (allotted[i]?.block) assert.equal(max, 0);
    }),
    { numRuns: 1000 },
  );
});

test('a counter has room when it said that time would make some, and not a moment before', () => {
  fc.assert(
    fc.property(someSlot, taking, (counter, takes) => {
      const use = { ...ONE, ...takes };
      const wait = freesIn(counter, use, NOW);
      if (wait === undefined) return assert.equal(roomOf(counter, use, NOW + 1_000_000), 0);
      assert.ok(Number.isInteger(wait) && wait >= 0);
      assert.ok(roomOf(counter, use, NOW + wait) > 0);
      if (wait > 0) assert.equal(roomOf(counter, use, NOW + wait - 1), 0);
    }),
    { numRuns: 1000 },
  );
});
