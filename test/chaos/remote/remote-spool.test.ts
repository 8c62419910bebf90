/** What a remote worker owes, with real processes that are killed on both sides of the wire. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Node, openNode } from '../../../src/app/node.ts';
import { type Running, run } from '../../support/leasehold.ts';
import { full } from '../../support/scale.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { scratch } from '../children.ts';
import { until } from '../survivors.ts';

/** Processes take their time while other tests keep the host busy. */
const PATIENCE_MS = 60_000;
const TOKEN = 'an-admin-token-of-a-test';
const LINES = 400;

/** Says which attempt it is to a file, speaks, waits for another file, speaks on, and ends. */
const HANDLER = (folder: string): string => `
import { appendFileSync, existsSync } from 'node:fs';
import { task } from ${JSON.stringify(new URL('../../../src/worker/define/task.ts', import.meta.url).href)};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const speak = task('speak', {
  run: async (_input, ctx) => {
    appendFileSync(${JSON.stringify(join(folder, 'runs'))}, ctx.attempt + '\\n');
    for (let i = 1; i <= ${LINES}; i++) {
      ctx.log('line ' + i);
      if (i === 10) while (!existsSync(${JSON.stringify(join(folder, 'go'))})) await pause(10);
      if (i % 20 === 0) await pause(5);
    }
    return 'said by ' + ctx.attempt;
  },
});
`;

class Ground {
  readonly t: TestContext;
  readonly folder: string;
  readonly leaseMs: number;
  node: Running;
  #address = '';

  constructor(t: TestContext, leaseMs: number) {
    this.t = t;
    this.leaseMs = leaseMs;
    this.folder = scratch(t, 'remote-spool');
    writeFileSync(join(this.folder, 'speak.ts'), HANDLER(this.folder));
    this.node = this.#startNode(0);
  }

  get store(): string {
    return `sqlite:${join(this.folder, 'spool.db')}`;
  }

  get address(): string {
    return this.#address;
  }

  async open(): Promise<void> {
    this.#address = await this.node.address();
  }

  async killNode(): Promise<void> {
    this.node.child.kill('SIGKILL');
    await this.node.ended;
  }

  async restartNode(): Promise<void> {
    this.node = this.#startNode(Number(new URL(this.#address).port));
    await this.node.address();
  }

  async secret(name: string): Promise<string> {
    return (await this.ask<{ secret: string }>('/api/v1/workers', { name })).secret;
  }

  /** Each has a data directory of its own, which stays when it is started again. */
  worker(name: string, secret: string, url: string, ...more: string[]): Running {
    const cwd = join(this.folder, name);
    mkdirSync(cwd, { recursive: true });
    const who = ['--name', name, '--secret', secret, '--handlers', join(this.folder, 'speak.ts'), '--slots', '1'];
    return run(this.t, ['worker', '--join', url, ...who, '--json', ...more], { cwd });
  }

  async push(): Promise<string> {
    const body = { queue: 'work', handler: 'speak', maxAttempts: 5, retry: { baseMs: 0 } };
    return (await this.ask<{ id: string }>('/api/v1/tasks', body)).id;
  }

  /** The handler has begun to speak, and waits. */
  async speaks(attempts = 1): Promise<void> {
    await this.#so('the handler runs', () => this.runs().length >= attempts);
  }

  goOn(): void {
    writeFileSync(join(this.folder, 'go'), '');
  }

  runs(): readonly string[] {
    const file = join(this.folder, 'runs');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }

  /** The end of the task is on the disk of this worker. */
  async owes(name: string): Promise<void> {
    const spool = join(this.folder, name, '.leasehold/spool');
    const isThere = (): boolean =>
      existsSync(spool) &&
      readdirSync(spool).some((one) => {
        const file = join(spool, one, 'ends');
        return existsSync(file) && readFileSync(file, 'utf8').includes('"task_complete"');
      });
    await this.#so(`${name} has it on disk`, isThere);
  }

  async state(id: string, wanted: string): Promise<void> {
    const looks = async (): Promise<boolean> =>
      (await this.ask<{ state: string }>(`/api/v1/tasks/${id}`)).state === wanted;
    await this.#so(`${id} is ${wanted}`, looks);
  }

