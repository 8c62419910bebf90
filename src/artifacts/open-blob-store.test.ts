import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type EngineError, isEngineError } from '../core/errors.ts';
import { bucketOf, openBlobStore } from './open-blob-store.ts';
import { addressOf } from './s3/bucket.ts';

const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };

test('a path and a file URL open a folder', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-open-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [n, place] of [join(folder, '0'), pathToFileURL(join(folder, '1')).href].entries()) {
    const store = await openBlobStore(place);
    assert.equal(store.kind, 'local');
    assert.equal(store.sign, undefined);
    assert.ok(existsSync(join(folder, String(n))));
    await store.close();
  }
});

test('the URL of a bucket says where it is and how it is reached', () => {
  const address = (url: string): string => addressOf(bucketOf(url), 'k');
  assert.equal(address('s3://my-bucket'), 'https://my-bucket.s3.us-east-1.amazonaws.com/k');
  assert.equal(
    address('s3://my-bucket/some/place/?region=eu-north-1'),
    'https://my-bucket.s3.eu-north-1.amazonaws.com/some/place/k',
  );
  assert.equal(address('s3://my.bucket'), 'https://s3.us-east-1.amazonaws.com/my.bucket/k');
  assert.equal(address('s3://my-bucket?path_style=1'), 'https://s3.us-east-1.amazonaws.com/my-bucket/k');
  assert.equal(
    address('s3://my-bucket/p?endpoint=http://127.0.0.1:9000&region=auto'),
    'http://127.0.0.1:9000/my-bucket/p/k',
  );
  assert.equal(
    address('s3://my-bucket?endpoint=https://s3.corp:9000&path_style=0'),
    'https://my-bucket.s3.corp:9000/k',
  );
});

test('bodies are signed where somebody on the way could change them', () => {
  const signs = (endpoint: string): boolean => bucketOf(`s3://bucket?endpoint=${endpoint}&insecure=1`).signBodies;
  assert.equal(signs('https://corp'), false);
  assert.equal(signs('http://localhost:9000'), false);
  assert.equal(signs('http://[::1]:9000'), false);
  assert.equal(signs('http://10.0.0.1:9000'), true);
});

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['', /absolute/],
  ['some/folder', /absolute/],
  ['../up', /absolute/],
  ['/nul\0', /absolute/],
  ['file://other-host/path', /folder of this host/],
  ['file:///path?x=1', /no parameters/],
  ['https://bucket', /https: is not a place/],
  ['gs://bucket', /gs: is not a place/],
  ['s3://', /no URL|no bucket/],
  ['s3://B!', /no bucket|no URL/],
  ['s3://ab', /no bucket/],
  ['s3://bucket:9000', /no bucket/],
  ['s3://key:secret@bucket', /carries credentials/],
  ['s3://key@bucket', /carries credentials/],
  ['s3://bucket?endpoint=https://k:s@host', /carries credentials/],
  ['s3://bucket?secret_access_key=hush', /no parameter "secret_access_key"/],
  ['s3://bucket?Region=x', /no parameter "Region"/],
  ['s3://bucket?region=a&region=b', /twice/],
  ['s3://bucket?region=a%20b', /region/],
  ['s3://bucket?region=a%2Fb', /region/],
  ['s3://bucket?path_style=maybe', /1 or 0/],
  ['s3://bucket?endpoint=host:9000', /not an address/],
  ['s3://bucket?endpoint=ftp://host', /not an address/],
  ['s3://bucket?endpoint=https://host/path', /more than a host/],
  ['s3://bucket?endpoint=http://10.0.0.1', /http on another host/],
  ['s3://bucket?endpoint=http://127.0.0.1.evil.example', /http on another host/],
  ['s3://bucket/a%20b', /prefix/],
  ['s3://bucket/.hidden', /prefix/],
  ['s3://bucket/a#b', /fragment/],
];

test('a place that is wrong is refused with what is wrong, and nothing of it is repeated', async () => {
  for (const [url, message] of REFUSED) {
    await assert.rejects(openBlobStore(url, { credentials }), (error: EngineError) => {
      assert.equal(error.code, 'INVALID_INPUT', url);
      assert.match(error.message, message, url);
      assert.doesNotMatch(JSON.stringify(error), /hush|key:secret|k:s/);
      return true;
    });
  }
});

test('a bucket without credentials is refused', async () => {
  await assert.rejects(openBlobStore('s3://bucket'), (error: EngineError) => {
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(error.hint ?? '', /AWS_ACCESS_KEY_ID/);
    return true;
  });
});
