/**
 * How much a test does that can do more or less: `npm test` is short, `npm run test:all` full. CI, which has ninety minutes for both,
 * climbs the second ladder at the middle of the two.
 */
const scale = process.env.LEASEHOLD_TEST_SCALE;

export const full: boolean = scale === 'full';

/** How many runs, seeds or kills: the first number in the short run, the second in the full one, between them by ratio in CI. */
export function scaled(short: number, long: number): number {
  if (full) return long;
  return scale === 'middle' ? Math.round(Math.sqrt(short * long)) : short;
}
