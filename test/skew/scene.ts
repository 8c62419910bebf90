/** A node and a worker as processes, each of this tree or of the commit that landed before it. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Running, run, temporaryFolder } from '../support/leasehold.ts';
import { RealNode } from '../support/real-node.ts';
import { QUEUE, TRACES } from './handlers.ts';
import type { NodeOptions } from './node-child.ts';
import type { WorkerOptions } from './worker-child.ts';

/** What came over the wire: the tests say what it should be. */
// oxlint-disable-next-line typescript/no-explicit-any
type Wire = any;

export type Age = 'old' | 'new';
export const LINKS = { WebSocket: false, HTTP: true } as const;

const TOKEN = 'an-admin-token-of-a-test';
/** Longer than any restart here takes, on a busy host too: nothing may be lost by time. */
const LEASE_MS = 60_000;

interface Line {
  readonly level?: string;
  readonly message?: string;
  readonly fields?: object;
}

export class Skew {
  readonly folder: string;
  readonly #t: TestContext;
  readonly #leaseMs: number;
  /** The last one that was started. */
  node!: RealNode;
  readonly nodes: Running[] = [];
  readonly workers: Running[] = [];
  #port = 0;

  constructor(t: TestContext, { leaseMs = LEASE_MS }: { readonly leaseMs?: number } = {}) {
    this.#t = t;
    this.#leaseMs = leaseMs;
    this.folder = temporaryFolder(t);
    mkdirSync(join(this.folder, 'worker'));
  }

  get store(): string {
    return join(this.folder, 'skew.db');
  }

  /** The second one has the file and the address of the first. */
  async startNode(age: Age): Promise<void> {
    const options: NodeOptions = {
      store: `sqlite:${this.store}`,
      port: this.#port,
      token: TOKEN,
      leaseMs: this.#leaseMs,
    };
    const process = this.#start('node', age, options);
    this.nodes.push(process);
    const [, address = '', token = ''] = await process.says(/^\{"address":"(.+)","token":"(.+)"\}$/m);
    this.#port = Number(new URL(address).port);
    this.node = RealNode.of(process, address, token);
  }

  async startWorker(age: Age, given: Pick<WorkerOptions, 'name' | 'secret' | 'http'>): Promise<Running> {
    const { url } = this.node;
    const process = this.#start('worker', age, { ...given, url, folder: this.#inside } satisfies WorkerOptions);
    this.workers.push(process);
    await process.says(/^\{"started":/m);
    return process;
  }

  push(handler: string, input: unknown = null, more: object = {}): Promise<string> {
    return this.node.push({ queue: QUEUE, handler, input, retry: { baseMs: 1, maxMs: 1 }, ...more });
  }

  /** The task at its end. */
  async ended(id: string): Promise<Wire> {
    let task: Wire;
    const isOver = async (): Promise<boolean> => {
      task = await this.node.task(id);
      return ['completed', 'failed', 'cancelled'].includes(task.state);
    };
    try {
      await this.node.until(isOver, `task ${id} ends`);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${JSON.stringify(task)}\n${this.#output()}`, { cause: error });
    }
    return task;
  }

  async result(id: string): Promise<Wire> {
    const task = await this.ended(id);
    assert.equal(task.state, 'completed', `${JSON.stringify(task)}\n${this.#output()}`);
    return task.result;
  }

  async becomes(id: string, state: string): Promise<void> {
    await this.node.until(async () => (await this.node.task(id)).state === state, `task ${id} is ${state}`);
  }

  /** What handlers have done, in the order in which they did it. */
  traces(): readonly string[] {
    try {
      return readFileSync(join(this.#inside, TRACES), 'utf8').split('\n').slice(0, -1);
    } catch {
      return [];
    }
  }

  async traced(what: string): Promise<void> {
    await this.node.until(async () => this.traces().includes(what), `"${what}" is done`);
  }

  /** Lets a held task go on. */
  letGo(key: string): void {
    writeFileSync(join(this.#inside, key), '');
  }

  /** The result of a held task is on the disk of the worker: the node has not acknowledged it. */
  async owed(key: string): Promise<void> {
    const end = `"result":${JSON.stringify(JSON.stringify(key))}`;
    const isThere = (): boolean =>
      globSync('spool/*/ends', { cwd: this.#inside }).some((file) =>
        readFileSync(join(this.#inside, file), 'utf8').includes(end),
      );
    await this.node.until(async () => isThere(), `the result of ${key} is on the disk of the worker`);
  }

  /** Ends the node and waits for its end. */
  async endNode(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child, ended } = this.node.process;
    child.kill(signal);
    await ended;
  }

  /** Warnings and errors of nodes and workers. */
  warnings(of: readonly Running[]): readonly string[] {
    const lines = of.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line !== ''));
    return lines
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level !== undefined)
      .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);
  }

  /** Stops what still runs, in order. */
  async stop(): Promise<void> {
    for (const { child, ended } of [...this.workers, ...this.nodes].filter(isRunning)) {
      child.kill('SIGTERM');
      const { code } = await ended;
      assert.equal(code, 0, this.#output());
    }
    assert.deepEqual(
      [...this.workers, ...this.nodes].map(({ stderr }) => stderr).filter((text) => text !== ''),
      [],
    );
  }

  get #inside(): string {
    return join(this.folder, 'worker');
  }

  #start(what: 'node' | 'worker', age: Age, options: object): Running {
    const file = age === 'old' ? `./landed/code/${what}-child.mjs` : `./${what}-child.ts`;
    const program = fileURLToPath(new URL(file, import.meta.url));
    return run(this.#t, [JSON.stringify(options)], { cwd: this.folder, program });
  }

  #output(): string {
    return [...this.nodes, ...this.workers].map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n');
  }
}

function isRunning({ child }: Running): boolean {
  return child.exitCode === null && child.signalCode === null;
}
