import assert from 'node:assert/strict';
import { after } from 'node:test';
import { S3Gate } from '../../../test/support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../../test/support/s3/s3-server.ts';
import { blobStoreContract } from '../conformance.ts';
import { openBlobStore } from '../open-blob-store.ts';

const server = await S3Server.start({ after });
const gate = await S3Gate.start({ after }, server);
const store = await openBlobStore(`s3://${BUCKET}/some/place?endpoint=${gate.endpoint}`, { credentials: CREDENTIALS });
after(() => store.close());
after(() => assert.deepEqual(gate.refused, [], 'every request was signed as a real bucket wants it'));

blobStoreContract('s3', () => ({ store, leftovers: () => server.leftovers() }));
