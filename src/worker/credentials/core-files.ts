import { spawn } from 'node:child_process';

/**
 * From now on this process, and what it starts, writes no core file: one would have its secrets in it. Best effort: only a system with
 * `prlimit` lets another program set that. Programs with credentials are started under `ulimit -c 0` besides.
 */
export function forbidCoreFiles(path: string | undefined): void {
  const env = path === undefined ? {} : { PATH: path };
  const limits = spawn('prlimit', ['--core=0:0', '--pid', String(process.pid)], { env, stdio: 'ignore' });
  limits.on('error', () => {}).unref();
}
