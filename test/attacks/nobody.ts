/** Another user of this host, who has a shell. */
import { spawnSync } from 'node:child_process';

export const NOBODY = 65_534;
export const notRoot = process.getuid?.() === 0 ? false : 'only root can be another user';

export interface Done {
  readonly status: number | null;
  readonly out: string;
}

/** Runs a command of the shell as that user, who gets nothing of our environment. */
export function asNobody(command: string, args: readonly string[] = []): Done {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command, 'sh', ...args], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/bin:/usr/bin' },
    encoding: 'utf8',
  });
  return { status, out: `${stdout}${stderr}` };
}
