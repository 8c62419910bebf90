/** A node and joined workers, each a real process, that give and take credentials. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { CLUSTER_SECRET, type Running, run, temporaryFolder } from '../leasehold.ts';
import { freshDatabase } from '../postgres.ts';
import { RealNode } from '../real-node.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Wire = any;

export interface Ground {
  readonly store: string;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

export async function ground(t: TestContext, kind: 'sqlite' | 'postgres'): Promise<Ground> {
  const folder = temporaryFolder(t);
  const store = kind === 'sqlite' ? `sqlite:${join(folder, 'work.db')}` : await freshDatabase('credentials');
  return { store, folder, env: { LEASEHOLD_CLUSTER_SECRET: CLUSTER_SECRET } };
}

/** `leasehold up` on the ground, in a folder of its own. */
export async function node(t: TestContext, { store, env }: Ground, more: readonly string[] = []): Promise<RealNode> {
  const cwd = temporaryFolder(t);
  const process = run(t, ['up', '--port', '0', '--no-worker', '--store', store, ...more], { cwd, env });
  const url = await process.address();
  const found = RealNode.of(process, url, readFileSync(join(cwd, '.leasehold/token'), 'utf8').trim());
  await found.until(async () => (await fetch(`${url}/readyz`)).status === 200, 'the node is ready');
  return found;
}

/** A worker that may run `shell`, joined over one of the links. */
export async function worker(
  t: TestContext,
  at: RealNode,
  name: string,
  more: readonly string[] = [],
  cwd = temporaryFolder(t),
): Promise<Running> {
  const secret = await at.enrol(name, { handlers: ['shell', 'echo'] });
  return joinAs(t, at.url, name, secret, more, cwd);
}

export function joinAs(
  t: TestContext,
  url: string,
  name: string,
  secret: string,
  more: readonly string[],
  cwd: string,
): Running {
  const args = ['worker', '--join', url, '--name', name, '--allow', 'shell', '--vault-level', 'file', ...more];
  const env = { LEASEHOLD_WORKER_SECRET: secret, CREDENTIALS_DIRECTORY: '' };
  return run(t, args, { cwd, env });
}

export const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Pushes a task that needs the credential, and prints the digest of what it got. */
export function pushNeeding(at: RealNode, name: string, more: object = {}): Promise<string> {
  const input = { command: 'sha256sum < "$SECRET"', credentials: { [name]: { as: 'file', name: 'SECRET' } } };
  return at.push({ queue: 'work', handler: 'shell', input, placement: { credentials: [name] }, ...more });
}

/** By whom a task was completed, and the digest of the value that it has read. */
export async function completed(at: RealNode, id: string): Promise<{ readonly by: string; readonly digest: string }> {
  await at.until(async () => ['completed', 'failed'].includes((await at.task(id)).state), `${id} ends`);
  const { state, result, error } = await at.task(id);
  assert.equal(state, 'completed', JSON.stringify(error ?? result));
  const { attempts } = await at.call('GET', `/tasks/${id}/attempts`);
  return { by: attempts.at(-1).worker, digest: String(result.stdout).slice(0, 64) };
}

export async function holder(at: RealNode, credential: string, name: string): Promise<Wire> {
  const { holders } = await at.call('GET', `/credentials/${credential}`);
  return holders.find((one: { readonly worker: string }) => one.worker === name);
}

export async function untilHeld(at: RealNode, credential: string, name: string, version: number): Promise<void> {
  await at.until(async () => {
    const found = await holder(at, credential, name);
    return found?.status === 'stored' && found.acked === version;
  }, `${name} holds version ${version} of ${credential}`);
}
