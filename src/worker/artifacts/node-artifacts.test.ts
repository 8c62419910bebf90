/** The bytes of a joined worker on their way: what its node says is a script here, and the place of the bytes a server on loopback. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../app/world.ts';
import type { Artifact } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import type { NewRequest } from '../../protocol/frames.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { NodeArtifacts, type NodeArtifactsOptions } from './node-artifacts.ts';

const folder = tempFolder('node-artifacts');
const LEASE = { task: 7, attempt: 2 };
const PROOF = { ...LEASE, token: 't' };
let files = 0;

function file(text: string): { readonly path: string; readonly size: number; readonly sha256: string } {
  const path = join(folder, `file-${++files}`);
  writeFileSync(path, text);
  return { path, size: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') };
}

type Serve = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

interface Place {
  readonly artifacts: NodeArtifacts;
  readonly asked: NewRequest[];
  readonly requests: IncomingMessage[];
  readonly bodies: string[];
}

const ID = `art_${'ab'.repeat(16)}`;

/** `bucket`: the bytes go to another address than that of the node. */
async function place(
  t: TestContext,
  serve: Serve,
  { bucket = false, ...options }: Partial<NodeArtifactsOptions> & { readonly bucket?: boolean } = {},
): Promise<Place> {
  const requests: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const nth = requests.push(request);
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => bodies.push(body)).on('error', () => {});
    serve(request, response, nth);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asked: NewRequest[] = [];
  const answer = (request: NewRequest): unknown => {
    asked.push(request);
    const url = `${bucket ? node.replace('127.0.0.1', 'localhost') : ''}/bytes/${asked.length}`;
    if (request.type === 'artifact_begin')
      return {
        id: ID,
        transfer: {
          method: 'PUT',
          url,
          headers: { 'content-type': 'application/octet-stream', 'content-length': '1' },
        },
      };
    if (request.type === 'artifact_fetch') return { method: 'GET', url, headers: {} };
    return artifact({ size: 0, sha256: '' });
  };
  const artifacts = new NodeArtifacts({
    world: realWorld(),
    request: async (request) => answer(request) as never,
    proofOf: () => PROOF,
    node: () => node,
    offered: () => true,
    ...options,
  });
  return { artifacts, asked, requests, bodies };
}

function artifact(content: { readonly size: number; readonly sha256: string }): Artifact {
  const { size, sha256 } = content;
  return { id: ID, ...LEASE, name: 'report', type: 'text/plain', kind: 'file', createdAt: 1, size, sha256 };
}

const fine: Serve = (request, response) => void request.on('end', () => response.writeHead(204).end());
const outgoing = (one: ReturnType<typeof file>) => ({ ...one, name: 'report', type: 'text/plain' });

test('a file is announced, sent as it was said, and ended; nothing goes along that speaks for the worker', async (t) => {
  const at = await place(t, fine);
  const progress: number[] = [];
  await at.artifacts.put(LEASE, outgoing(file('hello')), { onProgress: (bytes) => progress.push(bytes) });
  assert.deepEqual(
    at.asked.map(({ type }) => type),
    ['artifact_begin', 'artifact_end'],
  );
  const [{ method, url, headers } = {} as IncomingMessage] = at.requests;
  assert.deepEqual([method, url, at.bodies, progress], ['PUT', '/bytes/1', ['hello'], [5]]);
  assert.deepEqual(Object.keys(headers).sort(), ['connection', 'content-length', 'content-type', 'host']);
  assert.equal(headers['content-length'], '5');
});

test('an empty file arrives as well', async (t) => {
  const at = await place(t, fine);
  await at.artifacts.put(LEASE, outgoing(file('')));
  assert.deepEqual(at.bodies, ['']);
});

test('a cut connection, a server that fails and one that is full are tried again, with the same address', async (t) => {
  const at = await place(t, (request, response, nth) => {
    if (nth === 1) request.socket.destroy();
    else if (nth === 2) response.writeHead(500).end();
    else if (nth === 3) response.writeHead(429).end();
    else fine(request, response, nth);
  });
  await at.artifacts.put(LEASE, outgoing(file('x'.repeat(2_000_000))));
  assert.deepEqual(
    at.requests.map(({ url }) => url),
    ['/bytes/1', '/bytes/1', '/bytes/1', '/bytes/1'],
  );
  assert.deepEqual(
    at.asked.map(({ type }) => type),
    ['artifact_begin', 'artifact_end'],
  );
});

test('an address that is good no more is asked for again, for the same artifact', async (t) => {
  const at = await place(t, (request, response, nth) => {
    if (nth === 1) response.writeHead(403).end();
    else fine(request, response, nth);
  });
  await at.artifacts.put(LEASE, outgoing(file('y')));
  const [first, second] = at.asked as { readonly type: string; readonly again?: string }[];
  assert.deepEqual([first?.again, second?.type, second?.again], [undefined, 'artifact_begin', ID]);
});

