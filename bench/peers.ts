/** Installs the peers of `bench/package.json` when they are missing or not the pinned ones. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const here = import.meta.dirname;

export function installPeers(): void {
  const wanted = json(join(here, 'package.json'))['dependencies'];
  const missing = Object.entries(wanted ?? {}).filter(([name, version]) => installed(name) !== version);
  if (missing.length === 0) return;
  console.error(
    `installing ${missing.map(([name, version]) => `${name} ${String(version)}`).join(', ')} into bench/node_modules`,
  );
  const { status, error } = spawnSync('npm', ['ci', '--prefix', here], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` }, // npm on our own Node
  });
  if (status !== 0) throw new Error(`"npm ci --prefix bench" failed: ${error?.message ?? `exit status ${status}`}`);
}

function installed(name: string): unknown {
  try {
    return json(join(here, 'node_modules', name, 'package.json'))['version'];
  } catch {
    return undefined;
  }
}

function json(file: string): Record<string, object | string | undefined> {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  return value as Record<string, object | string | undefined>;
}
