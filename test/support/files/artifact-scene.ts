import { createHash } from 'node:crypto';
import type { Lease } from '../../../src/core/task/lease.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { ArtifactRecord } from '../../../src/engine/records.ts';
import { ClusterSecret } from '../../../src/operate/cluster-secret.ts';
import { TransferSigner } from '../../../src/server/transfers/transfer-signer.ts';
import { type NodeScene, TEST_SECRET } from '../node-scene.ts';

export const sha256Of = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** What the node signs with; `aheadMs`: as if its clock were so far ahead. */
export function signerOf({ engine }: NodeScene, aheadMs = 0): TransferSigner {
  const secret = new ClusterSecret(TEST_SECRET.read(), engine.store.clusterKey);
  return new TransferSigner(secret, () => engine.world.clock.wall() + aheadMs);
}

let workers = 0;

/** A task that runs. */
export async function running(engine: Engine, queue = 'files'): Promise<Lease & { readonly id: string }> {
  const { id } = await engine.push({ queue, handler: 'h' });
  const name = `holder-${++workers}`;
  const worker = await engine.workers.register({ name, incarnation: name, slots: 1 });
  const [grant] = await engine.claim({ worker, max: 1, queues: [queue] });
  if (grant === undefined) throw new Error('nothing was claimed');
  return { task: grant.task, attempt: grant.attempt, id };
}

export interface Left {
  readonly bytes?: Uint8Array | string;
  readonly name?: string;
  readonly type?: string;
  readonly lease?: Lease;
}

/** An artifact that was announced, with the address for its bytes. */
export async function begun(
  scene: NodeScene,
  { bytes = 'hello', name = 'report.txt', type = 'text/plain', lease }: Left = {},
): Promise<{ readonly id: string; readonly blob: string; readonly url: string; readonly lease: Lease }> {
  const held = lease ?? (await running(scene.engine));
  const content = { size: Buffer.byteLength(bytes), sha256: sha256Of(bytes) };
  const { id, blob } = await scene.engine.artifacts.begin(
    { task: held.task, attempt: held.attempt },
    { name, type, ...content },
  );
  return { id, blob, url: scene.url(signerOf(scene).sign('put', id, content).url), lease: held };
}

/** A whole one: its bytes went the way that those of a worker go. */
export async function left(scene: NodeScene, what: Left = {}): Promise<ArtifactRecord> {
  const { id, url, lease } = await begun(scene, what);
  const { status } = await fetch(url, { method: 'PUT', body: what.bytes ?? 'hello' });
  if (status !== 204) throw new Error(`the upload was answered ${status}`);
  return scene.engine.artifacts.end({ task: lease.task, attempt: lease.attempt }, id);
}
