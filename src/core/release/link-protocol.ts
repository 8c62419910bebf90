/** The versions of the protocol between worker and node that this program speaks. A node speaks that of the release before as well. */
export const LINK_PROTOCOL: ProtocolRange = [1, 1];

/** The oldest and the newest. */
export type ProtocolRange = readonly [oldest: number, newest: number];

/** The newest version that both speak; undefined: there is none. Who says nothing speaks the first. */
export function commonProtocol(
  one: ProtocolRange | undefined = [1, 1],
  other: ProtocolRange = LINK_PROTOCOL,
): number | undefined {
  const newest = Math.min(one[1], other[1]);
  return newest >= Math.max(one[0], other[0]) ? newest : undefined;
}

export function isProtocolRange(value: unknown): value is ProtocolRange {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [oldest, newest] = value as readonly unknown[];
  return isVersion(oldest) && isVersion(newest) && oldest <= newest;
}

function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 10_000;
}
