/** A large file through the whole product: a node, a worker that has joined it, and a handler that stores a file and reads it back; all as processes of the built package. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUCKET, CREDENTIALS } from '../../test/support/s3/s3-server.ts';

const TOKEN = 'an-admin-token-of-a-bench';
const LOOK_MS = 50;
const FOREVER_MS = 30 * 60_000;
/** Below the bucket, so that what this leaves can be removed at once. */
export const PREFIX = 'user';

const HANDLERS = `
import { task } from 'leasehold';
const timed = async (run) => {
  const begun = performance.now();
  await run();
  return (performance.now() - begun) / 1000;
};
export const up = task('up', {
  timeout: '30m',
  run: ({ file }, { artifacts }) => timed(() => artifacts.put('large.bin', { file })),
});
export const down = task('down', {
  timeout: '30m',
  run: ({ task, out }, { artifacts }) => timed(async () => (await artifacts.get({ task, name: 'large.bin' })).save(out)),
});
`;

/** Seconds, and the most memory in MiB that each process had until then. */
export interface Transferred {
  readonly seconds: number;
  readonly rss: { readonly node: number; readonly worker: number; readonly handler: number };
}

export interface UserPathOptions {
  readonly bin: string;
  /** Where the bytes lie, as the node is told. */
  readonly place: string;
  /** An own folder. */
  readonly folder: string;
}

/** A node with a worker. Both are ended by `close`. */
export class UserPath {
  readonly #children: ChildProcess[] = [];
  readonly #peaks = { node: 0, worker: 0, handler: 0 };
  readonly #options: UserPathOptions;
  #address = '';
  #watch: NodeJS.Timeout | undefined;

  private constructor(options: UserPathOptions) {
    this.#options = options;
  }

  static async open(options: UserPathOptions): Promise<UserPath> {
    const path = new UserPath(options);
    try {
      await path.#start();
      return path;
    } catch (error) {
      await path.close();
      throw error;
    }
  }

  async up(file: string): Promise<Transferred & { readonly task: string }> {
    return this.#run('up', { file });
  }

  async down(task: string, out: string): Promise<Transferred> {
    return this.#run('down', { task, out });
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }

  async #start(): Promise<void> {
    const { folder, place } = this.#options;
    mkdirSync(folder, { recursive: true });
    const handlers = join(this.#options.bin, '../../../../up-and-down.mjs');
    writeFileSync(handlers, HANDLERS);
    const store = ['--store', `sqlite:${join(folder, 'node.db')}`, '--artifact-store', place];
    const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
    const env = { LEASEHOLD_TOKEN: TOKEN, ...keys };
    const node = this.#program(['up', '--no-worker', '--port', '0', '--json', ...store], env);
    this.#address = await addressSaid(node);
    const { secret } = await this.#ask<{ readonly secret: string }>('/workers', { name: 'w' });
    const who = ['--name', 'w', '--secret', secret, '--slots', '1', '--handlers', handlers];
    const worker = this.#program(['worker', '--join', this.#address, ...who, '--json'], {});
    this.#watch = setInterval(() => this.#look(node.pid, worker.pid), LOOK_MS);
    worker.stdout?.resume();
  }

  #program(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    const child = spawn(process.execPath, [this.#options.bin, ...args], {
      cwd: this.#options.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    this.#children.push(child);
    return child;
  }

  async #run(handler: 'up' | 'down', input: object): Promise<Transferred & { readonly task: string }> {
    const { id } = await this.#ask<{ readonly id: string }>('/tasks', {
      queue: 'work',
      handler,
      input,
      maxAttempts: 1,
    });
    for (const until = performance.now() + FOREVER_MS; performance.now() < until; await sleep(LOOK_MS)) {
      const task = await this.#ask<{ readonly state: string; readonly result?: unknown; readonly error?: unknown }>(
        `/tasks/${id}`,
      );
      if (task.state === 'completed' && typeof task.result === 'number')
        return { task: id, seconds: task.result, rss: { ...this.#peaks } };
      if (task.state === 'failed' || task.state === 'completed') throw new Error(`${handler}: ${JSON.stringify(task)}`);
    }
    throw new Error(`${handler} has not ended`);
  }

  async #ask<T>(path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.#address}/api/v1${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** The kernel keeps the most that a process has had: a look just before its end is enough. */
  #look(node: number | undefined, worker: number | undefined): void {
    if (node === undefined || worker === undefined) return;
    const peaks = this.#peaks;
    peaks.node = Math.max(peaks.node, mostOf(node));
    peaks.worker = Math.max(peaks.worker, mostOf(worker));
    for (const pid of below(worker)) peaks.handler = Math.max(peaks.handler, mostOf(pid));
  }
}

async function addressSaid(node: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  node.stdout?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(0, 100_000);
    const found = /http:\/\/[\w.[\]:]+:\d+/.exec(said)?.[0];
    if (found !== undefined) resolve(found);
  });
  node.once('exit', () => reject(new Error(`the node has ended: ${said}`)));
  return promise;
}

/** What the bench has left in the place goes at once: the duty of the node takes a minute. */
export function removeLeft(folder: string): void {
  for (const left of [join(folder, 's3', BUCKET, PREFIX), join(folder, 'node-local', 'sha256')])
    rmSync(left, { recursive: true, force: true });
}

/** In MiB; 0: it has ended. */
function mostOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function below(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const own = text
      .split(' ')
      .filter((word) => word !== '')
      .map(Number);
    return [...own, ...own.flatMap(below)];
  } catch {
    return [];
  }
}
