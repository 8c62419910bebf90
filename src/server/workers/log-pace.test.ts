import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogPace } from './log-pace.ts';

const MIB = 1024 * 1024;

test('what comes in a burst is taken at once, and what comes without end at an even pace', () => {
  let now = 0;
  const pace = new LogPace(() => now);
  let taken = 0;
  for (let i = 0; i < 16; i++) {
    assert.equal(pace.waitMs, 0);
    pace.took(MIB / 16);
    taken += MIB / 16;
  }
  while (now < 10_000) {
    now += pace.waitMs;
    pace.took(MIB / 16);
    taken += MIB / 16;
    now += 0.001;
  }
  assert.ok(taken > 39 * MIB && taken < 42 * MIB, `${taken / MIB} MiB in ten seconds`);
});

test('who was quiet has no more at once than anybody', () => {
  let now = 0;
  const pace = new LogPace(() => now);
  now = 3_600_000;
  pace.took(2 * MIB);
  assert.equal(pace.waitMs, 256);
  now += 256;
  assert.equal(pace.waitMs, 0);
});
