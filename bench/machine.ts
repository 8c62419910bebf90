/** Where and on what a run was made. */
import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, statfsSync, writeSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';

const TMPFS = 0x01021994;

/** `dir`: where the databases are; `database`: what they are. */
export function describe(dir: string, database: string): string {
  const cores = cpus();
  const memory = statfsSync(dir).type === TMPFS ? ', in memory (tmpfs): durability says nothing here, set TMPDIR' : '';
  return [
    `commit ${commit()}`,
    `${cores.length} cores (${cores[0]?.model.trim() ?? 'unknown'})`,
    `Node ${process.version}`,
    database,
    `fdatasync ${fsyncMicros(join(dir, 'fsync')).toFixed(0)} µs${memory}`,
    `load ${loadavg()[0]?.toFixed(1)}`,
  ].join(' · ');
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') ? ' + changes' : '');
  } catch {
    return 'none';
  }
}

/** The median of some writes of 8 KiB, each made durable. */
function fsyncMicros(file: string): number {
  const fd = openSync(file, 'w');
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(fd, Buffer.alloc(8192));
    fdatasyncSync(fd);
    return (performance.now() - start) * 1000;
  }).toSorted((a, b) => a - b);
  closeSync(fd);
  return times[100] ?? 0;
}
