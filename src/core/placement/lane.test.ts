import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { normalizeUses } from '../limits/limit.ts';
import { type FairnessInput, type LaneKey, laneText, normalizeFairness, plainLane } from './lane.ts';
import { ANYWHERE, normalizePlacement } from './placement.ts';

const PLAIN = plainLane('mail', 'send');

function refusal(input: unknown): readonly [field: unknown, message: string] {
  try {
    normalizeFairness(input as FairnessInput);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return [error.details?.field, error.message];
  }
  return assert.fail(`${JSON.stringify(input)} was accepted`);
}

test('a plain lane is its queue and handler, and has no rules', () => {
  assert.deepEqual(PLAIN, { queue: 'mail', handler: 'send', placement: ANYWHERE, limits: [], fairness: undefined });
  assert.equal(laneText(PLAIN), '["mail","send"]');
  assert.equal(
    laneText({ ...PLAIN, placement: normalizePlacement({ only: [] }), limits: normalizeUses([]) }),
    laneText(PLAIN),
  );
});

test('the same lane has the same text, however it was asked for', () => {
  const one: LaneKey = {
    ...PLAIN,
    placement: normalizePlacement({ requires: ['gpu', 'disk'], version: '>=1 <2' }),
    limits: normalizeUses(['b', { cost: 2, name: 'a' }]),
    fairness: normalizeFairness('ann'),
  };
  const other: LaneKey = {
    fairness: normalizeFairness({ weight: 1, key: 'ann' }),
    limits: normalizeUses([{ name: 'a', weight: 1, cost: 2 }, { name: 'b' }]),
    placement: normalizePlacement({ version: '<2.0 >=1.0', requires: ['disk', 'gpu', 'disk'] }),
    handler: 'send',
    queue: 'mail',
  };
  assert.equal(laneText(one), laneText(other));
  assert.equal(
    laneText(one),
    '["mail","send",{"requires":["disk","gpu"],"version":">=1.0.0 <2.0.0"},' +
      '[{"name":"a","weight":1,"cost":2},{"name":"b","weight":1,"cost":0}],{"key":"ann","weight":1}]',
  );
});

test('lanes that differ in anything have different texts', () => {
  const lanes: readonly LaneKey[] = [
    PLAIN,
    { ...PLAIN, queue: 'post' },
    { ...PLAIN, handler: 'receive' },
    { ...PLAIN, placement: normalizePlacement({ only: ['anna'] }) },
    { ...PLAIN, placement: normalizePlacement({ never: ['anna'] }) },
    { ...PLAIN, limits: normalizeUses(['api']) },
    { ...PLAIN, limits: normalizeUses([{ name: 'api', key: 'x' }]) },
    { ...PLAIN, limits: normalizeUses([{ name: 'api', weight: 2 }]) },
    { ...PLAIN, fairness: normalizeFairness('ann') },
    { ...PLAIN, fairness: normalizeFairness({ key: 'ann', weight: 2 }) },
  ];
  assert.equal(new Set(lanes.map(laneText)).size, lanes.length);
});

test('a fairness key has a weight, which is one by default', () => {
  assert.deepEqual(normalizeFairness('Ann & Co'), { key: 'Ann & Co', weight: 1 });
  assert.deepEqual(normalizeFairness({ key: 'ann' }), { key: 'ann', weight: 1 });
  assert.deepEqual(normalizeFairness({ key: 'ann', weight: undefined }), { key: 'ann', weight: 1 });
  assert.deepEqual(normalizeFairness({ key: 'ann', weight: 1000 }), { key: 'ann', weight: 1000 });
});

test('a wrong fairness key is refused with the place and the rule', () => {
  for (const input of [null, undefined, 5, { key: 'a', wieght: 2 }]) {
    const [field, message] = refusal(input);
    assert.equal(field, 'fairness');
    assert.match(message, /a key, or an object with a key and a weight/);
  }
  for (const weight of [0, -1, 1.5, 1001, Number.NaN, '2', null]) {
    const [field, message] = refusal({ key: 'a', weight });
    assert.equal(field, 'fairness.weight');
    assert.match(message, /from 1 to 1000/);
  }
  assert.deepEqual(
    ['', 'a\nb', 'x'.repeat(256)].map((key) => refusal(key)[0]),
    ['fairness', 'fairness', 'fairness'],
  );
  for (const input of [{}, [], { key: 7 }, { key: '' }]) assert.equal(refusal(input)[0], 'fairness.key');
});
