/** Uploads of real workers that end in their middle: the worker is killed, its node is killed, or the bucket is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UploadGate } from '../../support/files/upload-gate.ts';
import { S3Gate } from '../../support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../support/s3/s3-server.ts';
import { scratch } from '../children.ts';
import { Ground, SIZE } from './ground.ts';

test('a worker that is killed in the middle of an upload leaves nothing that anybody sees, and the task completes elsewhere', async (t) => {
  const place = scratch(t, 'place');
  const ground = new Ground(t, { flags: ['--lease-duration', '1500ms', '--artifact-store', place] });
  await ground.open();
  const gate = await UploadGate.before(t, ground.address);
  const half = gate.holdNext(SIZE / 2);
  const id = await ground.push();
  const first = await ground.worker('first', gate.address);
  await half;
  assert.deepEqual(await ground.artifacts(id), []);
  first.child.kill('SIGKILL');
  await first.ended;
  gate.cut();
  assert.deepEqual(await ground.artifacts(id), []);
  assert.equal(ground.wholeBlobs(place), 0);
  await ground.worker('second', ground.address);
  await ground.completes(id, 2);
  assert.equal(ground.runs, '1\n2\n');
  assert.equal(ground.wholeBlobs(place), 1);
});

test('a node that is killed in the middle of an upload costs nothing but time: the same attempt completes', async (t) => {
  const ground = new Ground(t, { flags: ['--lease-duration', '30s', '--artifact-store', scratch(t, 'place')] });
  await ground.open();
  const gate = await UploadGate.before(t, ground.address);
  const half = gate.holdNext(SIZE / 2);
  const id = await ground.push();
  await ground.worker('first', gate.address);
  await half;
  await ground.restart();
  gate.leadTo(ground.address);
  gate.cut();
  await ground.completes(id, 1);
  assert.equal(ground.runs, '1\n');
});

test('a bucket that is away in the middle of an upload is waited for: the same attempt completes', async (t) => {
  const s3 = await S3Server.start(t);
  const bucket = await S3Gate.start(t, s3);
  const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  const url = `s3://${BUCKET}/a?endpoint=${encodeURIComponent(bucket.endpoint)}&region=us-east-1&path_style=1&insecure=1`;
  const ground = new Ground(t, { flags: ['--lease-duration', '30s', '--artifact-store', url], env: keys });
  await ground.open();
  const puts = (): number => bucket.seen.filter((one) => one.startsWith('PUT')).length;
  bucket.fate = ({ method }) => (method === 'PUT' ? { cutBodyAfter: SIZE / 2 } : 'through');
  const id = await ground.push();
  const worker = await ground.worker('first', ground.address);
  await ground.so('an upload was cut off', () => puts() > 0);
  await bucket.down();
  assert.deepEqual(await ground.artifacts(id), []);
  bucket.fate = () => 'through';
  await bucket.up();
  await ground.completes(id, 1);
  assert.equal(ground.runs, '1\n');
  assert.deepEqual(bucket.refused, []);
  // The worker has no keys of the bucket: it was given addresses.
  assert.ok(!worker.stdout.includes(CREDENTIALS.secretAccessKey));
});
