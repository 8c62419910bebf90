import { fault } from '../errors.ts';

/** Releases have plain versions, so that any two of them have an order that nobody has to look up. */
const PLAIN = /^\d{1,6}\.\d{1,6}\.\d{1,6}$/;

export function isReleaseVersion(text: unknown): text is string {
  return typeof text === 'string' && PLAIN.test(text);
}

export function checkReleaseVersion(field: string, text: unknown): string {
  if (isReleaseVersion(text)) return text;
  throw fault('INVALID_INPUT', { field, problem: 'it is not the version of a release, such as 1.4.2' });
}

/** Below zero: the first is older. */
export function compareReleases(a: string, b: string): number {
  const theirs = b.split('.').map(Number);
  const differences = a.split('.').map((part, i) => Number(part) - (theirs[i] as number));
  return differences.find((one) => one !== 0) ?? 0;
}

/** The newer of the two; either may be missing. */
export function newerRelease(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareReleases(a, b) >= 0 ? a : b;
}
