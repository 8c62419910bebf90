import { execFile } from 'node:child_process';

/** The first that computes merges beside all folders. */
const OLDEST = [2, 38] as const;
const LONGEST_MS = 10_000;

/** Why workspaces of git cannot be made on this host; undefined: they can. */
export async function gitProblem(path: string | undefined): Promise<string | undefined> {
  const env = { PATH: path ?? '/usr/bin:/bin', LC_ALL: 'C' };
  // Not promisified: in the bundle execFile is a function of ours, of which only a plain one could be made.
  const said = await new Promise<string | undefined>((resolve) => {
    execFile('git', ['--version'], { env, timeout: LONGEST_MS }, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
  return said === undefined ? 'there is no git on this host' : olderThanNeeded(said);
}

export function olderThanNeeded(said: string): string | undefined {
  const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(said) ?? [];
  if (major === undefined) return 'its git does not say which version it is';
  const [most, least] = [Number(major) - OLDEST[0], Number(minor) - OLDEST[1]];
  if (most > 0 || (most === 0 && least >= 0)) return undefined;
  return `its git is ${major}.${minor}, and ${OLDEST.join('.')} is the oldest that will do`;
}
