import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freshDatabase } from '../../test/support/postgres.ts';
import { onTheNetwork, postgresContract } from '../../test/support/postgres-contract.ts';
import { VirtualWorld } from '../testing.ts';
import { Roster } from './duties/roster.ts';
import { Engine } from './engine.ts';
import type { Fire, ScheduleRequest } from './schedules.ts';

// What `schedules.test.ts` and `duties/cron.test.ts` prove on SQLite, on a Postgres whose clock is moved by hand.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const contract = await postgresContract({ name: 'schedules', url: await freshDatabase('schedules') });

async function rig(t: TestContext, wall = '2026-01-05T12:00:30Z') {
  const world = new VirtualWorld({ wall: Date.parse(wall) });
  const store = await contract.open({ world });
  const engine = new Engine({ store, world: onTheNetwork(world) });
  const roster = new Roster({ engine, holder: 'a' });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  return {
    engine,
    pass: () => roster.tick('cron'),
    /** Another node on the same store. */
    other: (holder: string) => {
      const more = new Roster({ engine: new Engine({ store, world: onTheNetwork(world) }), holder });
      t.after(() => more.stop());
      return more;
    },
    elapse: (ms: number): Promise<void> => contract.pass?.(ms, store, { world }) ?? Promise.resolve(),
    setBack: (ms: number): Promise<void> => contract.setBack?.(ms, store) ?? Promise.resolve(),
    put: (request: Partial<ScheduleRequest>) =>
      engine.schedules.put({ name: 'nightly', queue: 'q', handler: 'h', ...request }),
    told: async (): Promise<readonly string[]> => (await engine.schedules.history('nightly')).map(line).reverse(),
  };
}

const utc = (at: number): string => new Date(at).toISOString().replace(':00.000Z', '');
const line = ({ outcome, slot, before }: Fire): string =>
  `${outcome} ${utc(slot)}${before === undefined ? '' : ` until ${utc(before)}`}`;

test('on Postgres, a node that was down for a day fires by the policy of each schedule', async (t) => {
  const policies = [
    ['skip', 0, ['skipped 2026-01-05T13:00 until 2026-01-06T13:00']],
    ['latest', 1, ['skipped 2026-01-05T13:00 until 2026-01-06T12:00', 'fired 2026-01-06T12:00']],
    ['all', 24, Array.from({ length: 24 }, (_, n) => `fired ${utc(Date.UTC(2026, 0, 5, 13 + n))}`)],
  ] as const;
  for (const [missed, tasks, history] of policies) {
    await t.test(missed, async (own) => {
      const { engine, elapse, put, pass, told } = await rig(own);
      await put({ cron: '0 * * * *', missed });
      await elapse(DAY + 10 * MINUTE);
      assert.equal(await pass(), tasks);
      assert.deepEqual(await told(), history);
      assert.equal(await pass(), 0);
      assert.equal((await engine.list({ limit: 100 })).length, tasks);
    });
  }
});

test('on Postgres, each night of the two changes of clocks has its one task', async (t) => {
  for (const day of ['2026-03-28T12:00:00Z', '2026-10-24T12:00:00Z']) {
    await t.test(day, async (own) => {
      const { engine, elapse, put, pass } = await rig(own, day);
      await put({ cron: '30 2 * * *', timezone: 'Europe/Berlin', missed: 'all' });
      for (let hour = 0; hour < 24; hour++) {
        await elapse(HOUR);
        await pass();
      }
      assert.equal((await engine.list({ limit: 10 })).length, 1);
    });
  }
});

test('on Postgres, two nodes that come back after a day fire each fire time once between them', async (t) => {
  const { engine, elapse, put, told, pass, other } = await rig(t);
  await put({ cron: '*/15 * * * *', missed: 'all' });
  await elapse(DAY);
  const second = other('b');
  const passes = await Promise.allSettled([pass(), second.tick('cron'), pass(), second.tick('cron')]);
  assert.ok(passes.some(({ status }) => status === 'fulfilled'));
  const fired = await told();
  assert.equal(fired.length, 96);
  assert.equal(new Set(fired).size, 96);
  assert.equal((await engine.list({ limit: 200 })).length, 96);
});

test('on Postgres, whatever the clock does, no fire time fires twice', async (t) => {
  for (const missed of ['skip', 'latest', 'all'] as const) {
    await t.test(missed, async (own) => {
      const { elapse, setBack, put, pass, told } = await rig(own);
      await put({ cron: '*/10 * * * *', missed });
      for (const step of [HOUR, -3 * HOUR, 30 * MINUTE, 5 * HOUR, -10 * MINUTE, -DAY, 2 * DAY]) {
        await (step < 0 ? setBack(-step) : elapse(step));
        for (let i = 0; i < 2; i++) {
          await elapse(10 * MINUTE);
          await pass();
        }
        // A program that starts puts it again; its place stays.
        await put({ cron: '*/10 * * * *', missed, input: step });
      }
      const fired = (await told()).filter((text) => text.startsWith('fired'));
      assert.ok(fired.length > 2, missed);
      assert.equal(new Set(fired).size, fired.length, missed);
      assert.deepEqual(fired.toSorted(), fired, missed);
    });
  }
});
