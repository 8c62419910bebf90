import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { AnnouncePace } from './announce-pace.ts';

test('a worker that announces in a loop is refused before anybody is asked, and another one is not', () => {
  let now = 0;
  const pace = new AnnouncePace({ monotonic: () => now }, { rate: 10, burst: 20 });
  const refused = (worker: string): number | undefined => {
    try {
      pace.admit(worker);
      return undefined;
    } catch (error) {
      assert.ok(isEngineError(error, 'TOO_MANY'));
      return error.details?.['retryAfterMs'] as number;
    }
  };
  for (let n = 0; n < 20; n++) assert.equal(refused('loud'), undefined);
  assert.equal(refused('loud'), 100);
  assert.equal(refused('quiet'), undefined);
  now += 100;
  assert.deepEqual([refused('loud'), refused('loud')], [undefined, 100], 'one more for each tenth of a second');
  now += 3_600_000;
  assert.deepEqual(
    Array.from({ length: 21 }, () => refused('loud')).filter((ms) => ms !== undefined),
    [100],
  );
});
