/** A pgbouncer in front of a test server, gone with its test, whatever ends it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { watchdog } from './postgres.ts';

export interface BouncerOptions {
  readonly mode?: 'transaction' | 'session';
  /** What it takes from clients at the start of a session and forgets: some set `options` here. */
  readonly ignores?: readonly string[];
  /** Connections to the server; few, so that clients really share them. */
  readonly size?: number;
}

export interface Bouncer {
  /** The same database through it. */
  readonly through: (url: string) => string;
  readonly stop: () => Promise<void>;
}

/** Debian puts it where only root looks. */
export function findBouncer(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path));
}

export async function startBouncer(url: string, options: BouncerOptions = {}): Promise<Bouncer> {
  const { mode = 'transaction', ignores = [], size = 3 } = options;
  const program = findBouncer();
  if (program === undefined) throw new Error('there is no pgbouncer');
  const { searchParams, hostname, username, port } = new URL(url.replace('@/', '@localhost/'));
  const folder = mkdtempSync(join(tmpdir(), 'lh-pb-'));
  const own = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (own.uid !== undefined) chownSync(folder, own.uid, own.gid);
  const config = `[databases]
* = host=${searchParams.get('host') ?? hostname} port=${port === '' ? 5432 : port} user=${username}
[pgbouncer]
listen_addr =
unix_socket_dir = ${folder}
listen_port = 6432
auth_type = any
pool_mode = ${mode}
default_pool_size = ${size}
max_client_conn = 500
ignore_startup_parameters = ${['extra_float_digits', ...ignores].join(',')}
`;
  writeFileSync(join(folder, 'pgbouncer.ini'), config);
  const child = spawn(program, [join(folder, 'pgbouncer.ini')], { ...own, stdio: ['ignore', 'ignore', 'pipe'] });
  const guard = watchdog(`kill -KILL ${child.pid}; rm -rf '${folder}'`);
  await ready(child);
  return {
    through: (given) =>
      given
        .replace(/host=[^&]*/, `host=${encodeURIComponent(folder)}`)
        .concat('&port=6432')
        .replace('@localhost', '@'),
    stop: async () => {
      guard.kill('SIGKILL');
      const gone = new Promise((resolve) => void child.once('close', resolve));
      child.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** It refuses root, as the server does. */
function idOf(flag: string): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`pgbouncer ended with ${code}:\n${log}`)));
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + String(chunk)).slice(-4000);
      if (log.includes('process up')) resolve();
    });
  });
}
