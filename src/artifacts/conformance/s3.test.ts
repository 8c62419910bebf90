import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { S3Gate } from '../../../test/support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../../test/support/s3/s3-server.ts';
import { bucketOf, openBlobStore } from '../open-blob-store.ts';
import { openS3Store } from '../s3/s3-store.ts';
import { partPlan } from '../s3/upload.ts';
import { blobStoreContract, sampleOf, streamOf } from './suite.ts';

const server = await S3Server.start({ after });
const gate = await S3Gate.start({ after }, server);
const store = await openBlobStore(`s3://${BUCKET}/some/place?endpoint=${gate.endpoint}`, { credentials: CREDENTIALS });
after(() => store.close());
after(() => assert.deepEqual(gate.refused, [], 'every request was signed as a real bucket wants it'));

blobStoreContract('s3', () => ({ store, leftovers: () => server.leftovers() }));

test('over http to another host each body is signed by its hash, which the bucket checks', async (t) => {
  const bucket = { ...bucketOf(`s3://${BUCKET}?endpoint=${gate.endpoint}`), signBodies: true };
  const signing = openS3Store(bucket, { credentials: CREDENTIALS });
  t.after(() => signing.close());
  for (const size of [1000, 9_000_000]) {
    const { key, bytes, ...content } = sampleOf(size);
    await signing.put(key, streamOf(bytes), content);
    assert.ok(bytes.equals(await buffer(await signing.get(key))));
  }
  await signing.check();
});

test('parts grow so that the largest object fits, and their buffers do not grow with them', () => {
  const GIB = 1024 ** 3;
  for (const size of [9_000_000, 2 * GIB, 78 * GIB, 79 * GIB, 500 * GIB, 5 * 1024 * GIB]) {
    const { partBytes, buffers } = partPlan(size);
    assert.ok(Math.ceil(size / partBytes) <= 10_000);
    assert.ok(partBytes >= 5 * 1024 ** 2 && partBytes <= 5 * GIB);
    assert.ok(buffers >= 1 && (buffers === 1 || partBytes * buffers <= 24 * 1024 ** 2));
  }
});
