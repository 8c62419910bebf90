/** `npm run test:all` sets LEASEHOLD_TEST_SCALE=full; anything else is the short run of `npm test`. */
export const full: boolean = process.env.LEASEHOLD_TEST_SCALE === 'full';

/** How many runs, seeds or kills: the first number in the short run, the second in the full one. */
export function scaled(short: number, long: number): number {
  return full ? long : short;
}
