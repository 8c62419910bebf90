import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { S3Gate } from '../../../test/support/s3/s3-gate.ts';
import { BUCKET, CREDENTIALS, S3Server } from '../../../test/support/s3/s3-server.ts';
import { isEngineError } from '../../core/errors.ts';
import type { SignedTransfer } from '../blob-store.ts';
import { sampleOf, streamOf } from '../conformance/suite.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { addressOf, type Bucket, signAddress, signHeaders } from './bucket.ts';

const server = await S3Server.start({ after });
const gate = await S3Gate.start({ after }, server);
const store = await openBlobStore(`s3://${BUCKET}/p?endpoint=${gate.endpoint}`, { credentials: CREDENTIALS });
after(() => store.close());

async function sign(request: Parameters<NonNullable<typeof store.sign>>[0]): Promise<SignedTransfer> {
  assert.ok(store.sign);
  return await store.sign(request);
}

function send({ method, url, headers }: SignedTransfer, body?: Buffer): Promise<Response> {
  return fetch(url, { method, headers: { ...headers }, ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
}

test('whoever has a signed address stores these bytes, without any key of the bucket', async () => {
  const { key, bytes, ...content } = sampleOf(100_000);
  const signed = await sign({ way: 'put', key, content, untilMs: 60_000 });
  assert.equal((await send(signed, bytes)).status, 200);
  assert.equal(await store.size(key), content.size);
  const got = await send(await sign({ way: 'get', key, untilMs: 60_000, fileName: 'out/report.tsv' }));
  assert.ok(bytes.equals(Buffer.from(await got.arrayBuffer())));
  assert.equal(got.headers.get('content-disposition'), 'attachment; filename="report.tsv"');
  assert.equal(got.headers.get('content-type'), 'application/octet-stream');
});

test('a signed address stores no other bytes, no other length and no other key, and reads nothing', async () => {
  const { key, bytes, ...content } = sampleOf(1000);
  const signed = await sign({ way: 'put', key, content, untilMs: 60_000 });
  const status = async (transfer: SignedTransfer, body?: Buffer): Promise<number> =>
    (await send(transfer, body)).status;
  const other = Buffer.from(bytes);
  other[0] = (other[0] ?? 0) ^ 1;
  assert.equal(await status(signed, other), 403, 'the checksum is signed');
  assert.equal(await status({ ...signed, headers: {} }, bytes), 403, 'without its headers');
  const longer = { 'x-amz-checksum-sha256': signed.headers['x-amz-checksum-sha256'] ?? '' };
  assert.equal(
    await status({ ...signed, headers: longer }, Buffer.concat([bytes, bytes])),
    403,
    'the length is signed',
  );
  assert.equal(await status({ ...signed, url: signed.url.replace(key, sampleOf(5).key) }, bytes), 403);
  assert.equal(await status({ ...signed, method: 'GET', headers: {} }), 403);
  assert.equal(await store.size(key), undefined);
  assert.equal(await status(signed, bytes), 200);
});

test('a signed address is good for an hour at most', async () => {
  const { key } = sampleOf(10);
  const secondsOf = async (untilMs: number): Promise<string | null> =>
    new URL((await sign({ way: 'get', key, untilMs })).url).searchParams.get('X-Amz-Expires');
  assert.equal(await secondsOf(30_900), '30');
  assert.equal(await secondsOf(1), '1');
  assert.equal(await secondsOf(1e12), '3600');
});

test('more than one request can carry is not signed', async () => {
  const { key, sha256 } = sampleOf(10);
  const content = { sha256, size: 5 * 1024 ** 3 + 1 };
  await assert.rejects(sign({ way: 'put', key, content, untilMs: 1000 }), (error) => isEngineError(error, 'TOO_LARGE'));
});

test('a hostile name of a file stays within its header', async () => {
  const { key, bytes, ...content } = sampleOf(10);
  await store.put(key, streamOf(bytes), content);
  for (const [fileName, header] of [
    [
      'a "quoted"; name.txt',
      `attachment; filename="a _quoted__ name.txt"; filename*=UTF-8''a%20%22quoted%22%3B%20name.txt`,
    ],
    ['x\r\nSet-Cookie: a=b', `attachment; filename="xSet-Cookie_ a_b"; filename*=UTF-8''xSet-Cookie%3A%20a%3Db`],
    ['../../etc/passwd', 'attachment; filename="passwd"'],
    ['a\\b\\c+d.exe', `attachment; filename="c_d.exe"; filename*=UTF-8''c%2Bd.exe`],
    [
      "Grüße 100% '(1)*.pdf",
      `attachment; filename="Gr__e 100_ __1__.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20100%25%20%27%281%29%2A.pdf`,
    ],
    ['', 'attachment'],
    ['\0\u202e\ud800', `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
  ] as const) {
    const got = await send(await sign({ way: 'get', key, untilMs: 60_000, fileName }));
    assert.equal(got.status, 200, fileName);
    assert.equal(got.headers.get('content-disposition'), header);
  }
});

test('signatures are those of the published examples', async () => {
  const credentials = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  };
  const bucket: Bucket = {
    endpoint: new URL('https://s3.amazonaws.com'),
    name: 'examplebucket',
    prefix: '',
    region: 'us-east-1',
    pathStyle: false,
    signBodies: false,
  };
  const request = { method: 'GET', url: addressOf(bucket, 'test.txt'), headers: {} };
  assert.equal(request.url, 'https://examplebucket.s3.amazonaws.com/test.txt');
  const url = await signAddress(bucket, credentials, { request, seconds: 86_400, datetime: '20130524T000000Z' });
  assert.match(url, /X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404$/);
  const { headers } = await signHeaders(bucket, { ...credentials, sessionToken: 'of a role' }, request);
  assert.match(
    headers['authorization'] ?? '',
    /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/,
  );
});

test('what the bucket holds half for a day is given up when the store opens, and nothing younger', async (t) => {
  const own = await S3Server.start(t);
  const before = await S3Gate.start(t, own);
  const begin = async (key: string): Promise<void> => {
    const bucket = {
      endpoint: new URL(before.endpoint),
      name: BUCKET,
      prefix: '',
      region: 'us-east-1',
      pathStyle: true,
      signBodies: false,
    };
    const signed = await signHeaders(bucket, CREDENTIALS, {
      method: 'POST',
      url: addressOf(bucket, key, { uploads: '' }),
      headers: {},
    });
    assert.equal((await fetch(signed.url, { method: 'POST', headers: signed.headers })).status, 200);
  };
  const [stale, young, other] = [`p/${sampleOf(1).key}`, `p/${sampleOf(2).key}`, 'p/sha256/of-somebody-else'];
  for (const key of [stale, young, other]) await begin(key);
  for (const key of [stale, other]) own.ageUpload(key);
  const listed = Promise.withResolvers<void>();
  const again = await openBlobStore(`s3://${BUCKET}/p?endpoint=${before.endpoint}`, { credentials: CREDENTIALS });
  t.after(() => again.close());
  before.fate = ({ method }) => {
    if (method === 'DELETE') setImmediate(listed.resolve);
    return 'through';
  };
  await listed.promise;
  // Asked after it over the same gate: the abort has been done.
  while (own.uploads().length > 2) await again.size(sampleOf(3).key);
  assert.deepEqual(
    own
      .uploads()
      .map(({ key }) => key)
      .toSorted(),
    [young, other].toSorted(),
  );
});
