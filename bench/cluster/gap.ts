/** How long nothing began though something could have. */

export interface Wait {
  /** When it could have begun: its push was answered. */
  readonly readyAt: number;
  readonly startedAt: number;
}

/** The longest span within the window in which some task waited and none began; all times in the same unit. */
export function longestGap(waits: readonly Wait[], from: number, until: number): number {
  const byStart = waits.toSorted((a, b) => a.startedAt - b.startedAt);
  // Of those that begin at this place of the order or later: since when the first of them was ready.
  const readySince: number[] = [];
  for (let i = byStart.length - 1, least = Number.POSITIVE_INFINITY; i >= 0; i--) {
    least = Math.min(least, (byStart[i] as Wait).readyAt);
    readySince[i] = least;
  }
  return byStart.reduce((longest, { startedAt }, i) => {
    const before = byStart[i - 1]?.startedAt ?? from;
    const since = Math.max(before, readySince[i] as number, from);
    return Math.max(longest, Math.min(startedAt, until) - since);
  }, 0);
}
