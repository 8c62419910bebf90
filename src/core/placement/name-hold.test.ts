import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepsName, NAME_SILENT_MS, type NameHold, nameTaken } from './name-hold.ts';
import { WORKER_STATES } from './worker.ts';

const HOLD: NameHold = { holder: 'box/1', process: 'p', state: 'online', silentMs: NAME_SILENT_MS, nodeEnded: false };
const OTHER = { holder: 'box/2', process: 'q' };

test('a worker that is heard of keeps its name from others', () => {
  assert.equal(keepsName(HOLD, OTHER), true);
  assert.equal(keepsName({ ...HOLD, silentMs: NAME_SILENT_MS + 1 }, OTHER), false);
  const kept = WORKER_STATES.filter((state) => keepsName({ ...HOLD, state }, OTHER));
  assert.deepEqual(kept, ['starting', 'online', 'draining']);
  assert.match(nameTaken('box').message, /box is connected already/);
});

test('the same start may come again at another process, and a process decides about its own', () => {
  assert.equal(keepsName(HOLD, { ...OTHER, holder: 'box/1' }), false);
  assert.equal(keepsName(HOLD, { ...OTHER, process: 'p' }), false);
});

test('a name that a worker had at a node that has started again is free', () => {
  assert.equal(keepsName({ ...HOLD, nodeEnded: true }, OTHER), false);
});
