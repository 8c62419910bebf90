import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Duration } from './duration.ts';
import { formatDuration, MAX_DURATION_MS, parseDuration } from './duration.ts';
import { isEngineError } from './errors.ts';

function refusal(input: unknown, field?: string): string {
  try {
    parseDuration(input as Duration, field);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return error.message;
  }
  return assert.fail(`${String(input)} was accepted`);
}

test('a duration is read from text with units or from a number of milliseconds', () => {
  const readings: readonly (readonly [Duration, number])[] = [
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1w', 604_800_000],
    ['1w2d3h4m5s6ms', 604_800_000 + 172_800_000 + 10_800_000 + 240_000 + 5_000 + 6],
    ['90m', 5_400_000],
    ['0s', 0],
    [0, 0],
    [1_500, 1_500],
  ];
  for (const [input, ms] of readings) assert.equal(parseDuration(input), ms, String(input));
});

test('an ambiguous text is refused, and the error names it', () => {
  const texts = [
    '',
    '30',
    's',
    '30 s',
    ' 30s',
    '30S',
    '5M',
    '1.5h',
    '-5s',
    '+5s',
    '1e3ms',
    '30m1h',
    '1s1s',
    '5 minutes',
  ];
  for (const text of texts) assert.ok(refusal(text).includes(JSON.stringify(text)), text);
});

test('a number that is not a whole count of milliseconds is refused, and so is anything that is no duration', () => {
  for (const input of [Number.NaN, Infinity, 0.5, null, undefined, true, {}, [5], 5n]) refusal(input);
});

test('a duration below zero or above 100 years is refused', () => {
  assert.equal(parseDuration(MAX_DURATION_MS), MAX_DURATION_MS);
  assert.match(refusal(MAX_DURATION_MS + 1), /100 years/);
  assert.match(refusal(-1), /-1 is not between/);
  assert.match(refusal('99999999999999999999999w'), /100 years/);
  refusal(`${'9'.repeat(400)}w`);
});

test('the error names the field and shows only the beginning of a long text', () => {
  assert.match(refusal('soon', 'timeout'), /^The timeout is not valid: "soon"/);
  assert.ok(refusal('x'.repeat(10_000)).length < 250);
});

test('a duration is written exactly, with its largest units first', () => {
  assert.equal(formatDuration(0), '0ms');
  assert.equal(formatDuration(5_400_000), '1h30m');
  assert.equal(formatDuration(1_500), '1s500ms');
  assert.equal(formatDuration(604_800_000), '1w');
});

test('what is written is read back as the same duration', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => parseDuration(formatDuration(ms)) === ms),
  );
});

test('formatting a negative or broken duration is a bug', () => {
  for (const ms of [-1, 0.5, Number.NaN, Infinity]) {
    assert.throws(
      () => formatDuration(ms),
      (error: unknown) => isEngineError(error, 'INTERNAL'),
    );
  }
});
