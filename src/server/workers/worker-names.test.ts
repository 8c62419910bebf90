import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { type NameHolder, WorkerNames } from './worker-names.ts';

function holder(id: string): NameHolder & { silent: boolean; times: number } {
  const one = {
    holder: id,
    silent: false,
    times: 0,
    isSilent: () => one.silent,
    replaced: () => {
      one.times++;
    },
  };
  return one;
}

const isTaken = (error: unknown): boolean => isEngineError(error, 'CONFLICT');

test('a name has one holder, whichever link it comes by', () => {
  const names = new WorkerNames();
  const [first, other] = [holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', first);
  assert.throws(() => names.take('box', other), isTaken);
  names.take('laptop', other);
  assert.deepEqual([first.times, other.times], [0, 0]);
});

test('the same incarnation replaces its own, and another one waits until the holder is silent', () => {
  const names = new WorkerNames();
  const [first, again, other] = [holder('box/1'), holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', again);
  assert.deepEqual([first.times, again.times], [1, 0]);
  assert.throws(() => names.take('box', other), isTaken);
  again.silent = true;
  names.take('box', other);
  assert.deepEqual([again.times, other.times], [1, 0]);
});

test('only the holder of a name releases it', () => {
  const names = new WorkerNames();
  const [first, again, other] = [holder('box/1'), holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', again);
  assert.equal(names.release('box', first), false);
  assert.throws(() => names.take('box', other), isTaken);
  assert.equal(names.release('box', again), true);
  names.take('box', other);
  assert.equal(names.release('nobody', other), false);
});