  async ask<T>(path: string, body?: object): Promise<T> {
    const response = await fetch(this.#address + path, {
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${path}: ${response.status}`);
    return (await response.json()) as T;
  }

  async stop(...workers: readonly Running[]): Promise<void> {
    for (const worker of workers) {
      worker.child.kill('SIGTERM');
      assert.deepEqual(await worker.ended, { code: 0, signal: null }, worker.stdout + worker.stderr);
    }
    this.node.child.kill('SIGTERM');
    assert.deepEqual(await this.node.ended, { code: 0, signal: null }, this.node.stderr);
  }

  async #so(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    assert.ok((await until(isSo, PATIENCE_MS)) !== undefined, `in vain: ${what}`);
  }

  #startNode(port: number): Running {
    const flags = ['--no-worker', '--json', '--port', String(port), '--lease-duration', `${this.leaseMs}ms`];
    return run(this.t, ['up', ...flags, '--store', this.store], {
      cwd: this.folder,
      env: { LEASEHOLD_TOKEN: TOKEN },
    });
  }
}

/** Judged by the store alone, once nobody writes to it any more. */
async function judge(ground: Ground, id: string, by: number): Promise<void> {
  const node = await openNode(ground.store, { duties: false });
  try {
    const task = node.engine.parseId(id);
    const record = await node.engine.get(task);
    const seen = [record?.state, record?.attempt, record?.tries, record?.result];
    assert.deepEqual(seen, ['completed', by, by, `"said by ${by}"`]);
    assert.equal(await completions(node, task), 1);
    const said: string[] = [];
    let after = { attempt: 0, seq: 0 };
    for (;;) {
      const page = await node.engine.logs.read(task, { after, limit: 200 });
      if (page.length === 0) break;
      said.push(...page.filter(({ attempt }) => attempt === by).map(({ text }) => text));
      after = page.at(-1) as typeof after;
    }
    assert.deepEqual(
      said,
      Array.from({ length: LINES }, (_, i) => `line ${i + 1}`),
    );
    assert.deepEqual(
      ground.runs(),
      Array.from({ length: by }, (_, i) => String(i + 1)),
    );
  } finally {
    await node.close();
  }
}

async function completions({ engine }: Node, task: number): Promise<number> {
  let count = 0;
  const marker = await engine.push({ queue: 'marker', handler: 'none' });
  for await (const item of engine.events()) {
    if (item.kind !== 'event') continue;
    if (item.event.task === marker.task) break;
    if (item.event.task === task && item.event.change === 'completed') count++;
  }
  return count;
}

function nothingOwed(ground: Ground, name: string): void {
  assert.equal(existsSync(join(ground.folder, name, '.leasehold/spool')), false, 'what was heard is not kept');
}

const [SOCKET, HTTP] = [[], ['--http']] as const;
const named = (way: readonly string[]): string => (way.length === 0 ? 'a WebSocket' : 'HTTP');

for (const way of full ? [SOCKET, HTTP] : [SOCKET]) {
  test(`a node that dies while a remote task speaks and ends has all of it when it is back, in order and once, over ${named(way)}`, async (t) => {
    const ground = new Ground(t, 30_000);
    await ground.open();
    const worker = ground.worker('box', await ground.secret('box'), ground.address, ...way);
    await worker.says(/"started"/);
    const id = await ground.push();
    await ground.speaks();
    await ground.killNode();
    ground.goOn();
    await ground.owes('box');
    await ground.restartNode();
    await ground.state(id, 'completed');
    await ground.stop(worker);
    await judge(ground, id, 1);
    nothingOwed(ground, 'box');
  });
}

for (const way of [SOCKET, HTTP]) {
  test(`a worker killed with a result that nobody has heard delivers it at its next start, and nothing runs again, over ${named(way)}`, async (t) => {
    const ground = new Ground(t, 30_000);
    await ground.open();
    const proxy = await TcpProxy.before(ground.address);
    t.after(() => proxy.close());
    const secret = await ground.secret('box');
    const first = ground.worker('box', secret, proxy.address, ...way);
    await first.says(/"started"/);
    const id = await ground.push();
    await ground.speaks();
    proxy.goDeaf();
    proxy.cut();
    ground.goOn();
    await ground.owes('box');
    first.child.kill('SIGKILL');
    await first.ended;
    assert.equal(
      (await ground.ask<{ state: string }>(`/api/v1/tasks/${id}`)).state,
      'running',
      'nobody knows of its end',
    );
    proxy.heal();
    const second = ground.worker('box', secret, proxy.address, ...way);
    await second.says(/ends that an earlier process of this worker left.*"delivered":1/);
    await ground.state(id, 'completed');
    await ground.stop(second);
    await judge(ground, id, 1);
    nothingOwed(ground, 'box');
  });
}

test('a result that comes after its lease was taken back is refused, and the task has run again', async (t) => {
  const ground = new Ground(t, 6000);
  await ground.open();
  const proxy = await TcpProxy.before(ground.address);
  t.after(() => proxy.close());
  const secret = await ground.secret('box');
  const first = ground.worker('box', secret, proxy.address);
  await first.says(/"started"/);
  const id = await ground.push();
  await ground.speaks();
  proxy.goDeaf();
  proxy.cut();
  ground.goOn();
  await ground.owes('box');
  first.child.kill('SIGKILL');
  await first.ended;
  const other = ground.worker('other', await ground.secret('other'), ground.address);
  await ground.speaks(2);
  await ground.state(id, 'completed');
  proxy.heal();
  const second = ground.worker('box', secret, proxy.address);
  await second.says(new RegExp(`the end of ${id}, which an earlier process left, comes too late`));
  await ground.stop(other, second);
  await judge(ground, id, 2);
  nothingOwed(ground, 'box');
});
