import type { World } from '../core/world.ts';
import type { Log } from '../engine/log.ts';

/** A correction of the clock moves it by less. */
const JUMP_MS = 300_000;
const LOOK_MS = 10_000;

/**
 * Warns when the calendar clock of this host is set. Tokens with an end and codes go by that clock. Sessions, leases and
 * connections do not, and go on.
 */
export function watchClock({ clock, timers }: World, log: Log): () => void {
  let cancel = (): void => {};
  let ahead = clock.wall() - clock.monotonic();
  const look = (): void => {
    const now = clock.wall() - clock.monotonic();
    const byMs = Math.round(now - ahead);
    if (Math.abs(byMs) > JUMP_MS) {
      log.warn('the clock of this host was set: tokens that expire go by its new time', { byMs });
    }
    ahead = now;
    cancel = timers.after(LOOK_MS, look, { unref: true });
  };
  look();
  return () => cancel();
}
