import { spawnSync } from 'node:child_process';

/** Of the Debian package prometheus. */
const PROMTOOL = 'promtool';

/** What Prometheus itself says of a file: undefined where it is not installed, nothing where all is well. */
export function promtool(args: readonly string[], cwd: string): string | undefined {
  const { error, status, stdout, stderr } = spawnSync(PROMTOOL, args, { cwd, encoding: 'utf8' });
  if (error !== undefined) return undefined;
  return status === 0 ? '' : `${stdout}${stderr}`;
}
