import { pause } from '../core/pause.ts';
import type { World } from '../core/world.ts';

const FIRST_MS = 100;
const LONGEST_MS = 2000;

/** The wait after so many tries: twice as long each time, and up to half of it shorter, so that not all come back at once. */
export function retryPause({ timers, random }: Pick<World, 'timers' | 'random'>, tries: number): Promise<void> {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** tries);
  return pause(timers, longest * (0.5 + random() / 2));
}
