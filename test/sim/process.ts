import type { World } from '../../src/core/world.ts';
import { Election } from '../../src/engine/duties/election.ts';
import { Roster } from '../../src/engine/duties/roster.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SILENT } from '../../src/engine/log.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import { faultyStore } from './faulty-store.ts';
import type { Run } from './run.ts';
import type { Owner } from './scheduler.ts';

/** Of a leader; the terms of its duties are not longer. */
const TERM = { leaseMs: 900, renewMs: 300 };

/** One simulated process: the real engine and the real duties on the real store, in a world that the seed owns. */
export class SimProcess implements Owner {
  readonly name: string;
  /** What its worker is known by, as those of its predecessors were. */
  readonly workerName: string;
  alive = true;
  frozenUntil = 0;
  readonly engine: Engine;
  readonly roster: Roster;
  /** In a cluster whose nodes have a leader. */
  readonly election: Election | undefined;
  readonly store: SqliteStore;

  private constructor(name: string, workerName: string, store: SqliteStore, world: World, run: Run) {
    this.name = name;
    this.workerName = workerName;
    this.store = store;
    this.engine = new Engine({
      store: faultyStore(store, this, run),
      world,
      leaseMs: run.plan.leaseMs,
      retentionMs: run.plan.retentionMs,
      workerStaleMs: 2 * run.plan.leaseMs,
    });
    const ttlMs = run.led ? Math.min(run.plan.dutyMs, TERM.leaseMs) : run.plan.dutyMs;
    this.roster = new Roster({ engine: this.engine, holder: name, ttlMs });
    const { roster } = this;
    if (run.led) {
      this.election = new Election({ store: this.engine.store, world, log: SILENT, holder: name, ...TERM, roster });
    }
  }

  static async boot(name: string, workerName: string, run: Run): Promise<SimProcess> {
    const { scheduler, rng } = run;
    let owner: SimProcess | undefined;
    const world: World = {
      clock: { wall: () => scheduler.wall, monotonic: () => scheduler.now },
      random: () => rng.float(),
      timers: {
        after: (ms, fn) => scheduler.in(ms, owner as SimProcess, fn),
        soon: (fn) => void scheduler.in(0, owner as SimProcess, fn),
      },
    };
    const store = await openSqlite({ file: run.file, world, boot: 'simulated', statements: run.statements });
    owner = new SimProcess(name, workerName, store, world, run);
    const { engine } = owner;
    store.watch({ wanted: () => engine.waiting, onChange: (lanes, slots) => engine.hint(lanes, slots) });
    if (owner.election === undefined) owner.roster.start();
    else void owner.election.stand();
    return owner;
  }
}
