/** Artifacts as attempts leave them behind: written by a process of its own, on the store of the node. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openNode } from '../../../src/app/node.ts';
import type { ArtifactKind } from '../../../src/core/artifact/artifact.ts';
import type { House } from './house.ts';

export interface LeftFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array | string;
  readonly kind?: ArtifactKind;
}

const QUEUE = 'reports-of-a-test';

/** The id of a task that has left all these behind, and has completed. */
export async function leaveBehind(house: House, files: readonly LeftFile[]): Promise<string> {
  const node = await openNode(`sqlite:${join(house.folder, '.leasehold/leasehold.db')}`, { duties: false });
  try {
    const { engine } = node;
    const { id } = await engine.push({ queue: QUEUE, handler: 'report', input: { files: files.length } });
    const name = 'reporter';
    const worker = await engine.workers.register({ name, incarnation: id, slots: 1 });
    const [grant] = await engine.claim({ worker, max: 1, queues: [QUEUE] });
    if (grant === undefined) throw new Error('nothing was claimed');
    const lease = { task: grant.task, attempt: grant.attempt };
    const place = await node.blobs.open();
    for (const { bytes, ...file } of files) {
      const whole = Buffer.from(bytes);
      const content = { size: whole.length, sha256: createHash('sha256').update(whole).digest('hex') };
      const begun = await engine.artifacts.begin(lease, { ...file, ...content });
      await place.put(begun.blob, Readable.from([whole]), content);
      await engine.artifacts.end(lease, begun.id);
    }
    await engine.complete(lease, { files: files.length });
    await engine.workers.beat({ worker, state: 'offline' });
    return id;
  } finally {
    await node.close();
  }
}
