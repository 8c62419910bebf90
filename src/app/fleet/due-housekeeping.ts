import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LeaderSnapshot } from '../../engine/duties/leader.ts';
import { type DutyName, Roster } from '../../engine/duties/roster.ts';
import type { Engine } from '../../engine/engine.ts';
import { SILENT } from '../../engine/log.ts';

/** What has to be done before work can be counted: schedules fire, due tasks become ready, expired leases are taken back. */
const BEFORE: readonly DutyName[] = ['cron', 'stager', 'reaper'];
/** A backlog of more is left to those who stay. */
const MOST_PASSES = 100;

/**
 * Does what is due, where no process stays that would. A duty that another process holds is left to it, and all of them to a leader, as far
 * as there is one.
 */
export async function doDueHousekeeping(engine: Engine): Promise<void> {
  const roster = rosterFor(engine);
  try {
    for (const name of BEFORE) {
      for (let pass = 0; pass < MOST_PASSES; pass++) if ((await roster.tick(name)) === 0) break;
    }
  } finally {
    await roster.stop();
  }
}

/** For single passes of duties. */
export function rosterFor(engine: Engine): Roster {
  const leader = new LeaderSnapshot(engine.store, engine.world);
  const holder = `${hostname()}/${process.pid}/${randomUUID()}`;
  return new Roster({ engine, log: SILENT, holder, yields: () => leader.isThere() });
}
