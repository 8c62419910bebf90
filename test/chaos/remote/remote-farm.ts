import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Rng } from '../../sim/rng.ts';
import { type Running, run } from '../../support/leasehold.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { isAlive, until } from '../survivors.ts';

/** Processes take their time while other tests keep the host busy. */
const PATIENCE_MS = 60_000;
const BATCH = 10;
const WATCH_MS = 50;
const SLOTS = 4;
const TOKEN = 'an-admin-token-of-a-test';

/** `short` ones are over before a lease is late; what the others cost is told by `loses`. */
export const KINDS = ['kill', 'stop-short', 'stop-long', 'deaf-short', 'deaf-long', 'cut', 'node'] as const;
export type Kind = (typeof KINDS)[number];

/** What was done, to whom, and when by the calendar. */
export interface Fault {
  /** `busy`: the host let this very process wait, and so perhaps any of them. */
  readonly kind: Kind | 'busy';
  /** Undefined: the node, and so everybody. */
  readonly worker: string | undefined;
  readonly from: number;
  readonly until: number;
}

export interface RemoteFarmOptions {
  readonly t: TestContext;
  readonly folder: string;
  readonly seed: number;
  readonly leaseMs: number;
}

interface Fellow {
  readonly name: string;
  readonly secret: string;
  /** The node itself, or what stands before it. */
  readonly address: string;
  /** By plain requests. */
  readonly http: boolean;
  process: Running;
}

/** As the API shows them. */
interface Shown {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly leaseExpiresAt?: unknown;
}

interface Page {
  readonly tasks: readonly Shown[];
}

/** A node, three workers that have joined it, one through a network of ours and one by plain requests, and what happens to them all. */
export class RemoteFarm {
  /** In the environment of every process, and of what these start. */
  readonly mark = `remote-${randomUUID()}`;
  readonly faults: Fault[] = [];
  /** Keys of the pushes that were acknowledged, and the public ids that they were told. */
  readonly acknowledged = new Map<string, readonly string[]>();
  /** In flight on a worker that was cut off for less than a lease. */
  readonly probes: string[] = [];
  /** Of all workers that were ever started. */
  readonly pids = new Set<number>();
  readonly #options: RemoteFarmOptions;
  readonly #rng: Rng;
  readonly #fellows: Fellow[] = [];
  readonly #said: Running[] = [];
  #node: Running;
  #address = '';
  #proxy: TcpProxy | undefined;
  #keys = 0;

  constructor(options: RemoteFarmOptions) {
    this.#options = options;
    this.#rng = new Rng(options.seed);
    this.#node = this.#startNode(0);
  }

  get store(): string {
    return `sqlite:${join(this.#options.folder, 'remote.db')}`;
  }

