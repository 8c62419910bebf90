/** Days of arrivals: when tasks come, and how long each of them takes. The same seed is the same day. */

export interface Arrival {
  readonly at: number;
  /** Seconds, like all times here. */
  readonly takes: number;
}

export const DAY = 86_400;
/** Half of the tasks take less; one in a hundred takes more than seven minutes. */
const MIDDLE_TAKES = 40;
const SPREAD = 1;

export type Random = () => number;

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** As many a minute all day long. */
const FLAT = 6;
/** Twice as many at noon as on the average of a day, and next to none at midnight. */
const AT_NOON = 12;
const BATCHES = 16;
const BATCH = 150;

export const DAYS: Readonly<Record<'flat' | 'daily' | 'bursty', (random: Random) => readonly Arrival[]>> = {
  flat: (random) => poisson(random, FLAT, () => 1),
  daily: (random) => poisson(random, AT_NOON, (at) => (1 - Math.cos((2 * Math.PI * at) / DAY)) / 2),
  bursty: (random) =>
    Array.from({ length: BATCHES }, () => random() * DAY)
      .sort((a, b) => a - b)
      .flatMap((at) => Array.from({ length: BATCH }, (_, i) => ({ at: at + i * 0.01, takes: takesOf(random) }))),
};

/** `share`: of the rate, at a time. */
function poisson(random: Random, aMinute: number, share: (at: number) => number): readonly Arrival[] {
  const arrivals: Arrival[] = [];
  for (let at = 0; ; ) {
    at -= (Math.log(1 - random()) * 60) / aMinute;
    if (at >= DAY) return arrivals;
    if (random() < share(at)) arrivals.push({ at, takes: takesOf(random) });
  }
}

function takesOf(random: Random): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return MIDDLE_TAKES * Math.exp(SPREAD * normal);
}
