import type { Engine } from '../engine.ts';
import { type Log, SILENT } from '../log.ts';
import { Auditor } from './auditor.ts';
import { Cron } from './cron.ts';
import { type Duty, Keeper } from './duty.ts';
import { Pruner } from './pruner.ts';
import { Reaper } from './reaper.ts';
import { Stager } from './stager.ts';

export interface RosterOptions {
  readonly engine: Engine;
  /** Names this process among those that share the store. */
  readonly holder: string;
  readonly log?: Log;
  /** The term of a duty. */
  readonly ttlMs?: number;
}

export const DEFAULT_DUTY_MS = 6000;
export const DUTIES = ['stager', 'reaper', 'cron', 'pruner', 'auditor'] as const;
export type DutyName = (typeof DUTIES)[number];

/** The housekeeping of one process: tries for every duty and runs those that it holds. */
export class Roster {
  readonly #keepers: Readonly<Record<DutyName, Keeper>>;

  constructor(options: RosterOptions) {
    const { engine, holder, log = SILENT, ttlMs = DEFAULT_DUTY_MS } = options;
    const keep = (duty: Duty): Keeper =>
      new Keeper(duty, { store: engine.store, world: engine.world, log, holder, ttlMs });
    this.#keepers = {
      stager: keep(new Stager(engine)),
      reaper: keep(new Reaper(engine)),
      cron: keep(new Cron(engine)),
      pruner: keep(new Pruner(engine)),
      auditor: keep(new Auditor(engine, log)),
    };
    engine.onDue = (inMs) => this.#keepers.stager.nudge(inMs);
    engine.onLease = (inMs) => this.#keepers.reaper.nudge(inMs);
  }

  keeper(name: DutyName): Keeper {
    return this.#keepers[name];
  }

  /** Names of the duties that this process holds. */
  held(): readonly DutyName[] {
    return DUTIES.filter((name) => this.#keepers[name].holding);
  }

  start(): void {
    for (const keeper of Object.values(this.#keepers)) keeper.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#keepers).map((keeper) => keeper.stop()));
  }

  /** One pass of one duty, for tests and commands. */
  tick(name: DutyName): Promise<number> {
    return this.#keepers[name].tick();
  }
}
