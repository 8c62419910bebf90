import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { RealNode } from '../support/real-node.ts';

/** A node on this store, and what a worker needs to join it: the address of the node, and its secret. */
export async function joining(t: TestContext, folder: string, store: string, granted: object = {}): Promise<string> {
  const cwd = join(folder, 'node');
  mkdirSync(cwd);
  const node = await RealNode.start(t, ['--no-worker', '--store', store, '--lease-duration', '4s'], cwd);
  return `${node.url} ${await node.enrol('joined', { handlers: null, ...granted })}`;
}
