/**
 * How much a test does that can do more or less: the tiers `test` and `merge` are short, `all` is full. The share of `all` that CI
 * runs does what would take too long at full length at the middle of the two.
 */
const scale = process.env.LEASEHOLD_TEST_SCALE;

export const full: boolean = scale === 'full';
/** Whether it does more than in the short run at all: what differs least from its neighbours is left to these. */
export const longer: boolean = full || scale === 'middle';

/** How many runs, seeds or kills: the first number in the short run, the second in the full one, between them by ratio at the middle. */
export function scaled(short: number, long: number): number {
  if (full) return long;
  return scale === 'middle' ? Math.round(Math.sqrt(short * long)) : short;
}