  async open(): Promise<void> {
    this.#address = await this.#node.address();
    const proxy = await TcpProxy.before(this.#address);
    this.#options.t.after(() => proxy.close());
    this.#proxy = proxy;
    for (const [name, address, http] of [
      ['far', proxy.address, false],
      ['near', this.#address, false],
      ['plain', this.#address, true],
    ] as const) {
      const { secret } = await this.#ask<{ secret: string }>('/api/v1/workers', { name });
      const fellow = { name, secret, address, http };
      this.#fellows.push({ ...fellow, process: this.#startWorker(fellow) });
    }
    await Promise.all(this.#fellows.map(({ process }) => process.says(/"started"/)));
    // Each has started all of its child processes before it counts: twelve that start at once leave no time for renewals.
    await Promise.all(this.#fellows.map((fellow) => this.#works(fellow, SLOTS)));
  }

  /** What the workers said of a task. */
  wordsOn(id: string): string {
    const lines = this.#said.flatMap(({ stdout }) => stdout.split('\n'));
    return lines.filter((line) => line.includes(id)).join('\n');
  }

  /** Pushes so many tasks, a few at a time and not faster than that, each until it is acknowledged. */
  async push(count: number, gapMs: number): Promise<void> {
    const rng = new Rng(this.#options.seed + 1);
    for (let pushed = 0; pushed < count; pushed += BATCH) {
      const delays = Array.from({ length: Math.min(BATCH, count - pushed) }, () => rng.int(20, 200));
      await this.#push(
        delays.map((ms) => ({ queue: 'work', handler: 'echo', input: { delay_ms: ms }, maxAttempts: 50 })),
      );
      await pause(gapMs);
    }
  }

  /** One of each kind, in an order that the seed decides. */
  async round(): Promise<void> {
    const kinds: Kind[] = [...KINDS];
    while (kinds.length > 0) {
      const [kind] = kinds.splice(this.#rng.int(0, kinds.length - 1), 1) as [Kind];
      await this.#strike(kind);
      await pause(this.#rng.int(50, 200));
    }
  }

  /** Notes when a timer of ours is late by a tenth of a lease, which is as much as a renewal may be without loss. */
  watchMachine(): void {
    const { t, leaseMs } = this.#options;
    let last = Date.now();
    const watch = setInterval(() => {
      const now = Date.now();
      if (now - last > WATCH_MS + leaseMs / 10)
        this.faults.push({ kind: 'busy', worker: undefined, from: last, until: now });
      last = now;
    }, WATCH_MS);
    t.after(() => clearInterval(watch));
  }

  /** Until everything that was acknowledged has come to its end. */
  async drain(): Promise<void> {
    const left = async (): Promise<number> => {
      const { tasks } = await this.#ask<Page>('/api/v1/tasks?state=ready&state=running&state=scheduled&limit=1');
      return tasks.length;
    };
    assert.ok(
      (await until(async () => (await left()) === 0, PATIENCE_MS)) !== undefined,
      'everything comes to its end',
    );
  }

  async close(): Promise<void> {
    for (const { process } of this.#fellows) process.child.kill('SIGTERM');
    for (const { name, process } of this.#fellows) {
      assert.deepEqual(await process.ended, { code: 0, signal: null }, `${name}: ${process.stdout.slice(-2000)}`);
    }
    this.#node.child.kill('SIGTERM');
    assert.deepEqual(await this.#node.ended, { code: 0, signal: null }, this.#node.stderr);
  }

  async #strike(kind: Kind): Promise<void> {
    const { leaseMs } = this.#options;
    const far = this.#fellows[0] as Fellow;
    const anyone = this.#rng.pick(this.#fellows);
    const short = (leaseMs * this.#rng.int(15, 25)) / 100;
    const long = (leaseMs * this.#rng.int(125, 150)) / 100;
    switch (kind) {
      case 'kill':
        return this.#note(kind, anyone, () => this.#replace(anyone));
      case 'stop-short':
        return this.#probed(kind, anyone, () => this.#freeze(anyone, short));
      case 'stop-long':
        return this.#note(kind, anyone, () => this.#freeze(anyone, long));
      case 'deaf-short':
        return this.#probed(kind, far, () => this.#deafen(short));
      case 'deaf-long':
        return this.#note(kind, far, () => this.#deafen(long));
      case 'cut':
        return this.#probed(kind, far, async () => this.#proxy?.cut());
      case 'node':
        return this.#note(kind, undefined, () => this.#restartNode());
    }
  }

  /** Two tasks run on the very worker that is struck, from before it to after it. */
  async #probed(kind: Kind, fellow: Fellow, happens: () => Promise<unknown>): Promise<void> {
    const ids = await this.#inFlight(fellow);
    await pause(this.#rng.int(0, this.#options.leaseMs / 5));
    await this.#note(kind, fellow, happens);
    await this.#all(ids, ({ state }) => state === 'completed');
    this.probes.push(...ids);
  }

  async #inFlight({ name }: Fellow): Promise<readonly string[]> {
    const input = { delay_ms: this.#options.leaseMs };
    const task = { queue: 'probes', handler: 'echo', input, priority: 10, placement: { only: [name] } };
    for (;;) {
      const ids = await this.#push([task, task]);
      const leases = new Map<string, unknown>();
      const seen = await this.#all(ids, ({ id, state, attempt, leaseExpiresAt }) => {
        // What was granted may not have arrived; what is renewed has.
        if (!leases.has(id) && state === 'running') leases.set(id, leaseExpiresAt);
        return attempt > 1 || (leases.has(id) && leases.get(id) !== leaseExpiresAt);
      });
      // A busy worker gives back what it has claimed ahead and cannot start soon.
      if (seen.every(({ state, attempt }) => state === 'running' && attempt === 1)) return ids;
      await this.#all(ids, ({ state }) => state === 'completed');
    }
  }

  /** It is over when whoever was struck works again. */
  async #note(kind: Kind, fellow: Fellow | undefined, happens: () => Promise<unknown>): Promise<void> {
    const from = Date.now();
    await happens();
    await Promise.all((fellow === undefined ? this.#fellows : [fellow]).map((one) => this.#works(one)));
    this.faults.push({ kind, worker: fellow?.name, from, until: Date.now() });
  }

  async #replace(fellow: Fellow): Promise<void> {
    fellow.process.child.kill('SIGKILL');
    await fellow.process.ended;
    fellow.process = this.#startWorker(fellow);
    await fellow.process.says(/"started"/);
  }

  async #freeze({ process }: Fellow, ms: number): Promise<void> {
    process.child.kill('SIGSTOP');
    await pause(ms);
    process.child.kill('SIGCONT');
  }

  async #deafen(ms: number): Promise<void> {
    this.#proxy?.goDeaf();
    await pause(ms);
    this.#proxy?.heal();
  }

  /** Whoever lives through it is the same worker for the node that comes back. */
  async #restartNode(): Promise<void> {
    const before = await this.#living();
    this.#node.child.kill('SIGKILL');
    await this.#node.ended;
    this.#node = this.#startNode(Number(new URL(this.#address).port));
    await this.#node.address();
    await Promise.all(this.#fellows.map((fellow) => this.#works(fellow)));
    assert.deepEqual(await this.#living(), before, 'those that survived the restart of the node');
  }

  async #living(): Promise<unknown> {
    type Living = { readonly workers: readonly { readonly id: string; readonly name: string; readonly pid: number }[] };
    const { workers } = await this.#ask<Living>('/api/v1/workers');
    const mine = new Set(this.#fellows.map(({ process }) => process.child.pid));
    return workers
      .filter(({ pid }) => mine.has(pid))
      .map(({ id, name, pid }) => ({ id, name, pid }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  async #works({ name }: Fellow, count = 1): Promise<void> {
    const rules = { priority: 10, maxAttempts: 50, placement: { only: [name] } };
    const input = { delay_ms: count === 1 ? 0 : 500 };
    const ids = await this.#push(
      Array.from({ length: count }, () => ({ queue: 'signs', handler: 'echo', input, ...rules })),
    );
    await this.#all(ids, ({ state }) => state === 'completed');
  }

  async #all(ids: readonly string[], isSo: (task: Shown) => boolean): Promise<readonly Shown[]> {
    let tasks: readonly Shown[] = [];
    const allAre = async (): Promise<boolean> => {
      tasks = await Promise.all(ids.map((id) => this.#ask<Shown>(`/api/v1/tasks/${id}`)));
      return tasks.filter(isSo).length === tasks.length;
    };
    const log = this.#fellows.map(({ name, process }) => `${name}:\n${process.stdout.slice(-1000)}`);
    assert.ok((await until(allAre, PATIENCE_MS)) !== undefined, `${JSON.stringify(tasks)}\n${log.join('\n')}`);
    return tasks;
  }

  /** Again and again under one key until it is acknowledged: nobody knows of an answer that did not come. */
  async #push(tasks: readonly object[]): Promise<readonly string[]> {
    const key = `push-${++this.#keys}`;
    const pushed = await this.#ask<Page>('/api/v1/tasks', { tasks }, { 'idempotency-key': key });
    const ids = pushed.tasks.map(({ id }) => id);
    this.acknowledged.set(key, ids);
    return ids;
  }

  /** The node may be away; whoever asks waits until it is back. */
  async #ask<T>(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      try {
        const response = await fetch(this.#address + path, {
          headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(5000),
        });
        if (response.ok) return (await response.json()) as T;
        if (response.status !== 503) assert.fail(`${path}: ${response.status} ${await response.text()}`);
      } catch (error) {
        if (error instanceof assert.AssertionError || Date.now() > deadline) throw error;
      }
      await pause(50);
    }
  }

  #startNode(port: number): Running {
    const { t, folder, leaseMs } = this.#options;
    const flags = ['--no-worker', '--json', '--port', String(port), '--lease-duration', `${leaseMs}ms`];
    return run(t, ['up', ...flags, '--store', this.store], {
      cwd: folder,
      env: { REMOTE_MARK: this.mark, LEASEHOLD_TOKEN: TOKEN },
    });
  }

  #startWorker({ name, secret, address, http }: Omit<Fellow, 'process'>): Running {
    const { t, folder } = this.#options;
    const cwd = join(folder, name);
    mkdirSync(cwd, { recursive: true });
    const args = ['worker', '--join', address, '--name', name, '--secret', secret, '--slots', `${SLOTS}`, '--json'];
    const running = run(t, http ? [...args, '--http'] : args, { cwd, env: { REMOTE_MARK: this.mark } });
    this.#said.push(running);
    const pid = running.child.pid as number;
    this.pids.add(pid);
    // One that is stopped cannot hear that it is killed.
    t.after(() => void (isAlive(pid) && process.kill(pid, 'SIGCONT')));
    return running;
  }
}
