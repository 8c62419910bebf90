/** The way of bytes through a node, by plain requests: what is taken, what is refused, and what is left behind. */
import assert from 'node:assert/strict';
import { readdirSync, renameSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { begun, left, running, sha256Of, signerOf } from '../../../test/support/artifact-scene.ts';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const put = (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> => fetch(url, { method: 'PUT', body, headers });
const codeOf = async (response: Response): Promise<string> =>
  `${response.status} ${((await response.json()) as { error: { code: string } }).error.code}`;

/** All files below the folder, with their sizes. */
function filesIn(folder: string): readonly number[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => statSync(join(one.parentPath, one.name)).size);
}

async function scene(t: Parameters<typeof nodeScene>[0]): Promise<{ node: NodeScene; folder: string }> {
  const folder = tempFolder('artifacts');
  return { node: await nodeScene(t, { artifactStore: folder }), folder };
}

test('bytes that were announced go to the address that their maker was given, and are seen once the artifact is whole', async (t) => {
  const { node, folder } = await scene(t);
  const { id, url, lease } = await begun(node, { bytes: 'hello', name: 'out/report.txt' });
  assert.equal((await node.ask(`/api/v1/artifacts/${id}`)).status, 404, 'nobody sees it before it is whole');
  const answer = await put(url, 'hello');
  assert.equal(answer.status, 204);
  assert.equal((await put(url, 'hello')).status, 204, 'a repeat is answered as the first time');
  assert.equal((await node.ask(`/api/v1/artifacts/${id}`)).status, 404);
  await node.engine.artifacts.end({ task: lease.task, attempt: lease.attempt }, id);
  assert.equal((await put(url, 'hello')).status, 204, 'also when it is whole');
  const view = await node.call('getArtifact', `/api/v1/artifacts/${id}`);
  assert.deepEqual(
    { name: view.name, size: view.size, sha256: view.sha256, attempt: view.attempt },
    { name: 'out/report.txt', size: 5, sha256: sha256Of('hello'), attempt: 1 },
  );
  const content = await fetch(node.url(`/api/v1/artifacts/${id}/content`), { headers: node.headers({}) });
  assert.equal(await content.text(), 'hello');
  assert.deepEqual(filesIn(folder), [5]);
  const down = signerOf(node).sign('get', id, { size: 5, sha256: sha256Of('hello') });
  assert.equal(await (await fetch(node.url(down.url))).text(), 'hello');
});

test('an address that is not signed for this, or whose time is over, takes nothing and gives nothing', async (t) => {
  const { node, folder } = await scene(t);
  const one = await begun(node, { bytes: 'hello' });
  const other = await begun(node, { bytes: 'other' });
  const content = { size: 5, sha256: sha256Of('hello') };
  const signer = signerOf(node);
  const wrong: readonly (readonly [string, string])[] = [
    ['its signature', one.url.replace(/sig=./, 'sig=_')],
    ['another artifact', one.url.replace(one.id, other.id)],
    ['the other way', node.url(signer.sign('get', one.id, content).url)],
    ['longer than it was signed for', one.url.replace(/until=\d/, 'until=9')],
    ['another size', one.url.replace('size=5', 'size=6')],
    ['over', node.url(signerOf(node, -3_600_000).sign('put', one.id, content).url)],
  ];
  for (const [what, url] of wrong) assert.equal(await codeOf(await put(url, 'hello')), '403 FORBIDDEN', what);
  assert.equal(await codeOf(await fetch(one.url)), '403 FORBIDDEN', 'an address for sending reads nothing');
  for (const bad of [one.url.split('?')[0] as string, one.url.replace(/&sig=.*/, ''), `${one.url}&x=1`]) {
    assert.equal(await codeOf(await put(bad, 'hello')), '400 INVALID_INPUT', bad);
  }
  const never = node.url(signer.sign('put', `art_${'0'.repeat(32)}`, content).url);
  assert.equal(await codeOf(await put(never, 'hello')), '404 NOT_FOUND', 'signed, and never begun');
  assert.deepEqual(filesIn(folder), []);
});

test('too much, too little and other bytes than were announced are refused, and nothing of them stays', async (t) => {
  const { node, folder } = await scene(t);
  const { url } = await begun(node, { bytes: 'hello' });
  assert.equal(await codeOf(await put(url, 'hello!')), '422 ARTIFACT_MISMATCH');
  assert.equal(await codeOf(await put(url, 'hell')), '422 ARTIFACT_MISMATCH');
  assert.equal(await codeOf(await put(url, 'jello')), '422 ARTIFACT_MISMATCH');
  const chunked = await fetch(url, {
    method: 'PUT',
    body: Readable.toWeb(Readable.from([Buffer.from('hello')])) as ReadableStream,
    duplex: 'half',
  } as RequestInit);
  assert.equal(await codeOf(chunked), '400 INVALID_INPUT', 'no length');
  assert.deepEqual(filesIn(folder), []);
  // Of whatever type it says it is: JSON is not read as JSON here.
  assert.equal((await put(url, 'hello', { 'content-type': 'application/json' })).status, 204);
  assert.deepEqual(filesIn(folder), [5]);
});

test('a sender that hangs up in the middle leaves nothing behind', async (t) => {
  const { node, folder } = await scene(t);
  const bytes = 'x'.repeat(5_000_000);
  const { url, id } = await begun(node, { bytes });
  const { host, port, pathname, search } = new URL(url);
  const gone = Promise.withResolvers<void>();
  const socket = connect(Number(port), '127.0.0.1', () => {
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
    socket.write(head + bytes.slice(0, 3_000_000), () => socket.destroy());
  });
  socket.on('error', () => {});
  socket.once('close', () => gone.resolve());
  await gone.promise;
  // The next one waits for its end on the node: both use the same artifact.
  assert.equal((await put(url, bytes)).status, 204);
  assert.deepEqual(
    filesIn(folder).filter((size) => size > 0),
    [bytes.length],
  );
  assert.ok((await node.engine.artifacts.pending(id)) !== undefined);
});

test('a place that is gone is told to who sends, while it sends, and the transfer goes through when it is back', async (t) => {
  const { node, folder } = await scene(t);
  await left(node, { bytes: 'first' });
  renameSync(folder, `${folder}-away`);
  const bytes = 'y'.repeat(5_000_000);
  const { url } = await begun(node, { bytes });
  assert.equal(await codeOf(await put(url, bytes)), '503 ARTIFACT_FAILED');
  renameSync(`${folder}-away`, folder);
  assert.equal((await put(url, bytes)).status, 204);
});

test('a node that closes ends an upload in the middle, and nothing of it stays', async (t) => {
  const { node, folder } = await scene(t);
  const { url } = await begun(node, { bytes: 'x'.repeat(1000) });
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  const told = new Promise<string>((resolve) => {
    let heard = '';
    socket.on('data', (chunk) => {
      heard += String(chunk);
    });
    socket.once('close', () => resolve(heard)).once('error', () => resolve(heard));
  });
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
  );
  // It has been let in once it may go on.
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write('x'.repeat(10));
  await node.service.close();
  assert.match(await told, /HTTP\/1\.1 503 /);
  assert.deepEqual(filesIn(folder), []);
});

