import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { SILENT } from '../engine/log.ts';
import { type HealthServer, serveHealth } from './health.ts';

async function serving(t: TestContext, host = '127.0.0.1'): Promise<HealthServer> {
  const server = await serveHealth({ host, port: 0 });
  t.after(() => server.close());
  return server;
}

/** One request as bytes on a socket, so that the test decides every header. Resolves to status, headers and body. */
async function ask(server: HealthServer, head: string): Promise<{ status: number; headers: string; body: string }> {
  const { hostname, port } = new URL(server.address);
  const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''));
  socket.end(`${head}\r\nConnection: close\r\n\r\n`);
  const chunks = await Array.fromAsync(socket as AsyncIterable<Buffer>);
  const [headers = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  return { status: Number(headers.split(' ')[1]), headers: headers.toLowerCase(), body };
}

interface Body {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
}

test('GET /healthz answers 200 with ok and no data', async (t) => {
  const server = await serving(t);
  const response = await fetch(`${server.address}/healthz?verbose=1`);
  assert.equal(response.status, 200);
  assert.match(String(response.headers.get('content-type')), /^application\/json/);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.deepEqual(await response.json(), { status: 'ok' });
});

test('HEAD /healthz answers 200 without a body', async (t) => {
  const server = await serving(t);
  const response = await fetch(`${server.address}/healthz`, { method: 'HEAD' });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), '');
});

test('anything else is 404 with the error body', async (t) => {
  const server = await serving(t);
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/healthz/'],
    ['GET', '/api/v1/tasks'],
    ['POST', '/healthz'],
    ['DELETE', '/healthz'],
  ] as const) {
    const response = await fetch(server.address + path, { method });
    assert.equal(response.status, 404, `${method} ${path}`);
    const { error } = (await response.json()) as Body;
    assert.equal(error.code, 'NOT_FOUND');
    assert.equal(error.message, `There is no page ${method} ${path}.`);
    assert.match(error.hint, /healthz/);
  }
});

test('a long path is not sent back at its length', async (t) => {
  const server = await serving(t);
  const response = await fetch(`${server.address}/${'x'.repeat(8000)}`);
  assert.equal(response.status, 404);
  assert.ok((await response.text()).length < 500);
});

test('a request for a name that is not this machine is refused with 421', async (t) => {
  const server = await serving(t);
  for (const host of [
    'evil.example',
    'evil.example:7420',
    '10.0.0.1',
    'localhost.evil.example',
    '[::2]',
    'a:b:c',
    '',
  ]) {
    const { status, body } = await ask(server, `GET /healthz HTTP/1.1\r\nHost: ${host}`);
    assert.equal(status, 421, host);
    assert.equal((JSON.parse(body) as Body).error.code, 'INVALID_INPUT');
  }
});

test('every loopback name is answered, with any port and in any case', async (t) => {
  const server = await serving(t);
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.9.9.9:80', '[::1]', '[::1]:7420']) {
    assert.equal((await ask(server, `GET /healthz HTTP/1.1\r\nHost: ${host}`)).status, 200, host);
  }
});

test('a request without a Host header is refused', async (t) => {
  const server = await serving(t);
  assert.equal((await ask(server, 'GET /healthz HTTP/1.1')).status, 400);
  assert.equal((await ask(server, 'GET /healthz HTTP/1.0')).status, 421);
});

test('an address that others can reach is refused before anything listens', async () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.com', '*', '']) {
    await assert.rejects(
      serveHealth({ host, port: 0 }),
      (error: unknown) => isEngineError(error, 'INVALID_INPUT') && /neither tokens nor TLS/.test(error.hint ?? ''),
      host,
    );
  }
});

test('a port in use is named together with the flag that chooses another', async (t) => {
  const server = await serving(t);
  const port = Number(new URL(server.address).port);
  await assert.rejects(serveHealth({ host: '127.0.0.1', port }), (error: unknown) => {
    assert.ok(isEngineError(error, 'CONFLICT'));
    assert.match(error.message, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is already in use`));
    assert.match(error.hint ?? '', /--port/);
    return true;
  });
});

test('connections that cannot be accepted are reported, and neither they nor a log that throws end the process', async (t) => {
  // Node tells who listens; nothing else gets hold of the server inside.
  let inside: Server | undefined;
  const listening = 'tracing:net.server.listen:asyncStart';
  const note = (message: unknown): void => void (inside = (message as { server: Server }).server);
  subscribe(listening, note);
  const warned: unknown[] = [];
  const log = {
    ...SILENT,
    warn: (_message: string, fields?: object) => {
      warned.push(fields);
      throw new Error('the log is gone');
    },
  };
  const server = await serveHealth({ host: '127.0.0.1', port: 0, log });
  t.after(() => server.close());
  unsubscribe(listening, note);
  for (const n of [1, 2, 3]) inside?.emit('error', new Error(`accept EMFILE ${n}`));
  assert.deepEqual(
    warned,
    [1, 2, 3].map((n) => ({ error: `Error: accept EMFILE ${n}` })),
  );
  assert.equal((await fetch(`${server.address}/healthz`)).status, 200);
});

test('closing does not wait for a client that never finishes its request', async () => {
  const server = await serveHealth({ host: '127.0.0.1', port: 0 });
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\nHost: local');
  // Until one whole request has been answered, the other connection may not have reached the server.
  await fetch(`${server.address}/healthz`);
  const ended = once(socket, 'close');
  socket.on('error', () => {});
  await server.close();
  await ended;
  await assert.rejects(fetch(`${server.address}/healthz`));
});
