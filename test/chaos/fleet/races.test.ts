import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaled } from '../../support/scale.ts';
import { ground } from './ground.ts';

const ROUNDS = scaled(10, 100);
const MOST = 5;

for (const store of ['sqlite', 'postgres'] as const) {
  test(`${store}: two checkers that start at the same instant never make more workers than the most, ${ROUNDS} times`, async (t) => {
    const { engine, call, staff, mostDuring, pids } = await ground(t, store);
    for (let round = 0; round < ROUNDS; round++) {
      const pool = `race-${round}`;
      // So long that no worker ends meanwhile and makes room; nor does one that found nothing at once, or a ticket, on a busy host.
      const task = { queue: pool, handler: 'echo', input: { delay_ms: 600_000 } };
      await engine.pushMany(Array.from({ length: 4 * MOST }, () => task));
      await engine.pools.put(pool, { policy: { max: MOST, startMs: '1h' }, worker: { life: 'stay' } });
      const launchedBy = async (checkers: number): Promise<readonly number[]> => {
        const checks = await Promise.all(Array.from({ length: checkers }, () => call('pool', 'check', pool, '--json')));
        for (const { code, stderr } of checks) assert.equal(code, 0, stderr);
        return checks.map((check) => Number(check.objects()[0]?.['launched']));
      };
      // A third one looks while the workers of the first come: each is counted by its ticket or by itself, never by both or by neither.
      const both = (async () => [await launchedBy(2), await launchedBy(1)] as const)();
      const most = await mostDuring(pool, both);
      const [first, again] = await both;
      assert.equal(sum(first), MOST, `round ${round}: ${first}`);
      assert.equal(sum(again), 0, `round ${round}, once more: ${again}`);
      assert.equal(most, MOST, `round ${round}`);
      assert.equal((await staff(pool)).there, MOST, `round ${round}`);
      const started = await pids(pool);
      assert.equal(new Set(started).size, MOST);
      for (const pid of started) process.kill(pid, 'SIGKILL');
      await engine.pools.remove(pool);
    }
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
