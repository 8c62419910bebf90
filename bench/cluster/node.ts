/** A node of a scene: `leasehold up` as an operator starts it, on its own folder and always at the same port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BIN } from '../../test/support/leasehold.ts';
import { watchdog } from '../../test/support/postgres.ts';
import { treeMicros } from '../ground/cpu.ts';
import { keep } from '../processes.ts';
import { ADMIN } from './words.ts';

export interface NodeOptions {
  readonly name: string;
  readonly store: string;
  /** It may write there. */
  readonly folder: string;
}

export interface Restarted {
  /** From SIGTERM until the process was gone, and from the start of the next one until `/readyz` said yes. */
  readonly stopMs: number;
  readonly startMs: number;
}

const START_MS = 60_000;
const LOOK_MS = 20;
const KEPT = 4000;
const CLAIMS = /^leasehold_claim_duration_seconds_count (\d+)/m;
const CONNECTED = /^leasehold_workers_connected (\d+)/m;

export class ClusterNode {
  readonly #options: NodeOptions;
  #process: ChildProcess | undefined;
  #said = '';
  #address = '';

  private constructor(options: NodeOptions) {
    this.#options = options;
  }

  static async start(options: NodeOptions): Promise<ClusterNode> {
    const node = new ClusterNode(options);
    await node.#start();
    return node;
  }

  get name(): string {
    return this.#options.name;
  }

  get address(): string {
    return this.#address;
  }

  /** User and system time since its start. */
  get cpuMicros(): number {
    return treeMicros(this.#process?.pid ?? 0);
  }

  /** How often it asked its store for leases, since its start. */
  claims(): Promise<number> {
    return this.#metric(CLAIMS);
  }

  /** Workers that are connected to it. */
  connected(): Promise<number> {
    return this.#metric(CONNECTED);
  }

  /** As an upgrade does it. */
  async restart(): Promise<Restarted> {
    const from = performance.now();
    await this.stop();
    const gone = performance.now();
    await this.#start();
    return { stopMs: gone - from, startMs: performance.now() - gone };
  }

  async stop(): Promise<void> {
    const child = this.#process as ChildProcess;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    if (code !== 0) throw new Error(`${this.name} ended with ${code ?? signal}:\n${this.#said}`);
  }

  async #start(): Promise<void> {
    const { name, store, folder } = this.#options;
    const cwd = join(folder, name);
    mkdirSync(cwd, { recursive: true });
    const port = this.#address === '' ? '0' : new URL(this.#address).port;
    const flags = ['--store', store, '--name', name, '--port', port, '--no-worker', '--json'];
    const child = spawn(process.execPath, [BIN, 'up', ...flags], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', LEASEHOLD_TOKEN: ADMIN, LEASEHOLD_CLUSTER_SECRET: 'b'.repeat(43) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    keep(child);
    // For a bench that is killed and can end nobody.
    const guard = watchdog(`kill -KILL ${child.pid}`);
    child.once('exit', () => guard.kill('SIGKILL'));
    this.#said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said = (this.#said + text).slice(-KEPT);
        this.#address ||= /http:\/\/[\d.]+:\d+/.exec(this.#said)?.[0] ?? '';
      });
    }
    await this.#ready(child);
  }

  async #ready(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + START_MS;
    for (;;) {
      if (this.#address !== '' && (await answers(`${this.#address}/readyz`))) return;
      if (child.exitCode !== null) throw new Error(`${this.name} ended with ${child.exitCode}:\n${this.#said}`);
      if (performance.now() > deadline) throw new Error(`${this.name} is not ready:\n${this.#said}`);
      await delay(LOOK_MS);
    }
  }

  async #metric(pattern: RegExp): Promise<number> {
    const response = await fetch(`${this.#address}/metrics`, { headers: { authorization: `Bearer ${ADMIN}` } });
    return Number(pattern.exec(await response.text())?.[1] ?? Number.NaN);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: { connection: 'close' } });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
