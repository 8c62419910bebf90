import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import type { Candidate, Obstacle, PlacementInput } from './placement.ts';
import { ANYWHERE, credentialsIn, eligible, liking, normalizePlacement, obstacles, sayObstacle } from './placement.ts';
import { WORKER_STATES } from './worker.ts';

const WORKER: Candidate = {
  worker: 1,
  name: 'anna',
  state: 'online',
  enabled: true,
  tags: ['gpu=nvidia', 'memory_gb=32', 'credential:GITHUB'],
  handlers: ['send', 'receive'],
  queues: ['mail'],
  version: '1.4.2',
  priority: 0,
};

const why = (input: PlacementInput, worker: Partial<Candidate> = {}, queue = 'mail', handler = 'send'): string[] =>
  obstacles({ queue, handler, placement: normalizePlacement(input) }, { ...WORKER, ...worker }).map(sayObstacle);

function refusal(input: unknown): { readonly field: unknown; readonly message: string } {
  try {
    normalizePlacement(input as PlacementInput);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return { field: error.details?.field, message: error.message };
  }
  return assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('a task without placement may run anywhere', () => {
  assert.equal(normalizePlacement({}), ANYWHERE);
  assert.equal(normalizePlacement({ requires: [], only: [], prefer: [], version: undefined }), ANYWHERE);
  assert.equal(normalizePlacement({ prefer: [{ tag: 'gpu', weight: 0 }] }), ANYWHERE);
  assert.ok(Object.isFrozen(ANYWHERE));
  assert.deepEqual(why({}), []);
});

test('a worker must pass every test of its tags', () => {
  assert.deepEqual(why({ requires: ['gpu', 'gpu=nvidia', 'gpu!=amd', 'memory_gb>=16'] }), []);
  assert.deepEqual(why({ requires: ['gpu=amd', 'memory_gb>=64', 'disk', 'gpu'] }), [
    'lacks the tag disk',
    'lacks the tag gpu=amd',
    'lacks the tag memory_gb>=64',
  ]);
});

test('a credential is a tag of its own kind', () => {
  assert.deepEqual(normalizePlacement({ credentials: ['GITHUB'] }), { requires: ['credential:GITHUB'] });
  assert.deepEqual(why({ credentials: ['GITHUB'] }), []);
  assert.deepEqual(why({ credentials: ['GITLAB'], requires: ['credential:AWS'] }), [
    'lacks the credential AWS',
    'lacks the credential GITLAB',
  ]);
  assert.deepEqual(why({ credentials: ['GITHUB'] }, { tags: ['GITHUB'] }), ['lacks the credential GITHUB']);
});

test('the credentials that a placement asks for are found among its tags', () => {
  assert.deepEqual(credentialsIn(normalizePlacement({ credentials: ['b', 'a'], requires: ['gpu'] })), ['a', 'b']);
  assert.equal(credentialsIn(normalizePlacement({ requires: ['gpu'] })), undefined);
  assert.equal(credentialsIn(ANYWHERE), undefined);
});

test('only these workers: `never` wins over `only`', () => {
  assert.deepEqual(why({ only: ['anna', 'bob'] }), []);
  assert.deepEqual(why({ only: ['bob'] }), ['is not among the chosen workers']);
  assert.deepEqual(why({ never: ['bob'] }), []);
  assert.deepEqual(why({ only: ['anna'], never: ['anna'] }), ['is excluded by the task']);
});

test('a worker must serve the queue and offer the handler and the other handlers asked for', () => {
  assert.deepEqual(why({ handlers: ['receive'] }), []);
  assert.deepEqual(why({ handlers: ['Sort/it', 'send'] }, {}, 'video', 'encode'), [
    'does not serve the queue video',
    'does not offer the handler encode',
    'does not offer the handler Sort/it',
  ]);
  assert.deepEqual(why({ handlers: ['encode'] }, {}, 'mail', 'encode'), ['does not offer the handler encode']);
  assert.deepEqual(why({ handlers: ['b'] }, { handlers: undefined, queues: undefined }, 'video', 'a'), []);
  assert.equal(why({}, { handlers: [], queues: [] }).length, 2);
});

test('a worker must have a version in the range', () => {
  assert.deepEqual(why({ version: '>=1.4 <2' }), []);
  assert.deepEqual(why({ version: '>=2' }), ['has version 1.4.2, wanted >=2.0.0']);
  assert.deepEqual(why({ version: '>=2' }, { version: undefined }), ['has version unknown, wanted >=2.0.0']);
});

test('a worker that is disabled, draining, offline or lost runs nothing new', () => {
  const said = WORKER_STATES.map((state) => [state, ...why({}, { state })]);
  assert.deepEqual(said, [
    ['starting'],
    ['online'],
    ['draining', 'is draining'],
    ['offline', 'is not online'],
    ['lost', 'is not online'],
  ]);
  assert.deepEqual(why({}, { enabled: false, state: 'lost' }), ['is disabled', 'is not online']);
});

test('preferences add up over the tests that pass', () => {
  const placement = normalizePlacement({
    prefer: [
      { tag: 'gpu' },
      { tag: 'gpu=nvidia', weight: 10 },
      { tag: 'memory_gb>=64', weight: 100 },
      { tag: 'credential:GITHUB', weight: -3 },
    ],
  });
  assert.equal(liking(placement, WORKER), 8);
  assert.equal(liking(placement, { ...WORKER, tags: [] }), 0);
  assert.equal(liking(ANYWHERE, WORKER), 0);
});

test('the canonical form has lists sorted and without repeats, and versions in full', () => {
  const placement = normalizePlacement({
    affinity: 'Repo 7',
    version: '<2 >= v1.4-rc.1 <2.0',
    maxPerWorker: 2,
    never: ['b', 'a', 'b'],
    only: ['z'],
    handlers: ['x', 'x'],
    credentials: ['B', 'A'],
    requires: ['gpu', 'credential:A', 'disk>=5'],
    prefer: [{ tag: 'zone=eu', weight: 2 }, { tag: 'gpu' }, { tag: 'zone=eu', weight: 3 }],
  });
  const expected = {
    requires: ['credential:A', 'credential:B', 'disk>=5', 'gpu'],
    handlers: ['x'],
    only: ['z'],
    never: ['a', 'b'],
    maxPerWorker: 2,
    version: '>=1.4.0 <2.0.0',
    prefer: [
      { tag: 'gpu', weight: 1 },
      { tag: 'zone=eu', weight: 5 },
    ],
    affinity: 'Repo 7',
  };
  assert.equal(JSON.stringify(placement), JSON.stringify(expected));
});

const TESTS = ['gpu', 'gpu=nvidia', 'gpu!=amd', 'memory_gb>=16', 'memory_gb<64', 'credential:A', 'zone=eu'];
const some = (texts: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(fc.constantFrom(...texts), { maxLength: 5 });
const placements: fc.Arbitrary<PlacementInput> = fc.record(
  {
    requires: some(TESTS),
    handlers: some(['send', 'receive', 'encode']),
    credentials: some(['A', 'B']),
    only: some(['anna', 'bob']),
    never: some(['bob', 'carl']),
    maxPerWorker: fc.integer({ min: 1, max: 5 }),
    version: fc
      .array(fc.constantFrom('>=1.4', '<2', '=1.4.2', 'v1.4.2'), { minLength: 1, maxLength: 4 })
      .map((all) => all.join(' ')),
    prefer: fc.array(fc.record({ tag: fc.constantFrom(...TESTS), weight: fc.integer({ min: -9, max: 9 }) })),
    affinity: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: [] },
);

test('the same demand in another order has the same text, and the canonical form of it is the same again', () => {
  const shuffled = (values: readonly unknown[]): fc.Arbitrary<unknown[]> =>
    fc.shuffledSubarray([...values], { minLength: values.length });
  const twins = placements.chain((one) =>
    fc.tuple(
      fc.constant(one),
      shuffled(Object.keys(one)).chain((keys) =>
        fc.tuple(
          ...(keys as (keyof PlacementInput)[]).map((key) => {
            const value = one[key];
            if (Array.isArray(value)) return fc.tuple(fc.constant(key), shuffled(value));
            if (key !== 'version') return fc.constant([key, value] as const);
            return shuffled((value as string).split(' ')).map((parts) => [key, parts.join('  ')] as const);
          }),
        ),
      ),
    ),
  );
  fc.assert(
    fc.property(twins, ([one, other]) => {
      const text = JSON.stringify(normalizePlacement(one));
      assert.equal(JSON.stringify(normalizePlacement(Object.fromEntries(other) as PlacementInput)), text);
      assert.equal(JSON.stringify(normalizePlacement(JSON.parse(text) as PlacementInput)), text);
    }),
  );
});

// A model without texts: its tests, tags and versions are numbers and pairs from the start.

type Value = readonly [text: string, number: number | undefined];
type Sign = '' | '=' | '!=' | '>=' | '<=' | '>' | '<';
const NUMBERS: readonly Value[] = ['-1.5', '0', '8', '16', '16.0', '128'].map((text) => [text, Number(text)]);
const VALUES: readonly Value[] = [...NUMBERS, ['nvidia', undefined], ['amd', undefined], ['1e3', undefined]];
const VERSIONS = [
  [undefined, undefined],
  ['latest', undefined],
  ['0.9.9-rc1', 909],
  ['v1.4', 10_400],
  ['1.4.0+b7', 10_400],
  ['1.10.2', 11_002],
  ['2', 20_000],
] as const;
const order = (sign: Sign, a: number, b: number): boolean =>
  ({ '': false, '!=': a !== b, '=': a === b, '>=': a >= b, '<=': a <= b, '>': a > b, '<': a < b })[sign];

const names = fc.constantFrom('gpu', 'memory_gb', 'credential:A');
const tags = fc.array(fc.tuple(names, fc.option(fc.constantFrom(...VALUES))), { maxLength: 4 });
const tests = fc.array(
  fc.oneof(
    fc.tuple(names, fc.constantFrom<Sign>('', '=', '!='), fc.constantFrom(...VALUES)),
    fc.tuple(names, fc.constantFrom<Sign>('>=', '<=', '>', '<'), fc.constantFrom(...NUMBERS)),
  ),
  { maxLength: 3 },
);
const range = fc.array(
  fc.tuple(fc.constantFrom<Sign>('=', '>=', '<=', '>', '<'), fc.constantFrom(...VERSIONS.slice(2))),
  { minLength: 1, maxLength: 2 },
);
const people = fc.subarray(['anna', 'bob']);
const offers = fc.subarray(['a', 'b', 'c']);

test('the rules agree with a model without texts, for any worker and any task', () => {
  const worker = fc.record({
    name: fc.constantFrom('anna', 'bob', 'carl'),
    state: fc.constantFrom(...WORKER_STATES),
    enabled: fc.boolean(),
    tags,
    handlers: fc.option(offers),
    queues: fc.option(offers),
    version: fc.constantFrom(...VERSIONS),
  });
  const task = fc.record({
    queue: fc.constantFrom('a', 'b'),
    handler: fc.constantFrom('a', 'b'),
    tests,
    handlers: offers,
    only: people,
    never: people,
    range: fc.option(range),
  });
  fc.assert(
    fc.property(worker, task, (its, wish) => {
      const expected = new Set<string>();
      if (!its.enabled) expected.add('disabled');
      if (its.state === 'draining') expected.add('draining');
      if (['offline', 'lost'].includes(its.state)) expected.add('offline');
      if (wish.never.includes(its.name)) expected.add('excluded');
      if (wish.only.length > 0 && !wish.only.includes(its.name)) expected.add('not_chosen');
      if (its.queues !== null && !its.queues.includes(wish.queue)) expected.add(`queue ${wish.queue}`);
      for (const handler of [wish.handler, ...wish.handlers]) {
        if (its.handlers !== null && !its.handlers.includes(handler)) expected.add(`handler ${handler}`);
      }
      for (const [name, sign, [text, number]] of wish.tests) {
        const values = its.tags.flatMap(([key, value]) => (key === name ? [value] : []));
        let passed = values.length > 0;
        if (sign === '=') passed = values.some((value) => value?.[0] === text);
        else if (sign === '!=') passed &&= !values.some((value) => value?.[0] === text);
        else if (sign !== '')
          passed = values.some((has) => has?.[1] !== undefined && order(sign, has[1], number as number));
        if (!passed) expected.add(`tag ${name}${sign}${sign === '' ? '' : text}`);
      }
      const has = its.version[1];
      if (wish.range?.some(([sign, [, wanted]]) => has === undefined || !order(sign, has, wanted as number))) {
        expected.add('version');
      }

      const placed = {
        queue: wish.queue,
        handler: wish.handler,
        placement: normalizePlacement({
          requires: wish.tests.map(([name, sign, [text]]) => (sign === '' ? name : `${name}${sign}${text}`)),
          handlers: wish.handlers,
          only: wish.only,
          never: wish.never,
          version: wish.range?.map(([sign, [text]]) => `${sign}${text}`).join(' '),
        }),
      };
      const candidate: Candidate = {
        ...WORKER,
        ...its,
        tags: its.tags.map(([name, value]) => (value === null ? name : `${name}=${value[0]}`)),
        handlers: its.handlers ?? undefined,
        queues: its.queues ?? undefined,
        version: its.version[0],
      };
      const found = obstacles(placed, candidate);
      assert.deepEqual(found.map(short).toSorted(), [...expected].toSorted());
      assert.equal(eligible(placed, candidate), expected.size === 0);
      assert.equal(new Set(found.map(sayObstacle)).size, found.length);
    }),
    { numRuns: 2000 },
  );
});

function short(obstacle: Obstacle): string {
  if (obstacle.kind === 'queue') return `queue ${obstacle.queue}`;
  if (obstacle.kind === 'handler') return `handler ${obstacle.handler}`;
  if (obstacle.kind === 'tag') return `tag ${obstacle.tag}`;
  return obstacle.kind === 'credential' ? `tag credential:${obstacle.credential}` : obstacle.kind;
}

test('a wrong placement is refused with the place and the rule', () => {
  const many = (text: string): readonly string[] => Array.from({ length: 51 }, (_, n) => `${text}${n}`);
  const wrong: readonly (readonly [unknown, string, RegExp])[] = [
    [{ require: ['gpu'] }, 'placement', /"require" is not one of its keys requires, handlers, credentials, only/],
    [{ toString: 1 }, 'placement', /"toString" is not one/],
    [{ requires: 'gpu' }, 'placement.requires', /a list of at most 50 entries/],
    [{ requires: null }, 'placement.requires', /a list/],
    [{ requires: many('tag') }, 'placement.requires', /at most 50/],
    [{ requires: ['gpu', 'a b'] }, 'placement.requires', /"a b" is not a test of tags/],
    [{ requires: [5] }, 'placement.requires', /type number/],
    // oxlint-disable-next-line no-sparse-arrays
    [{ requires: [, 'gpu'] }, 'placement.requires', /type undefined/],
    [{ handlers: ['a b'] }, 'handler name', /"a b" is not 1 to 63/],
    [{ handlers: {} }, 'placement.handlers', /a list/],
    [{ credentials: [''] }, 'placement.credentials', /it is empty/],
    [{ credentials: [7] }, 'placement.credentials', /it must be a text/],
    [{ credentials: ['my key'] }, 'placement.credentials', /its name has only/],
    [{ credentials: ['k'.repeat(190)] }, 'placement.credentials', /at most 200/],
    [{ credentials: ['A!=B'] }, 'placement.credentials', /a name must not contain "!="/],
    [{ only: ['An na'] }, 'worker name', /"An na" is not 1 to 127/],
    [{ only: 'anna' }, 'placement.only', /a list/],
    [{ never: [undefined] }, 'worker name', /type undefined/],
    [{ never: many('w') }, 'placement.never', /at most 50/],
    ...[0, -1, 1.5, Number.NaN, '2', null, 1_000_001].map(
      (maxPerWorker) => [{ maxPerWorker }, 'placement.maxPerWorker', /from 1 to 1000000/] as const,
    ),
    [{ version: 'new' }, 'placement.version', /"new" is not a range of versions/],
    [{ version: 2 }, 'placement.version', /type number/],
    [{ prefer: { tag: 'gpu' } }, 'placement.prefer', /a list/],
    [{ prefer: ['gpu'] }, 'placement.prefer', /an object with a tag and a weight/],
    [{ prefer: [null] }, 'placement.prefer', /an object with/],
    [{ prefer: [{ tag: 'gpu', wieght: 5 }] }, 'placement.prefer', /nothing else/],
    [{ prefer: [{ weight: 5 }] }, 'placement.prefer', /type undefined/],
    [{ prefer: [{ tag: 'gpu', weight: 0.5 }] }, 'placement.prefer', /from -1000000 to 1000000/],
    [{ prefer: [{ tag: 'gpu', weight: -1_000_001 }] }, 'placement.prefer', /whole number/],
    [{ affinity: '' }, 'placement.affinity', /empty/],
    [{ affinity: 5 }, 'placement.affinity', /must be a text/],
    ...[null, undefined, 5, 'gpu', []].map((input) => [input, 'placement', /must be an object/] as const),
  ];
  for (const [input, field, reason] of wrong) {
    const refused = refusal(input);
    assert.equal(refused.field, field, JSON.stringify(input));
    assert.match(refused.message, reason);
  }
});