test('an upload of an attempt that is over is taken by nobody', async (t) => {
  const { node } = await scene(t);
  const lease = await running(node.engine);
  const { url, id } = await begun(node, { lease });
  await node.engine.release({ task: lease.task, attempt: lease.attempt });
  const answer = await put(url, 'hello');
  assert.ok([204, 404].includes(answer.status), 'its bytes may arrive');
  await assert.rejects(node.engine.artifacts.end({ task: lease.task, attempt: lease.attempt }, id), {
    code: 'LEASE_LOST',
  });
  assert.equal((await node.ask(`/api/v1/artifacts/${id}`)).status, 404, 'and are never seen');
});

test('a range is answered with these bytes alone, and an answer that is known already is not sent again', async (t) => {
  const { node } = await scene(t);
  const { id, sha256 } = await left(node, { bytes: '0123456789' });
  const get = (headers: Record<string, string>, method = 'GET'): Promise<Response> =>
    fetch(node.url(`/api/v1/artifacts/${id}/content`), { method, headers: node.headers({ headers }) });
  const part = await get({ range: 'bytes=2-4' });
  assert.deepEqual(
    [part.status, await part.text(), part.headers.get('content-range'), part.headers.get('content-length')],
    [206, '234', 'bytes 2-4/10', '3'],
  );
  assert.equal(await (await get({ range: 'bytes=-2' })).text(), '89');
  const none = await get({ range: 'bytes=10-' });
  assert.deepEqual([none.status, none.headers.get('content-range')], [416, 'bytes */10']);
  const all = await get({});
  assert.deepEqual([all.headers.get('etag'), all.headers.get('accept-ranges')], [`"${sha256}"`, 'bytes']);
  assert.equal((await get({ 'if-none-match': `"${sha256}"` })).status, 304);
  assert.equal((await get({ range: 'bytes=2-4', 'if-range': '"another"' })).status, 200);
  const head = await get({}, 'HEAD');
  assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '10', '']);
});

