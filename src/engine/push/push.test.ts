import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { draft, type PushRequest } from './push.ts';
import { readSpec } from './spec.ts';

const DAY = 86_400_000;
const TASK = { queue: 'mail', handler: 'send' } as const;

test('a unique key is a text, or an object with a key and a window', () => {
  assert.equal(draft({ ...TASK, unique: 'a' }, 7 * DAY).task.unique?.windowMs, DAY);
  assert.equal(draft({ ...TASK, unique: { key: 'a', window: '1h' } }, 7 * DAY).task.unique?.windowMs, 3_600_000);
  const refused: readonly (readonly [unknown, string])[] = [
    [null, 'INVALID_INPUT'],
    [7, 'INVALID_INPUT'],
    [[], 'INVALID_INPUT'],
    [{}, 'INVALID_INPUT'],
    [{ key: 'a', windows: '1h' }, 'UNKNOWN_OPTION'],
    [{ key: 'a', window: '8d' }, 'INVALID_INPUT'],
  ];
  for (const [unique, code] of refused) {
    assert.throws(
      () => draft({ ...TASK, unique } as PushRequest, 7 * DAY),
      (error) => isEngineError(error) && error.code === code,
      JSON.stringify(unique),
    );
  }
});

test('a spec is read as it was written, and one that is gone as the default', () => {
  const { specBody } = draft({ ...TASK, retry: { baseMs: '5s', jitter: 0 } }, DAY);
  assert.deepEqual(readSpec(specBody).retry, { baseMs: 5000, factor: 2, maxMs: 3_600_000, jitter: 0 });
  assert.deepEqual(readSpec(undefined), readSpec(draft(TASK, DAY).specBody));
});

test('a task that acts on the branch of a run is asked for by nobody but Leasehold itself', () => {
  const review = { queue: 'machines', handler: 'loop-git', input: { act: 'list', workspace: 'main' } } as const;
  assert.throws(
    () => draft(review, DAY),
    (error) => isEngineError(error, 'FORBIDDEN'),
  );
  assert.equal(draft({ ...review, own: true }, DAY).handler, 'loop-git');
});
