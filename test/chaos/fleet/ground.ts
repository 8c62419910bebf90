import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNode } from '../../../src/index.ts';
import { type Answer, type Place, place } from '../../e2e/cli/cli-calls.ts';
import { freshDatabase } from '../../support/postgres.ts';
import type { StoreName } from '../ground.ts';

/** Short, so that what a killed worker held is overdue soon. */
const LEASE = { LEASEHOLD_LEASE_DURATION_SECONDS: '2' };
const LOOK_MS = 25;
const PATIENCE_MS = 120_000;

export interface Staff {
  /** Workers that are there or on their way, as the store has them. */
  readonly there: number;
  readonly alive: number;
}

/** A store without any daemon, and commands on it. Whatever workers a test has started are ended after it. */
export interface Ground extends Pick<Place, 'cwd' | 'url'> {
  readonly engine: Awaited<ReturnType<typeof openNode>>['engine'];
  readonly call: (...args: readonly string[]) => Promise<Answer>;
  readonly status: (pool: string) => Promise<Readonly<Record<string, number>>>;
  readonly staff: (pool: string) => Promise<Staff>;
  /** The most workers at once, as they are seen again and again until the work is over. */
  readonly mostDuring: (pool: string, work: Promise<unknown>) => Promise<number>;
  readonly pids: (pool: string) => Promise<readonly number[]>;
  /** Looks until it is so, and meanwhile hands each look at the staff to `watch`. */
  readonly until: (
    pool: string,
    what: string,
    holds: () => Promise<boolean>,
    watch?: (staff: Staff) => void,
  ) => Promise<void>;
}

export async function ground(t: TestContext, store: StoreName = 'sqlite'): Promise<Ground> {
  // Before the folder of the store is removed.
  let end = async (): Promise<void> => {};
  t.after(() => end());
  const { cwd, url: file, call } = place(t);
  // Few connections each: there are many processes.
  const url = store === 'sqlite' ? file : `${await freshDatabase('fleet')}&pool=2`;
  const settings = store === 'sqlite' ? LEASE : { ...LEASE, LEASEHOLD_STORE: url };
  await call(['queues', 'pause', 'nothing'], '', settings);
  const node = await openNode(url, { duties: false, housekeeping: false });
  const { engine } = node;
  const one: Ground = {
    cwd,
    url,
    engine,
    call: (...args) => call(args, '', settings),
    async status(pool) {
      const { ready, scheduled, running, completed, failed } = await engine.stats(pool);
      return { pending: ready + scheduled, claimed: running, done: completed, poisoned: failed };
    },
    async staff(pool) {
      const { open, members } = (await engine.store.poolLook({ name: pool, staleMs: 30_000 })) ?? {
        open: 0,
        members: [],
      };
      return { there: open + members.length, alive: members.length };
    },
    async mostDuring(pool, work) {
      let over = false;
      const done = work.finally(() => {
        over = true;
      });
      done.catch(() => {});
      let most = 0;
      while (!over) {
        most = Math.max(most, (await one.staff(pool)).there);
        await sleep(LOOK_MS);
      }
      await done;
      return Math.max(most, (await one.staff(pool)).there);
    },
    async pids(pool) {
      const tickets = await engine.store.ticketList({ pool, before: Number.MAX_SAFE_INTEGER, limit: 500 });
      return tickets.flatMap(({ started }) => Number(/^pid (\d+)$/.exec(started ?? '')?.[1] ?? Number.NaN) || []);
    },
    async until(pool, what, holds, watch) {
      const end = Date.now() + PATIENCE_MS;
      for (;;) {
        watch?.(await one.staff(pool));
        if (await holds()) return;
        if (Date.now() > end) {
          const stands = JSON.stringify({ ...(await one.staff(pool)), ...(await one.status(pool)) });
          throw new Error(`it did not come to this: ${what}, but to ${stands}`);
        }
        await sleep(LOOK_MS);
      }
    },
  };
  end = async () => {
    for (const { name } of await engine.pools.list()) for (const pid of await one.pids(name)) kill(pid);
    await node.close();
  };
  return one;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
}
