import { refuse } from './refuse.ts';

/** The one of two spellings that is given; null counts as absent. */
export function eitherOf<T>(
  [one, a]: readonly [name: string, value: T | null | undefined],
  [other, b]: readonly [name: string, value: T | null | undefined],
): T | undefined {
  const given = [a ?? undefined, b ?? undefined].filter((value) => value !== undefined);
  if (given.length === 2) throw refuse(one, `${other} is given too; they mean the same, so give one of them`);
  return given[0];
}