test('A18: what a task has made runs nothing in a browser, whatever it says that it is', async (t) => {
  const { node } = await scene(t);
  const page = '<script>alert(1)</script>';
  for (const type of ['text/html', 'image/svg+xml', 'application/pdf']) {
    const { id } = await left(node, { bytes: page, type, name: `${type.replace('/', '-')}.html` });
    for (const query of ['', '?inline=1']) {
      const { status, headers } = await node.ask(`/api/v1/artifacts/${id}/content${query}`);
      assert.equal(status, 200);
      assert.match(String(headers.get('content-disposition')), /^attachment; /, type);
      assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'");
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
  }
  const { id } = await left(node, { bytes: 'plain', type: 'text/plain' });
  const shown = await node.ask(`/api/v1/artifacts/${id}/content?inline=1`);
  assert.match(String(shown.headers.get('content-disposition')), /^inline; /);
  assert.equal(shown.headers.get('content-security-policy'), "sandbox; default-src 'none'");
});

test('nobody reads an artifact without a token that may read, and an id that is unknown is 404', async (t) => {
  const { node } = await scene(t);
  const { id } = await left(node);
  const path = `/api/v1/artifacts/${id}/content`;
  assert.equal((await node.ask(path, { token: null })).status, 401);
  assert.equal((await node.ask(path, { token: (await node.token('read')).token })).status, 200);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  assert.equal((await node.ask(path, { token: secret })).status, 403);
  for (const unknown of [`art_${'0'.repeat(32)}`, 'art_', '..%2f..', 'x'.repeat(400)]) {
    assert.equal((await node.ask(`/api/v1/artifacts/${unknown}/content`)).status, 404, unknown);
  }
});

test('64 MiB go up and down without being held', async (t) => {
  const { node } = await scene(t);
  const size = 64 * 1024 * 1024;
  const piece = Buffer.alloc(1024 * 1024, 'a');
  const whole = Buffer.alloc(size, 'a');
  const { url, id, lease } = await begun(node, { bytes: whole, name: 'large.bin' });
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const held = (): number => {
    gc();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  let most = 0;
  const sample = (): void => {
    most = Math.max(most, held() - before);
  };
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let n = 1; n <= 64; n++) {
      yield piece;
      if (n % 16 === 0) sample();
    }
  }
  const status = await new Promise<number>((resolve, reject) => {
    const request = httpRequest(url, { method: 'PUT', headers: { 'content-length': size } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    request.once('error', reject);
    Readable.from(pieces()).pipe(request);
  });
  assert.equal(status, 204);
  await node.engine.artifacts.end({ task: lease.task, attempt: lease.attempt }, id);
  const answer = await fetch(node.url(`/api/v1/artifacts/${id}/content`), { headers: node.headers({}) });
  let count = 0;
  let next = 8 * 1024 * 1024;
  for await (const chunk of answer.body ?? []) {
    count += chunk.length;
    if (count < next) continue;
    next += 16 * 1024 * 1024;
    sample();
  }
  assert.equal(count, size);
  assert.ok(most < 40 * 1024 * 1024, `${Math.round(most / 2 ** 20)} MiB were held`);
});
