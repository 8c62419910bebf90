/** A Redis of this run with its own defaults, when the machine has one: `redis-server` on the PATH. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Redis {
  readonly url: string;
  /** Its parent. */
  readonly pid: number;
  /** `Redis 7.0.15`. */
  readonly version: string;
}

/**
 * Ends with its standard input, which the kernel closes however this process ends; killed, it would leave its Redis behind. A Redis
 * that is asked to end, and cannot save because its folder is gone, does not.
 */
const GUARDED = 'redis-server "$@" >/dev/null & cat >/dev/null; kill -KILL $!; wait';
const START_MS = 10_000;

export async function startRedis(folder: string): Promise<Redis | undefined> {
  const { stdout, error } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) return undefined;
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
  const guard = spawn('sh', ['-c', GUARDED, 'sh', ...settings], { stdio: ['pipe', 'ignore', 'ignore'] });
  unhold(guard);
  const deadline = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (performance.now() > deadline) throw new Error('redis-server does not answer');
    await delay(20);
  }
  const version = `Redis ${/v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'}`;
  return { url: `redis://127.0.0.1:${port}`, pid: guard.pid ?? 0, version };
}

function unhold(child: ChildProcess): void {
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (found: boolean): void => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => end(data.toString().startsWith('+PONG')));
    socket.once('error', () => end(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}
