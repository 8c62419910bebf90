/** Puts blobs into a folder, one after another, until it is killed. `node put-child.ts FOLDER` prints the key of each one that is stored. */
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { openBlobStore } from '../../../src/artifacts/open-blob-store.ts';
import { blobKey } from '../../../src/core/artifact/blob-key.ts';

const store = await openBlobStore(process.argv[2] ?? '');
for (;;) {
  const bytes = randomBytes(3_000_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const pieces = Array.from({ length: 50 }, (_, n) => bytes.subarray(n * 60_000, (n + 1) * 60_000));
  const key = blobKey(sha256, `art_${randomBytes(16).toString('hex')}`);
  process.stdout.write(`begin ${key}\n`);
  await store.put(key, Readable.from(pieces, { objectMode: false }), { size: bytes.length, sha256 });
  process.stdout.write(`done ${key}\n`);
}
