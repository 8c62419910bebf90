import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Server as NetServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { SILENT } from '../engine/log.ts';
import { Server, type ServerOptions } from './server.ts';

/** A server whose store is not open yet: what it says of itself. */
async function serving(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Server> {
  const server = await Server.listen({ host: '127.0.0.1', port: 0, version: '0', ...options });
  t.after(() => server.close());
  return server;
}

/** One request as bytes on a socket, so that the test decides every header. Resolves to status, headers and body. */
async function ask(server: Server, head: string): Promise<{ status: number; headers: string; body: string }> {
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
  const response = await fetch(`${server.address}/healthz`);
  assert.equal(response.status, 200);
  assert.match(String(response.headers.get('content-type')), /^application\/json/);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.match(String(response.headers.get('x-request-id')), /^[0-9a-f-]{36}$/);
  assert.deepEqual(await response.json(), { status: 'ok' });
});

test('HEAD /healthz answers 200 without a body', async (t) => {
  const server = await serving(t);
  const response = await fetch(`${server.address}/healthz`, { method: 'HEAD' });
  assert.equal(response.status, 200);
  assert.equal(await response.text(), '');
});

test('before its store is open it lives, is not ready, and answers nothing else', async (t) => {
  const server = await serving(t);
  const ready = await fetch(`${server.address}/readyz`);
  assert.equal(ready.status, 503);
  assert.deepEqual(await ready.json(), { status: 'not ready' });
  const tasks = await fetch(`${server.address}/api/v1/tasks`, { headers: { authorization: 'Bearer x' } });
  assert.equal(tasks.status, 503);
  assert.equal(tasks.headers.get('retry-after'), '1');
});

test('what is not in the table of routes is 404 with the error body', async (t) => {
  const server = await serving(t);
  for (const [method, path] of [
    ['PUT', '/'],
    ['GET', '/healthz/'],
    ['POST', '/healthz'],
    ['DELETE', '/healthz'],
    ['GET', '/api/v1/nothing'],
  ] as const) {
    const response = await fetch(server.address + path, { method });
    assert.equal(response.status, 404, `${method} ${path}`);
    const { error } = (await response.json()) as Body;
    assert.equal(error.code, 'NOT_FOUND');
    assert.equal(error.message, `There is no page ${method} ${path}.`);
    assert.match(error.hint, /openapi/);
  }
});

test('a long path is not sent back at its length', async (t) => {
  const server = await serving(t);
  const response = await fetch(`${server.address}/${'x'.repeat(9000)}`);
  assert.equal(response.status, 404);
  assert.ok((await response.text()).length < 1000);
});

test('a request for a name that is not this host is refused with 421', async (t) => {
  const server = await serving(t);
  for (const host of ['evil.example', 'evil.example:7420', '127.0.0.1.evil.example', 'localhost.evil.example', '']) {
    const { status, body } = await ask(server, `GET /healthz HTTP/1.1\r\nHost: ${host}`);
    assert.equal(status, 421, host);
    assert.equal((JSON.parse(body) as Body).error.code, 'WRONG_HOST');
  }
});

test('every loopback name is answered, with any port and in any case, and so is a name that was configured', async (t) => {
  const server = await serving(t, { names: ['tasks.example.org'] });
  for (const host of ['127.0.0.1', 'localhost:1', 'LOCALHOST', '127.9.9.9:80', '[::1]:7420', 'Tasks.Example.org']) {
    assert.equal((await ask(server, `GET /healthz HTTP/1.1\r\nHost: ${host}`)).status, 200, host);
  }
});

test('a request without a Host header is refused', async (t) => {
  const server = await serving(t);
  assert.equal((await ask(server, 'GET /healthz HTTP/1.0')).status, 421);
});

test('a page of another site may not call, our own may', async (t) => {
  const server = await serving(t);
  const { host } = new URL(server.address);
  const from = async (header: string): Promise<number> =>
    (await ask(server, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${header}`)).status;
  assert.equal(await from('Origin: https://evil.example'), 403);
  assert.equal(await from('Origin: null'), 403);
  assert.equal(await from(`Origin: http://${host}.evil.example`), 403);
  assert.equal(await from('Sec-Fetch-Site: cross-site'), 403);
  assert.equal(await from(`Origin: http://${host}`), 200);
});

test('no answer lets pages of other sites read it', async (t) => {
  const server = await serving(t);
  const { host } = new URL(server.address);
  for (const origin of [`http://${host}`, 'https://evil.example']) {
    const { headers } = await ask(server, `OPTIONS /api/v1/tasks HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}`);
    assert.doesNotMatch(headers, /access-control/);
  }
});

test('an address that others can reach is refused before anything listens, unless TLS or a proxy guards it', async (t) => {
  for (const host of ['0.0.0.0', '192.0.2.1', '::', 'example.org']) {
    const error = await Server.listen({ host, port: 0, version: '0' }).catch((reason: unknown) => reason);
    assert.ok(isEngineError(error, 'INVALID_INPUT'));
    assert.match(String(error.hint), /--tls-cert/);
  }
  const behind = await serving(t, { host: '0.0.0.0', insecure: true });
  const { port } = new URL(behind.address);
  const asked = await fetch(`http://127.0.0.1:${port}/healthz`);
  assert.equal(asked.status, 200);
});

test('a port in use is named together with the flag that chooses another', async (t) => {
  const server = await serving(t);
  const port = Number(new URL(server.address).port);
  const error = await Server.listen({ host: '127.0.0.1', port, version: '0' }).catch((reason: unknown) => reason);
  assert.ok(isEngineError(error, 'CONFLICT'));
  assert.match(String(error.hint), /--port/);
});

test('connections that cannot be accepted are reported, and neither they nor a log that throws end the process', async (t) => {
  let opened: NetServer | undefined;
  const hear = (message: unknown): void => {
    opened = (message as { server: NetServer }).server;
  };
  subscribe('http.server.request.start', hear);
  const warned: string[] = [];
  const log = {
    ...SILENT,
    warn: (message: string) => {
      warned.push(message);
      throw new Error('a log that throws');
    },
  };
  const server = await serving(t, { log });
  await fetch(`${server.address}/healthz`);
  unsubscribe('http.server.request.start', hear);
  opened?.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
  assert.deepEqual(warned, ['the server had an error and goes on']);
  assert.equal((await fetch(`${server.address}/healthz`)).status, 200);
});

test('closing does not wait for a client that never finishes its request', async () => {
  const server = await Server.listen({ host: '127.0.0.1', port: 0, version: '0' });
  const { hostname, port } = new URL(server.address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await server.close();
  await closed;
});
