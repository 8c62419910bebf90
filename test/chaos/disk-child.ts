/**
 * A node whose disk fails under it. It runs as root of a mount namespace of its own and does to its disk what the world
 * may do: fills it, makes it read-only, takes it away, refuses writes. The same process must then go on.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openNode } from '../../src/app/node.ts';
import { look } from './look.ts';
import { leave } from './parent.ts';

const [scenario, folder] = process.argv.slice(2) as [string, string];
const TIMES = { leaseMs: 300, dutyMs: 300 };
const KIB = 1024;
/** Two names of one disk: `seen` can be made read-only or taken away while `disk` stays. */
const disk = join(folder, 'disk');
const seen = join(folder, 'seen');
const file = join(seen, 'leasehold.db');
const ballast = join(seen, 'ballast');
const warnings: string[] = [];
const log = {
  info: () => {},
  warn: (message: string, fields?: object) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  error: (message: string, fields?: object) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
};

type Node = Awaited<ReturnType<typeof openNode>>;
interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
}

const mount = (...args: string[]): void => void execFileSync('mount', args, { stdio: 'pipe' });
const makeReadOnly = (): void => mount('-o', 'remount,bind,ro', seen);
const makeWritable = (): void => mount('-o', 'remount,bind,rw', seen);
const takeAway = (): void => void execFileSync('umount', ['--lazy', seen], { stdio: 'pipe' });
const putBack = (): void => mount('--bind', disk, seen);
/** The kernel refuses every write to a file of this process with EFBIG, which SQLite reports as an I/O error. */
const allowWrites = (allowed: boolean): void => {
  const limit = allowed ? 'unlimited' : '0';
  execFileSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${limit}:unlimited`], { stdio: 'pipe' });
};

/** What was acknowledged, by number, and what was refused. Every push carries its number. */
class Pusher {
  readonly acknowledged = new Map<number, number>();
  readonly refused = new Set<number>();
  readonly #node: Node;
  #next = 0;

  constructor(node: Node) {
    this.#node = node;
  }

  /** One push: undefined when it was acknowledged, else why not. */
  async push(): Promise<Refusal | undefined> {
    const n = this.#next++;
    try {
      const { task } = await this.#node.engine.push({ queue: 'disk', handler: 'run', input: this.input(n) });
      this.acknowledged.set(n, task);
      return undefined;
    } catch (error) {
      this.refused.add(n);
      return error as Refusal;
    }
  }

  async untilRefused(): Promise<Refusal> {
    for (;;) {
      const refusal = await this.push();
      if (refusal !== undefined) return refusal;
    }
  }

  async times(n: number): Promise<void> {
    for (let i = 0; i < n; i++) assert.equal(await this.push(), undefined, `push ${i + 1} of ${n}`);
  }

  input(n: number): { readonly n: number; readonly text: string } {
    return { n, text: 'x'.repeat(900) };
  }

  /** Acknowledged is there, as it was given; refused is not; and there is nothing else. */
  checkFile(): void {
    const found = look(file);
    assert.equal(found.integrity, 'ok');
    assert.deepEqual(found.gaps, []);
    assert.deepEqual(found.drift, []);
    assert.deepEqual(found.misfits, []);
    const expected = [...this.acknowledged].map(([n, task]) => [task, JSON.stringify(this.input(n))] as const);
    const ours = found.tasks.filter(({ payload }) => payload?.startsWith('{"n":'));
    assert.deepEqual(new Map(ours.map(({ id, payload }) => [id, payload])), new Map(expected));
  }
}

/** Until something is so that only time and the node itself can bring about. */
async function until(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const patience = performance.now() + 10_000;
  while (!(await test())) {
    assert.ok(
      performance.now() < patience,
      `not within ten seconds: ${what}; the node warned:\n${warnings.join('\n')}`,
    );
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}

/** All duties are held and do their work again: a delayed task becomes ready, an expired lease comes back. */
async function worksAgain(node: Node): Promise<void> {
  const { engine, roster } = node;
  await until('every duty is held', () => roster.held().length === roster.names().length);
  const worker = await engine.workers.register({ name: 'tester', incarnation: `${performance.now()}`, slots: 2 });
  const { task } = await engine.push({ queue: 'after', handler: 'run', delay: 50 });
  const [first] = await engine.claim({ worker, max: 1, queues: ['after'], waitMs: 5000 });
  assert.equal(first?.task, task);
  const [second] = await engine.claim({ worker, max: 1, queues: ['after'], waitMs: 5000 });
  assert.deepEqual([second?.task, second?.attempt], [task, 2], 'the lease expired and the task came back');
  await engine.complete({ task, attempt: 2 });
}

const scenarios: Record<string, () => Promise<void>> = {
  async full() {
    writeFileSync(ballast, Buffer.alloc(700 * KIB));
    const node = await openNode(`sqlite:${file}`, { ...TIMES, log });
    const pusher = new Pusher(node);
    const refusal = await pusher.untilRefused();
    checkRefusal(refusal, 'STORE_FULL', /free some space/i);
    const before = pusher.acknowledged.size;

    await until('the duties meet the full disk', () => warnings.some((line) => line.includes('full')));
    checkRefusal(await pusher.untilRefused(), 'STORE_FULL', /free some space/i);
    assert.equal((await node.engine.stats('disk')).ready, pusher.acknowledged.size, 'reading goes on');

    rmSync(ballast);
    await until('a push is taken again', async () => (await pusher.push()) === undefined);
    await pusher.times(60); // more than the ballast had room for in the log: it was carried over and started over
    await worksAgain(node);
    await node.close();
    pusher.checkFile();
    leave({ word: 'done', acknowledged: pusher.acknowledged.size, refused: pusher.refused.size, before });
  },

  async 'open on full'() {
    const node = await openNode(`sqlite:${file}`, TIMES);
    const pusher = new Pusher(node);
    await pusher.times(20);
    await node.close();
    fillUp();
    await assert.rejects(openNode(`sqlite:${join(seen, 'new.db')}`), { code: 'STORE_FULL', hint: /free some space/i });
    await assert.rejects(openNode(`sqlite:${file}`), { code: 'STORE_FULL', hint: /free some space/i });
    for (const name of readdirSync(seen)) if (name.startsWith('ballast')) rmSync(join(seen, name));
    const again = await openNode(`sqlite:${file}`, TIMES);
    assert.equal((await again.engine.stats('disk')).ready, 20);
    await worksAgain(again);
    await again.close();
    pusher.checkFile();
    leave({ word: 'done' });
  },

  async 'open on read-only'() {
    const first = await openNode(`sqlite:${file}`, TIMES);
    const pusher = new Pusher(first);
    await pusher.times(20);
    await first.close();
    makeReadOnly();
    const refusal = { code: 'STORE_READONLY', retryable: true, hint: /permissions/ };
    await assert.rejects(openNode(`sqlite:${file}`), refusal);
    await assert.rejects(openNode(`sqlite:${join(seen, 'new.db')}`), refusal);
    makeWritable();
    const again = await openNode(`sqlite:${file}`, TIMES);
    assert.equal((await again.engine.stats('disk')).ready, 20);
    await worksAgain(again);
    await again.close();
    pusher.checkFile();
    leave({ word: 'done' });
  },

  async 'turned read-only'() {
    const node = await openNode(`sqlite:${file}`, { ...TIMES, log });
    const pusher = new Pusher(node);
    await pusher.times(20);
    // Open files keep a mount writable: so the mount is exchanged, and a fault makes the node open its file again.
    takeAway();
    putBack();
    makeReadOnly();
    allowWrites(false);
    await until('the fault is met', async () => (await pusher.push()) !== undefined);
    allowWrites(true);
    await until('the handle is read-only', async () => (await pusher.push())?.code === 'STORE_READONLY');
    checkRefusal((await pusher.push()) as Refusal, 'STORE_READONLY', /permissions/);
    assert.equal((await node.engine.stats('disk')).ready, pusher.acknowledged.size, 'reading goes on');
    await until('the duties meet it', () => warnings.some((line) => line.includes('accepts no writes')));
    makeWritable();
    await pusher.times(20);
    await worksAgain(node);
    await node.close();
    pusher.checkFile();
    leave({ word: 'done', acknowledged: pusher.acknowledged.size, refused: pusher.refused.size });
  },

  async 'taken away'() {
    const node = await openNode(`sqlite:${file}`, { ...TIMES, log });
    const pusher = new Pusher(node);
    await pusher.times(20);
    takeAway();
    allowWrites(false);
    const refusals = [await pusher.untilRefused(), await pusher.untilRefused()];
    for (const refusal of refusals) checkRefusal(refusal, 'STORE_UNAVAILABLE', /try again/);
    await until('the duties meet it', () => warnings.some((line) => line.includes('cannot be reached')));
    assert.ok(!existsSync(file), 'no new file was made where the disk had been');
    allowWrites(true);
    putBack();
    await until('a push is taken again', async () => (await pusher.push()) === undefined);
    await pusher.times(20);
    await worksAgain(node);
    await node.close();
    pusher.checkFile();
    leave({ word: 'done', acknowledged: pusher.acknowledged.size, refused: pusher.refused.size });
  },
};

function checkRefusal(refusal: Refusal, code: string, hint: RegExp): void {
  assert.equal(refusal.code, code, refusal.message);
  assert.match(refusal.hint, hint);
  assert.equal(refusal.retryable, true);
}

/** To the last byte. */
function fillUp(): void {
  for (let i = 0; ; i++) {
    try {
      writeFileSync(`${ballast}-${i}`, Buffer.alloc(4 * KIB));
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ENOSPC');
      return;
    }
  }
}

mkdirSync(disk);
mkdirSync(seen);
mount('-t', 'tmpfs', '-o', 'size=2m', 'leasehold', disk);
putBack();
await (scenarios[scenario] as () => Promise<void>)();