test('when its patience is over the upload has failed, and the task may be tried again', async (t) => {
  const at = await place(t, (_request, response) => void response.writeHead(503).end('<Error>closed</Error>'), {
    patienceMs: 300,
  });
  await assert.rejects(at.artifacts.put(LEASE, outgoing(file('z'))), {
    code: 'ARTIFACT_FAILED',
    retryable: true,
    message: /HTTP 503/,
  });
  assert.ok(at.requests.length >= 2);
});

test('a redirect is not followed, and another refusal is final', async (t) => {
  for (const [status, problem] of [
    [302, /redirects are not followed/],
    [404, /HTTP 404/],
  ] as const) {
    const at = await place(
      t,
      (_request, response) => void response.writeHead(status, { location: '/elsewhere' }).end(),
    );
    await assert.rejects(at.artifacts.put(LEASE, outgoing(file('r'))), { code: 'ARTIFACT_FAILED', message: problem });
    assert.equal(at.requests.length, 1);
  }
});

test('bytes that have changed since they were announced never arrive whole at a bucket', async (t) => {
  const at = await place(t, (request) => void request.on('error', () => {}), { bucket: true });
  for (const later of ['12346', '1234', '123456']) {
    const announced = file('12345');
    writeFileSync(announced.path, later);
    assert.equal(await refusal(at.artifacts.put(LEASE, outgoing(announced))), 'ARTIFACT_MISMATCH');
  }
  assert.deepEqual(at.bodies, []);
});

test('to a node no other number of bytes goes than was announced, and what it finds changed is not tried again', async (t) => {
  const at = await place(t, (request, response) => {
    const error = { code: 'ARTIFACT_MISMATCH', message: 'their hash is another one' };
    request.on('error', () => {}).on('end', () => response.writeHead(422).end(JSON.stringify({ error })));
  });
  for (const later of ['1234', '123456', '12346']) {
    const announced = file('12345');
    writeFileSync(announced.path, later);
    assert.equal(await refusal(at.artifacts.put(LEASE, outgoing(announced))), 'ARTIFACT_MISMATCH');
  }
  assert.deepEqual(at.bodies, ['12346'], 'its node hashes what comes, and has refused it');
});

test('a lost lease and a signal end an upload at once', async (t) => {
  const lost = await place(t, (_request, response) => {
    response.writeHead(409).end(JSON.stringify({ error: { code: 'LEASE_LOST', message: 'gone' } }));
  });
  assert.equal(await refusal(lost.artifacts.put(LEASE, outgoing(file('a')))), 'LEASE_LOST');
  assert.equal(lost.requests.length, 1);
  const stop = new AbortController();
  const stuck = await place(t, () => stop.abort(fault('LEASE_LOST', {})));
  assert.equal(await refusal(stuck.artifacts.put(LEASE, outgoing(file('b')), { signal: stop.signal })), 'LEASE_LOST');
  const unheld = await place(t, fine, { proofOf: () => undefined });
  assert.equal(await refusal(unheld.artifacts.put(LEASE, outgoing(file('c')))), 'LEASE_LOST');
  assert.deepEqual(unheld.asked, []);
});

test('a download is there only when all of it is right; what is cut off is fetched again', async (t) => {
  const text = 'q'.repeat(1_000_000);
  const { size, sha256 } = file(text);
  const at = await place(t, (request, response, nth) => {
    response.writeHead(200, { 'content-length': String(size) });
    if (nth === 1) response.write(text.slice(0, 1000), () => request.socket.destroy());
    else response.end(text);
  });
  const path = join(folder, 'whole');
  await at.artifacts.fetch(LEASE, artifact({ size, sha256 }), path);
  assert.equal(readFileSync(path, 'utf8'), text);
  assert.equal(at.requests.length, 2);
});

test('bytes with another size or hash leave no file, and are not asked for again', async (t) => {
  for (const sent of ['12346', '123456', '1234']) {
    const at = await place(t, (_request, response) => void response.writeHead(200).end(sent));
    const { size, sha256 } = file('12345');
    const path = join(folder, 'wrong');
    assert.equal(await refusal(at.artifacts.fetch(LEASE, artifact({ size, sha256 }), path)), 'ARTIFACT_MISMATCH');
    assert.equal(existsSync(path), false);
    assert.equal(at.requests.length, 1);
  }
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('a node that sends its workers elsewhere is refused', async (t) => {
  for (const url of ['http://169.254.169.254/latest', 'http://10.0.0.1/x', 'file:///etc/passwd']) {
    const transfer = { method: 'PUT', url, headers: {} } as const;
    const at = await place(t, fine, { request: async () => ({ id: ID, transfer }) as never });
    assert.equal(await refusal(at.artifacts.put(LEASE, outgoing(file('a')))), 'FORBIDDEN');
  }
  const old = await place(t, fine, { offered: () => false });
  assert.equal(await refusal(old.artifacts.put(LEASE, outgoing(file('a')))), 'NODE_TOO_OLD');
});
