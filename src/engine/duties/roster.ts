import { fault } from '../../core/errors.ts';
import type { Engine } from '../engine.ts';
import { type Log, SILENT } from '../log.ts';
import { ArtifactSweeper } from './artifact-sweeper.ts';
import { Auditor } from './auditor.ts';
import { Cron } from './cron.ts';
import { type Duty, Keeper } from './duty.ts';
import { EventTriggers } from './event-triggers.ts';
import { Pruner } from './pruner.ts';
import { Reaper } from './reaper.ts';
import { AFTER_COMMIT_MS, Sequencer } from './sequencer.ts';
import { Stager } from './stager.ts';

export interface RosterOptions {
  readonly engine: Engine;
  /** Names this process among those that share the store. */
  readonly holder: string;
  readonly log?: Log;
  /** The term of a duty. */
  readonly ttlMs?: number;
  /** Whether the duties are left to others for now. */
  readonly yields?: () => Promise<boolean>;
}

export const DEFAULT_DUTY_MS = 6000;
/** `feed` is there only where the store does not number events itself. */
export const DUTIES = ['stager', 'reaper', 'feed', 'cron', 'pruner', 'auditor', 'triggers'] as const;
/** Beside them, in processes that reach the place where bytes of artifacts lie. */
const ARTIFACTS = 'artifacts';
/** After a commit, while there are triggers that listen: so that many commits share one look. */
const LISTENING_MS = 50;
export type DutyName = (typeof DUTIES)[number] | typeof ARTIFACTS;
const ALL: readonly DutyName[] = [...DUTIES, ARTIFACTS];

/** The housekeeping of one process: tries to take every duty, and runs those that it holds. */
export class Roster {
  readonly #keepers: Readonly<Partial<Record<DutyName, Keeper>>>;
  readonly #stager: Stager;

  constructor(options: RosterOptions) {
    const { engine, holder, log = SILENT, ttlMs = DEFAULT_DUTY_MS, yields } = options;
    const keep = (duty: Duty): Keeper =>
      new Keeper(duty, { store: engine.store, world: engine.world, log, holder, ttlMs, yields });
    this.#stager = new Stager(engine);
    const stager = keep(this.#stager);
    const reaper = keep(new Reaper(engine));
    const feed = engine.store.capabilities.numbersEvents ? undefined : keep(new Sequencer(engine));
    const events = new EventTriggers(engine);
    const triggers = keep(events);
    const removeBlobs = engine.store.capabilities.whole ? engine.removeBlobs : undefined;
    const artifacts = removeBlobs && keep(new ArtifactSweeper(engine, removeBlobs, log));
    this.#keepers = {
      stager,
      reaper,
      ...(feed === undefined ? {} : { feed }),
      cron: keep(new Cron(engine)),
      pruner: keep(new Pruner(engine)),
      auditor: keep(new Auditor(engine, log)),
      triggers,
      ...(artifacts === undefined ? {} : { artifacts }),
    };
    const listening = (): void => {
      if (events.active) triggers.nudge(LISTENING_MS);
    };
    engine.listen({
      due: (inMs) => stager.nudge(inMs),
      leased: (inMs) => reaper.nudge(inMs),
      committed: () => {
        feed?.nudge(AFTER_COMMIT_MS);
        listening();
      },
      changed: listening,
      triggersChanged: () => triggers.nudge(0),
    });
  }

  keeper(name: DutyName): Keeper {
    const keeper = this.#keepers[name];
    if (keeper === undefined) throw fault('NOT_FOUND', { kind: 'duty', id: name });
    return keeper;
  }

  /** Names of the duties that this store needs. */
  names(): readonly DutyName[] {
    return ALL.filter((name) => this.#keepers[name] !== undefined);
  }

  /** Names of the duties that this process holds. */
  held(): readonly DutyName[] {
    return ALL.filter((name) => this.#keepers[name]?.holding);
  }

  /** A held duty wants hints of other processes, also while nothing in this one waits. */
  get expects(): boolean {
    return this.#stager.expects && this.keeper('stager').holding;
  }

  /** `apartMs`: between two duties. What a first pass costs then delays no task by more than one duty. */
  start(apartMs = 0): void {
    for (const [at, keeper] of Object.values(this.#keepers).entries()) keeper.start(at * apartMs);
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#keepers).map((keeper) => keeper.stop()));
  }

  /** One pass of one duty, for tests and commands. */
  tick(name: DutyName): Promise<number> {
    return this.keeper(name).tick();
  }
}
