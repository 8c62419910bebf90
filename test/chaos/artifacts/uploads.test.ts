/** Uploads of real workers that end in their middle: the worker is killed, its node is killed, or the bucket is away. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UploadGate } from '../../support/files/upload-gate.ts';
import { type Running, run } from '../../support/leasehold.ts';
import { S3Gate } from '../../support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../support/s3/s3-server.ts';
import { scratch } from '../children.ts';
import { until } from '../survivors.ts';

const PATIENCE_MS = 60_000;
const TOKEN = 'an-admin-token-of-a-test';
const SIZE = 6 * 2 ** 20;

/** Says which attempt it is to a file, and stores a large one. */
const HANDLER = (folder: string): string => `
import { appendFileSync } from 'node:fs';
import { task } from ${JSON.stringify(new URL('../../../src/worker/define/task.ts', import.meta.url).href)};
export const build = task('build', {
  run: async (_input, ctx) => {
    appendFileSync(${JSON.stringify(join(folder, 'runs'))}, ctx.attempt + '\\n');
    await ctx.artifacts.put('out/app.bin', { file: ${JSON.stringify(join(folder, 'app.bin'))} });
    return 'by ' + ctx.attempt;
  },
});
`;

interface View {
  readonly id: string;
  readonly attempt: number;
  readonly name: string;
  readonly sha256: string;
}

class Ground {
  readonly t: TestContext;
  readonly folder: string;
  readonly bytes = randomBytes(SIZE);
  readonly #env: Readonly<Record<string, string>>;
  readonly #flags: readonly string[];
  node: Running;
  address = '';

  constructor(t: TestContext, flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.t = t;
    this.folder = scratch(t, 'uploads');
    this.#flags = flags;
    this.#env = env;
    writeFileSync(join(this.folder, 'build.ts'), HANDLER(this.folder));
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

  async worker(name: string, url: string): Promise<Running> {
    const { secret } = await this.ask<{ secret: string }>('/workers', { name });
    const cwd = join(this.folder, name);
    mkdirSync(cwd, { recursive: true });
    const who = ['--name', name, '--secret', secret, '--handlers', join(this.folder, 'build.ts'), '--slots', '1'];
    return run(this.t, ['worker', '--join', url, ...who, '--json'], { cwd });
  }

  async push(): Promise<string> {
    const body = { queue: 'work', handler: 'build', maxAttempts: 5, retry: { baseMs: 0 } };
    return (await this.ask<{ id: string }>('/tasks', body)).id;
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
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${this.address}/api/v1/artifacts/${one?.id}/content`, { headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(createHash('sha256').update(bytes).digest('hex'), one?.sha256);
    assert.ok(bytes.equals(this.bytes));
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
    assert.ok((await until(isSo, PATIENCE_MS)) !== undefined, `in vain: ${what}`);
  }
}

test('a worker that is killed in the middle of an upload leaves nothing that anybody sees, and the task completes elsewhere', async (t) => {
  const place = scratch(t, 'place');
  const ground = new Ground(t, ['--lease-duration', '1500ms', '--artifact-store', place]);
  await ground.open();
  const gate = await UploadGate.before(t, ground.address);
  const half = gate.holdNext(SIZE / 2);
  const id = await ground.push();
  const first = await ground.worker('first', gate.address);
  await half;
  assert.deepEqual(await ground.artifacts(id), []);
  first.child.kill('SIGKILL');
  await first.ended;
  gate.cut();
  assert.deepEqual(await ground.artifacts(id), []);
  assert.equal(ground.wholeBlobs(place), 0);
  await ground.worker('second', ground.address);
  await ground.completes(id, 2);
  assert.equal(ground.runs, '1\n2\n');
  assert.equal(ground.wholeBlobs(place), 1);
});

test('a node that is killed in the middle of an upload costs nothing but time: the same attempt completes', async (t) => {
  const ground = new Ground(t, ['--lease-duration', '30s', '--artifact-store', scratch(t, 'place')]);
  await ground.open();
  const gate = await UploadGate.before(t, ground.address);
  const half = gate.holdNext(SIZE / 2);
  const id = await ground.push();
  await ground.worker('first', gate.address);
  await half;
  await ground.restart();
  gate.leadTo(ground.address);
  gate.cut();
  await ground.completes(id, 1);
  assert.equal(ground.runs, '1\n');
});

test('a bucket that is away in the middle of an upload is waited for: the same attempt completes', async (t) => {
  const s3 = await S3Server.start(t);
  const bucket = await S3Gate.start(t, s3);
  const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  const url = `s3://${BUCKET}/a?endpoint=${encodeURIComponent(bucket.endpoint)}&region=us-east-1&path_style=1&insecure=1`;
  const ground = new Ground(t, ['--lease-duration', '30s', '--artifact-store', url], keys);
  await ground.open();
  const puts = (): number => bucket.seen.filter((one) => one.startsWith('PUT')).length;
  bucket.fate = ({ method }) => (method === 'PUT' ? { cutBodyAfter: SIZE / 2 } : 'through');
  const id = await ground.push();
  const worker = await ground.worker('first', ground.address);
  await ground.so('an upload was cut off', () => puts() > 0);
  await bucket.down();
  assert.deepEqual(await ground.artifacts(id), []);
  bucket.fate = () => 'through';
  await bucket.up();
  await ground.completes(id, 1);
  assert.equal(ground.runs, '1\n');
  assert.deepEqual(bucket.refused, []);
  // The worker has no keys of the bucket: it was given addresses.
  assert.ok(!worker.stdout.includes(CREDENTIALS.secretAccessKey));
});
