/** Of lists and maps within each other, in whatever comes from outside. */
export const MOST_DEPTH = 64;

/** Level by level, so that depth costs no calls. Stops when it is too deep. */
export function depthOf(value: unknown): number {
  let level: readonly unknown[] = [value];
  for (let depth = 0; ; depth++) {
    const inside = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
    if (inside.length === 0 || depth > MOST_DEPTH) return depth;
    level = inside;
  }
}
