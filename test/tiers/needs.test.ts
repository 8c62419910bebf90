import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeNeeds, type Need } from './needs.ts';

const THERE: Need = { name: 'promtool', isThere: true, inCi: false };
const OPTIONAL: Need = { name: 'pgbouncer', isThere: false, inCi: false };
const BROWSER: Need = { name: 'chromium', isThere: false, inCi: true };

test('what is there is not spoken of', () => {
  assert.deepEqual(judgeNeeds([THERE], true, []), { told: [], refused: false });
});

test('what is missing is said, and is no failure at home', () => {
  const { told, refused } = judgeNeeds([THERE, OPTIONAL, BROWSER], false, []);
  assert.equal(refused, false);
  assert.equal(told.length, 2);
  assert.match(told[1] ?? '', /There is no chromium/);
});

test('in CI a browser that is missing is a failure, unless it was said that there is none', () => {
  assert.equal(judgeNeeds([OPTIONAL], true, []).refused, false);
  assert.equal(judgeNeeds([OPTIONAL, BROWSER], true, []).refused, true);
  assert.equal(judgeNeeds([OPTIONAL, BROWSER], true, ['chromium']).refused, false);
});
