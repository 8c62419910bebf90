/** What is chosen by the commit: always the same for one, another for the next. */
import { execFileSync } from 'node:child_process';
import { ROOT } from './job.ts';

/** Of the checkout, or of no repository at all. */
export function commitOfCheckout(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '0';
  }
}

/** One of so many, from 1. */
export function chosenBy(commit: string, count: number): number {
  return 1 + Number(BigInt(`0x${commit}`) % BigInt(count));
}
