/** Nodes and workers as real processes on one database, and how one asks them. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CLUSTER_SECRET, type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';

export const TOKEN = 'an-admin-token-of-a-test';
const PATIENCE_MS = 90_000;

/** As the API shows them. */
export interface Shown {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly tries: number;
  readonly worker?: string;
  readonly result?: unknown;
}

export interface ClusterShown {
  readonly leader?: { readonly node: string; readonly epoch: number };
  readonly nodes: readonly { readonly id: string; readonly role: string; readonly state: string }[];
  readonly duties: readonly { readonly name: string; readonly holder?: string }[];
}

export class ClusterScene {
  readonly url: string;
  readonly #t: TestContext;
  readonly #folder: string;

  private constructor(t: TestContext, url: string) {
    this.#t = t;
    this.url = url;
    this.#folder = temporaryFolder(t);
  }

  static async open(t: TestContext): Promise<ClusterScene> {
    return new ClusterScene(t, await freshDatabase('accept'));
  }

  /** `leasehold up` under this name, without a worker unless the flags bring one. */
  up(name: string, flags: readonly string[] = ['--no-worker'], port = 0): Running {
    const args = ['up', '--json', '--port', String(port), '--name', name, '--store', `${this.url}&pool=3`, ...flags];
    return run(this.#t, args, {
      cwd: this.#place(name),
      env: { LEASEHOLD_TOKEN: TOKEN, LEASEHOLD_CLUSTER_SECRET: CLUSTER_SECRET },
    });
  }

  /** A worker on another host that has joined these nodes, and works. */
  async worker(name: string, addresses: readonly [string, ...string[]], slots = 2): Promise<Running> {
    const { secret } = await ask<{ secret: string }>(addresses[0], '/api/v1/workers', { name });
    const joins = addresses.flatMap((address) => ['--join', address]);
    const args = ['worker', ...joins, '--name', name, '--secret', secret, '--slots', String(slots), '--json'];
    const worker = run(this.#t, args, { cwd: this.#place(name) });
    await worker.says(/"started"/);
    return worker;
  }

  /** Another command on the same store, to its end. */
  async command(...args: readonly string[]): Promise<{ readonly code: number | null; readonly stdout: string }> {
    const running = run(this.#t, [...args, '--store', this.url], { cwd: this.#place('commands') });
    const { code } = await running.ended;
    return { code, stdout: running.stdout + running.stderr };
  }

  #place(name: string): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

export async function ask<T>(address: string, path: string, body?: object, method = 'POST'): Promise<T> {
  const response = await reply(address, path, body, method);
  assert.ok(response.ok, `${path}: ${response.status} ${response.ok ? '' : await response.text()}`);
  return (await response.json()) as T;
}

export function reply(address: string, path: string, body?: object, method = 'POST'): Promise<Response> {
  return fetch(address + path, {
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method, body: JSON.stringify(body) }),
  });
}

export const clusterOf = (address: string): Promise<ClusterShown> => ask(address, '/api/v1/cluster');

export async function roleOf(address: string, id: string): Promise<string | undefined> {
  return (await clusterOf(address)).nodes.find((node) => node.id === id)?.role;
}

/** Looks again and again until it is so, and answers what was seen. */
export async function untilSo<T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  for (const deadline = performance.now() + PATIENCE_MS; ; await pause(50)) {
    const seen = await look();
    if (isSo(seen)) return seen;
    assert.ok(performance.now() < deadline, `it does not become so: ${JSON.stringify(seen)}`);
  }
}

export function taskEnds(address: string, id: string): Promise<Shown> {
  return untilSo(
    () => ask<Shown>(address, `/api/v1/tasks/${id}`),
    ({ state }) => ['completed', 'failed', 'cancelled'].includes(state),
  );
}
