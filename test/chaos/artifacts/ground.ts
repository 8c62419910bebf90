/** A node without a worker of its own, workers that join it with a file of handlers, and what they leave behind as the API tells it. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Running, run } from '../../support/leasehold.ts';
import { scratch } from '../children.ts';
import { until } from '../survivors.ts';

const PATIENCE_MS = 60_000;
const TOKEN = 'an-admin-token-of-a-test';
export const SIZE = 6 * 2 ** 20;

/** Where handlers find what makes tasks. */
export const TASK = JSON.stringify(new URL('../../../src/worker/define/task.ts', import.meta.url).href);

/** Says which attempt it is to a file, and stores a large one. */
const BUILD = (folder: string): string => `
import { appendFileSync } from 'node:fs';
import { task } from ${TASK};
export const build = task('build', {
  run: async (_input, ctx) => {
    appendFileSync(${JSON.stringify(join(folder, 'runs'))}, ctx.attempt + '\\n');
    await ctx.artifacts.put('out/app.bin', { file: ${JSON.stringify(join(folder, 'app.bin'))} });
    return 'by ' + ctx.attempt;
  },
});
`;

export interface View {
  readonly id: string;
  readonly attempt: number;
  readonly name: string;
  readonly sha256: string;
}

export interface Grounds {
  /** Of the node. */
  readonly flags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A file of tasks, for a folder of their own. */
  readonly handlers?: (folder: string) => string;
}

export class Ground {
  readonly t: TestContext;
  readonly folder: string;
  readonly bytes = randomBytes(SIZE);
  readonly #env: Readonly<Record<string, string>>;
  readonly #flags: readonly string[];
  readonly patienceMs: number;
  node: Running;
  address = '';

  constructor(t: TestContext, { flags, env = {}, handlers = BUILD }: Grounds, patienceMs: number = PATIENCE_MS) {
    this.t = t;
    this.folder = scratch(t, 'uploads');
    this.#flags = flags;
    this.#env = env;
    this.patienceMs = patienceMs;
    writeFileSync(join(this.folder, 'build.ts'), handlers(this.folder));
    writeFileSync(join(this.folder, 'app.bin'), this.bytes);
    this.node = this.#startNode();
  }

  #startNode(): Running {
    const flags = ['--no-worker', '--json', '--port', '0', '--store', `sqlite:${join(this.folder, 'node.db')}`];
    return run(this.t, ['up', ...flags, ...this.#flags], {
      cwd: this.folder,
      env: { LEASEHOLD_TOKEN: TOKEN, ...this.#env },
    });
  }

  async open(): Promise<void> {
    this.address = await this.node.address();
    await this.so(
      'the node is ready',
      async () => (await fetch(`${this.address}/readyz`).catch(() => undefined))?.ok === true,
    );
  }

  async restart(): Promise<void> {
    this.node.child.kill('SIGKILL');
    await this.node.ended;
    this.node = this.#startNode();
    await this.open();
  }

  async worker(name: string, url: string, slots = 1): Promise<Running> {
    const { secret } = await this.ask<{ secret: string }>('/workers', { name });
    const cwd = join(this.folder, name);
    mkdirSync(cwd, { recursive: true });
    const who = [
      '--name',
      name,
      '--secret',
      secret,
      '--handlers',
      join(this.folder, 'build.ts'),
      '--slots',
      `${slots}`,
    ];
    return run(this.t, ['worker', '--join', url, ...who, '--json'], { cwd });
  }

  async push(handler = 'build', more: object = {}): Promise<string> {
    const body = { queue: 'work', handler, maxAttempts: 5, retry: { baseMs: 0 }, ...more };
    return (await this.ask<{ id: string }>('/tasks', body)).id;
  }

  async stateOf(id: string): Promise<string> {
    return (await this.ask<{ state: string }>(`/tasks/${id}`)).state;
  }

  async artifacts(id: string): Promise<readonly View[]> {
    return (await this.ask<{ artifacts: readonly View[] }>(`/artifacts?task=${id}`)).artifacts;
  }

  /** It has completed, and what it has left is one artifact, whole, of this attempt. */
  async completes(id: string, attempt: number): Promise<void> {
    let last: unknown;
    await this.so(`${id} completes`, async () => {
      const task = await this.ask<{ state: string }>(`/tasks/${id}`);
      last = task;
      assert.notEqual(task.state, 'failed', JSON.stringify(task));
      return task.state === 'completed';
    });
    const [one, ...more] = await this.artifacts(id);
    assert.deepEqual([one?.name, one?.attempt, more], ['out/app.bin', attempt, []], JSON.stringify(last));
    assert.ok((await this.read(one as View)).equals(this.bytes));
  }

  /** The bytes as everybody reads them; they are those that were announced. */
  async read({ id, sha256 }: View): Promise<Buffer> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${this.address}/api/v1/artifacts/${id}/content`, { headers });
    assert.equal(answer.status, 200, id);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
    return bytes;
  }

  get runs(): string {
    const file = join(this.folder, 'runs');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Files in the place of bytes that have their final size. */
  wholeBlobs(folder: string): number {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    return found.filter((one) => statSync(join(one.parentPath, one.name)).size === SIZE).length;
  }

  async ask<T>(path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.address}/api/v1${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${path}: ${response.status}`);
    return (await response.json()) as T;
  }

  async so(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    assert.ok((await until(isSo, this.patienceMs)) !== undefined, `in vain: ${what}`);
  }
}
