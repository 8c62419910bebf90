import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { encodePayload } from '../../../core/task/payload.ts';
import { problemOf, tryOut } from '../try-out.test.ts';
import { type HttpOptions, type HttpResult, makeHttp, retryAfterMs } from './http.ts';
import type { ResolvedAddress } from './http-exchange.ts';

interface Peer {
  readonly port: number;
  readonly connections: () => number;
}

async function listen(t: TestContext, server: TcpServer, host = '127.0.0.1'): Promise<Peer> {
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => void sockets.push(socket));
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => sockets.length };
}

/** Whatever the listener returns, also a promise, is of no interest. */
type Answer = (...args: Parameters<RequestListener>) => unknown;

const serve = (t: TestContext, answer: Answer): Promise<Peer> =>
  listen(
    t,
    createServer((request, response) => void answer(request, response)),
  );

const textOf = async (request: IncomingMessage): Promise<string> =>
  (await request.setEncoding('utf8').toArray()).join('');

/** The handler, allowed to talk to this port of this host. */
const talkingTo = ({ port }: Peer, options: HttpOptions = {}) => makeHttp({ allow: [`127.0.0.1:${port}`], ...options });

async function resultOf(peer: Peer, input: object): Promise<HttpResult> {
  const { ended } = await tryOut(talkingTo(peer), { url: `http://127.0.0.1:${peer.port}/`, ...input });
  assert.equal(ended.kind, 'done', JSON.stringify(ended));
  return (ended as { result: HttpResult }).result;
}

const resolvesTo = (...addresses: string[]): NonNullable<HttpOptions['resolve']> => {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

describe('a signed request', () => {
  const sign = { method: 'POST', body: { a: 1 }, sign_env: 'HOOK_KEY' };

  test('it proves who has sent the body, and when', async (t) => {
    const peer = await serve(t, async (request, response) => {
      response.end(JSON.stringify({ said: request.headers['x-leasehold-signature'], body: await textOf(request) }));
    });
    const secretOf = (name: string) => (name === 'HOOK_KEY' ? 'canary' : undefined);
    const handler = talkingTo(peer, { secretOf, now: () => 1_700_000_000_500 });
    const { ended } = await tryOut(handler, { url: `http://127.0.0.1:${peer.port}/`, ...sign });
    assert.equal(ended.kind, 'done', JSON.stringify(ended));
    const { said, body } = JSON.parse((ended as { result: HttpResult }).result.body);
    assert.equal(body, '{"a":1}');
    assert.equal(said, `t=1700000000,v1=${createHmac('sha256', 'canary').update('1700000000.{"a":1}').digest('hex')}`);
  });

  test('a key that the worker may not use, or has not, sends nothing', async (t) => {
    const peer = await serve(t, (_, response) => response.end());
    for (const options of [{}, { secretOf: () => undefined }, { secretOf: () => '' }]) {
      const tried = await tryOut(talkingTo(peer, options), { url: `http://127.0.0.1:${peer.port}/`, ...sign });
      assert.equal(problemOf(tried).code, 'REFUSED');
    }
    const twice = { ...sign, headers: { 'x-leasehold-signature': 'mine' } };
    const tried = await tryOut(talkingTo(peer, { secretOf: () => 'k' }), {
      url: `http://127.0.0.1:${peer.port}/`,
      ...twice,
    });
    assert.notEqual(tried.ended.kind, 'done');
    assert.equal(peer.connections(), 0);
  });
});

describe('a request', () => {
  test('it goes out as it was written, and the answer is the result', async (t) => {
    const peer = await serve(t, async (request, response) => {
      const { method, url, headers } = request;
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
      response.setHeader('Set-Cookie', ['a=1', 'b=2']);
      response.setHeader('X-Many', ['1', '2']);
      response.statusCode = 201;
      response.end(JSON.stringify({ method, url, headers, body: await textOf(request) }));
    });
    const { status, headers, body, ...rest } = await resultOf(peer, {
      method: 'POST',
      url: `http://127.0.0.1:${peer.port}/a%20b?q=ü#part`,
      headers: { 'X-Key': 'väl', 'Content-Type': 'text/csv' },
      body: 'ü,1',
    });
    assert.equal(status, 201);
    assert.deepEqual(rest, { encoding: 'text', truncated: false });
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(headers['x-many'], '1, 2');
    const seen = JSON.parse(body);
    assert.equal(seen.method, 'POST');
    assert.equal(seen.url, '/a%20b?q=%C3%BC');
    assert.equal(seen.body, 'ü,1');
    assert.equal(seen.headers.host, `127.0.0.1:${peer.port}`);
    assert.equal(seen.headers['x-key'], 'väl');
    assert.equal(seen.headers['content-type'], 'text/csv');
    assert.equal(seen.headers['content-length'], '4');
  });

  test('a body that is not a text is sent as JSON, and without a body none is sent', async (t) => {
    const seen: string[] = [];
    const peer = await serve(t, async (request, response) => {
      seen.push(`${request.method} ${request.headers['content-type']} ${await textOf(request)}`);
      response.end();
    });
    await resultOf(peer, { method: 'PUT', body: { a: [null] } });
    await resultOf(peer, { method: 'DELETE' });
    await resultOf(peer, {});
    assert.deepEqual(seen, ['PUT application/json {"a":[null]}', 'DELETE undefined ', 'GET undefined ']);
  });

  test('a redirect is an answer, and nobody goes there', async (t) => {
    const inside = await serve(t, (_request, response) => response.end('secret'));
    const peer = await serve(t, (_request, response) => {
      response.writeHead(302, { Location: `http://127.0.0.1:${inside.port}/` }).end();
    });
    const allow = [`127.0.0.1:${peer.port}`, `127.0.0.1:${inside.port}`];
    const { ended } = await tryOut(makeHttp({ allow }), { url: `http://127.0.0.1:${peer.port}/` });
    const { status, headers } = (ended as { result: HttpResult }).result;
    assert.equal(status, 302);
    assert.equal(headers.location, `http://127.0.0.1:${inside.port}/`);
    assert.equal(inside.connections(), 0);
  });

  test('the name stays in the Host header, though the connection goes to the checked address', async (t) => {
    const peer = await serve(t, (request, response) => response.end(request.headers.host));
    const handler = talkingTo(peer, { resolve: resolvesTo('127.0.0.1') });
    const { ended } = await tryOut(handler, { url: `http://API.test:${peer.port}/` });
    assert.equal((ended as { result: HttpResult }).result.body, `api.test:${peer.port}`);
  });

  test('an IPv6 address keeps its brackets in the Host header', async (t) => {
    const server = createServer((request, response) => void response.end(request.headers.host));
    const peer = await listen(t, server, '::1');
    const { ended } = await tryOut(makeHttp({ allow: [`[::1]:${peer.port}`] }), { url: `http://[::1]:${peer.port}/` });
    assert.equal((ended as { result: HttpResult }).result.body, `[::1]:${peer.port}`);
  });

  test('the name is the one that TLS asks for', async (t) => {
    const { promise: hello, resolve: greeted } = Promise.withResolvers<Buffer>();
    const server = createTcpServer((socket) => {
      socket.once('data', (bytes) => {
        greeted(bytes);
        socket.destroy();
      });
    });
    const peer = await listen(t, server);
    const handler = talkingTo(peer, { resolve: resolvesTo('127.0.0.1') });
    const { ended } = await tryOut(handler, { url: `https://api.test:${peer.port}/` });
    assert.equal(ended.kind, 'failed');
    const bytes = await hello;
    assert.equal(bytes[0], 22, 'a TLS handshake');
    assert.ok(bytes.includes('api.test'), 'the name is not in the first message');
  });
});

describe('the body of an answer', () => {
  const answering = (t: TestContext, headers: Record<string, string>, body: string | Buffer): Promise<Peer> =>
    serve(t, (_request, response) => response.writeHead(200, headers).end(body));

  test('it is text where it says so and is, and base64 otherwise', async (t) => {
    const cases: [Record<string, string>, Buffer, string, string][] = [
      [{ 'Content-Type': 'text/plain' }, Buffer.from('grün'), 'text', 'grün'],
      [{ 'Content-Type': 'Application/Problem+JSON' }, Buffer.from('{}'), 'text', '{}'],
      [{ 'Content-Type': 'text/plain; charset="ISO-8859-1"' }, Buffer.from([0x67, 0xfc]), 'text', 'gü'],
      [{}, Buffer.from('no type'), 'text', 'no type'],
      [{}, Buffer.from([0xff, 0xfe, 0]), 'base64', '//4A'],
      [{ 'Content-Type': 'image/png' }, Buffer.from('png'), 'base64', 'cG5n'],
      [{ 'Content-Type': 'text/plain' }, Buffer.from([0xff]), 'base64', '/w=='],
      [{ 'Content-Type': 'text/plain' }, Buffer.from('a\0b'), 'base64', 'YQBi'],
      [{ 'Content-Type': 'text/plain; charset=klingon' }, Buffer.from('nuq'), 'base64', 'bnVx'],
      [{ 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' }, Buffer.from('zip'), 'base64', 'emlw'],
      [{ 'Content-Type': 'text/plain' }, Buffer.alloc(0), 'text', ''],
    ];
    for (const [headers, bytes, encoding, body] of cases) {
      const result = await resultOf(await answering(t, headers, bytes), {});
      assert.deepEqual([result.encoding, result.body], [encoding, body], JSON.stringify(headers));
    }
  });

  test('an endless one is cut, the connection closed, and the result can be stored', async (t) => {
    const fills: [string, string][] = [
      ['text/plain', 'é'.repeat(10_000)],
      ['text/plain', '\u0001"'.repeat(10_000)],
      ['image/png', 'x'.repeat(10_000)],
    ];
    for (const [type, chunk] of fills) {
      const closed = Promise.withResolvers<void>();
      const peer = await serve(t, (_request, response) => {
        response.writeHead(200, { 'Content-Type': type });
        const more = (): void => {
          while (response.write(chunk));
        };
        response.on('drain', more).on('close', closed.resolve);
        more();
      });
      const result = await resultOf(peer, {});
      await closed.promise;
      assert.equal(result.truncated, true);
      const size = encodePayload(result).length;
      assert.ok(size > 400_000 && size <= 1_048_576, `${size}`);
      if (type === 'text/plain') assert.ok(chunk.repeat(100).startsWith(result.body.slice(0, 100_000)));
    }
  });

  test('a large body is not cut before it must be', async (t) => {
    const body = 'x'.repeat(900 * 1024);
    const result = await resultOf(await answering(t, { 'Content-Type': 'text/plain' }, body), {});
    assert.deepEqual([result.truncated, result.body.length], [false, body.length]);
  });

  test('a header called __proto__ harms nobody', async (t) => {
    const server = createTcpServer((socket) => {
      socket.end('HTTP/1.1 200 OK\r\n__proto__: evil\r\nconstructor: x\r\nContent-Length: 0\r\n\r\n');
    });
    const result = await resultOf(await listen(t, server), {});
    assert.deepEqual(Object.entries(result.headers), [
      ['constructor', 'x'],
      ['content-length', '0'],
    ]);
    encodePayload(result);
  });
});

describe('an answer that is not good', () => {
  const answering = (t: TestContext, status: number, headers: Record<string, string> = {}, body = ''): Promise<Peer> =>
    serve(t, (_request, response) => response.writeHead(status, headers).end(body));
  const endOf = async (peer: Peer) =>
    await tryOut(talkingTo(peer), { url: `http://127.0.0.1:${peer.port}/path?token=canary` });

  test('a refusal is final, and the error quotes it without the path of the request', async (t) => {
    const peer = await answering(t, 404, { 'Content-Type': 'text/plain' }, 'no\u0007\nsuch thing');
    assert.deepEqual(problemOf(await endOf(peer)), {
      kind: 'giveUp',
      code: 'HTTP_404',
      message: `http://127.0.0.1:${peer.port} answered with status 404: no such thing`,
    });
  });

  test('a fault of the server, and what only came at the wrong time, are tried again', async (t) => {
    for (const status of [500, 502, 503, 599, 408, 425, 429]) {
      const problem = problemOf(await endOf(await answering(t, status)));
      assert.equal(problem.kind, 'failed', `${status}`);
      assert.equal(problem.code, `HTTP_${status}`);
    }
    for (const status of [400, 401, 403, 405, 410, 422, 451]) {
      assert.equal((await endOf(await answering(t, status))).ended.kind, 'giveUp', `${status}`);
    }
  });

  test('a server that says when to come back is believed', async (t) => {
    for (const status of [429, 503]) {
      const { ended } = await endOf(await answering(t, status, { 'Retry-After': '120' }));
      assert.equal(ended.kind, 'retryAfter');
      assert.equal((ended as { delayMs: number }).delayMs, 120_000);
    }
    assert.equal((await endOf(await answering(t, 500, { 'Retry-After': '120' }))).ended.kind, 'failed');
    assert.equal((await endOf(await answering(t, 503, { 'Retry-After': 'soon' }))).ended.kind, 'failed');
  });

  test('Retry-After is seconds or a date, from a second to a day', () => {
    const now = Date.UTC(2026, 0, 5, 12);
    assert.equal(retryAfterMs('120', now), 120_000);
    assert.equal(retryAfterMs('Mon, 05 Jan 2026 12:05:00 GMT', now), 300_000);
    assert.equal(retryAfterMs('0', now), 1_000);
    assert.equal(retryAfterMs('Mon, 05 Jan 2026 11:00:00 GMT', now), 1_000);
    assert.equal(retryAfterMs('9999999999999999999999', now), 86_400_000);
    for (const text of ['soon', '-1', '1.5', '']) assert.equal(retryAfterMs(text, now), undefined, text);
    assert.equal(retryAfterMs(undefined, now), undefined);
  });

  test('a server that never answers, or never ends its answer, is a timeout', async (t) => {
    const silent = await serve(t, () => {});
    const dripping = await serve(t, (_request, response) => void response.writeHead(200).write('x'));
    for (const peer of [silent, dripping]) {
      const problem = problemOf(
        await tryOut(talkingTo(peer), { url: `http://127.0.0.1:${peer.port}/`, timeout_ms: 50 }),
      );
      assert.deepEqual(problem, {
        kind: 'failed',
        code: 'TIMEOUT',
        message: `http://127.0.0.1:${peer.port} did not answer in time.`,
      });
    }
  });

  test('a name that is never resolved is a timeout too', async () => {
    const handler = makeHttp({ resolve: () => new Promise(() => {}) });
    assert.equal(problemOf(await tryOut(handler, { url: 'http://slow.test/', timeout_ms: 20 })).code, 'TIMEOUT');
  });

  test('a stop ends the exchange at once', async (t) => {
    const stop = new AbortController();
    const gone = Promise.withResolvers<void>();
    const peer = await serve(t, (_request, response) => {
      response.on('close', gone.resolve);
      stop.abort(new Error('cancelled'));
    });
    const tried = await tryOut(talkingTo(peer), { url: `http://127.0.0.1:${peer.port}/` }, stop.signal);
    assert.equal(problemOf(tried).message, 'cancelled');
    await gone.promise;
  });

  test('a connection that breaks is tried again', async (t) => {
    const peer = await listen(
      t,
      createTcpServer((socket) => socket.destroy()),
    );
    assert.equal((await endOf(peer)).ended.kind, 'failed');
    const closed = await listen(t, createTcpServer());
    const unused = { ...closed, port: 1 };
    assert.equal(problemOf(await endOf(unused)).code, 'ECONNREFUSED');
  });
});

describe('destinations', () => {
  /** Listens on every address of this host: whatever gets through is counted, wherever it was aimed. */
  async function trap(t: TestContext): Promise<Peer> {
    const server: Server = createServer((_request, response) => response.end('caught'));
    return await listen(t, server, '::').catch(() => listen(t, server, '0.0.0.0'));
  }

  test('no way of writing an address of this host or of its networks leads there', async (t) => {
    const peer = await trap(t);
    const hosts = `127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 017700000001 0x7f000001 0x7f.1 0177.0.0.1
      0x7F.0x0.0x0.0x1 127.0.0.1. １２７.０.０.１ ①②⑦.0.0.1 0.0.0.0 0 0x0 [::] [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1]
      [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::127.0.0.1] [2002:7f00:1::]
      [2001:0:7f00:1::] [::ffff:0:127.0.0.1] [fe80::1] [fe80::5efe:127.0.0.1] [2606:4700::5efe:127.0.0.1]
      localhost LOCALHOST 10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376
      [::ffff:169.254.169.254] [fd00:ec2::254] 100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.192 224.0.0.1 255.255.255.255
      240.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 192.88.99.1 [2001:db8::1] [3fff::1] [fc00::1] [fec0::1] [ff02::1]`;
    // The port is open for the Internet, so that it is the address which is refused.
    const handler = makeHttp({ allow: [`*:${peer.port}`] });
    for (const host of hosts.trim().split(/\s+/)) {
      for (const scheme of ['http', 'https']) {
        const problem = problemOf(await tryOut(handler, { url: `${scheme}://${host}:${peer.port}/` }));
        assert.deepEqual([problem.kind, problem.code], ['giveUp', 'REFUSED'], `${host}: ${problem.message}`);
      }
    }
    assert.equal(peer.connections(), 0);
  });

  test('a name that leads there is refused, even with good addresses beside, and the error names no address', async (t) => {
    const peer = await trap(t);
    const answers = [
      ['127.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['93.184.216.34', '127.0.0.1'],
      ['10.0.0.1', '1.1.1.1'],
      ['fe80::1%lo'],
      ['nonsense'],
    ];
    for (const addresses of answers) {
      const handler = makeHttp({ allow: [`*:${peer.port}`], resolve: resolvesTo(...addresses) });
      const { kind, code, message } = problemOf(await tryOut(handler, { url: `http://rebind.test:${peer.port}/` }));
      assert.deepEqual([kind, code], ['giveUp', 'REFUSED'], addresses.join());
      assert.equal(
        message,
        'The request was not sent: rebind.test leads to a destination that this worker may not reach.',
      );
    }
    assert.equal(peer.connections(), 0);
  });

  test('a name is asked once: what it says afterwards changes nothing', async (t) => {
    const other = await trap(t);
    const peer = await serve(t, (_request, response) => response.end('right'));
    let asked = 0;
    const resolve = async (): Promise<readonly ResolvedAddress[]> => {
      asked++;
      return [asked === 1 ? { address: '127.0.0.1', family: 4 } : { address: '127.0.0.2', family: 4 }];
    };
    const { ended } = await tryOut(talkingTo(peer, { resolve }), { url: `http://flip.test:${peer.port}/` });
    assert.equal((ended as { result: HttpResult }).result.body, 'right');
    assert.equal(asked, 1);
    assert.equal(other.connections(), 0);
  });

  test('ports beside 80 and 443 are refused before any name is asked', async () => {
    let asked = 0;
    const resolve = async (): Promise<readonly ResolvedAddress[]> => {
      asked++;
      return [];
    };
    for (const port of [22, 25, 6379, 8080, 65_535]) {
      const { kind, code } = problemOf(await tryOut(makeHttp({ resolve }), { url: `http://example.com:${port}/` }));
      assert.deepEqual([kind, code], ['giveUp', 'REFUSED']);
    }
    assert.equal(asked, 0);
  });

  test('an exception for a name holds for the name alone', async (t) => {
    const peer = await serve(t, (_request, response) => response.end('in'));
    const handler = makeHttp({ allow: [`build.internal:${peer.port}`], resolve: resolvesTo('127.0.0.1') });
    assert.equal((await tryOut(handler, { url: `http://build.internal:${peer.port}/` })).ended.kind, 'done');
    assert.equal((await tryOut(handler, { url: `http://other.internal:${peer.port}/` })).ended.kind, 'giveUp');
    assert.equal((await tryOut(handler, { url: `http://127.0.0.1:${peer.port}/` })).ended.kind, 'giveUp');
    assert.equal(peer.connections(), 1);
  });

  test('the handler as it comes allows nothing private', async () => {
    assert.equal(problemOf(await tryOut(makeHttp(), { url: 'http://127.0.0.1/' })).code, 'REFUSED');
  });
});

describe('inputs', () => {
  const refusals: [string, object, RegExp][] = [
    ['a file', { url: 'file:///etc/passwd' }, /url: must begin with http/],
    ['another scheme', { url: 'gopher://example.com:70/_' }, /url: must begin with http/],
    ['data', { url: 'data:text/plain,x' }, /url: must begin with http/],
    ['no URL', { url: 'example.com' }, /url: is not a URL/],
    ['a port out of range', { url: 'http://example.com:99999/' }, /url: is not a URL/],
    ['a user', { url: 'http://user@example.com/' }, /url: must not contain a user/],
    ['a password', { url: 'https://:secret@example.com/' }, /url: must not contain a user/],
    ['a user that looks like a host', { url: 'http://example.com@127.0.0.1/' }, /url: must not contain a user/],
    ['a backslash', { url: 'http://example.com\\@127.0.0.1/' }, /url: must not contain spaces/],
    ['a newline', { url: 'http://example.com/\r\nHost: evil' }, /url: must not contain spaces/],
    ['a tab in the scheme', { url: 'ht\ttp://example.com/' }, /url: must not contain spaces/],
    ['a space before', { url: ' http://example.com/' }, /url: must not contain spaces/],
    ['a URL without end', { url: `http://example.com/${'a'.repeat(9_000)}` }, /url: must not be longer/],
    ['another method', { method: 'CONNECT' }, /method: must be one of GET/],
    ['a method with more in it', { method: 'GET / HTTP/1.1\r\nX: y' }, /method: must be one of GET/],
    ['a second header in a value', { headers: { 'X-A': 'b\r\nHost: evil' } }, /headers\.X-A: has characters/],
    ['a NUL in a value', { headers: { 'X-A': 'b\0' } }, /headers\.X-A: has characters/],
    ['a value beyond Latin 1', { headers: { 'X-A': '☃' } }, /headers\.X-A: has characters/],
    ['a header in a name', { headers: { 'X-A: b\r\nX-B': 'c' } }, /is not the name of a header/],
    ['an empty name', { headers: { '': 'c' } }, /is not the name of a header/],
    ['a name given twice', { headers: { Accept: 'a', accept: 'b' } }, /headers\.accept: is given twice/],
    ['a body for GET', { body: 'x' }, /body: a GET request has none/],
    ['no time', { timeout_ms: 0 }, /timeout_ms: must be a whole number/],
    ['a misspelt field', { header: {} }, /header: there is no such field/],
    ['its own exceptions', { allow: ['127.0.0.1'] }, /allow: there is no such field/],
    ...[
      'Host',
      'connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'content-length',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'Proxy-Authorization',
      'Proxy-Connection',
    ].map((name): [string, object, RegExp] => [name, { headers: { [name]: 'x' } }, /is set by the worker itself/]),
  ];
  for (const [what, input, expected] of refusals) {
    test(`refused: ${what}`, async () => {
      const { kind, message } = problemOf(await tryOut(makeHttp(), { url: 'http://example.com/', ...input }));
      assert.equal(kind, 'giveUp');
      assert.match(message, expected);
    });
  }
});

test('a server that changes the protocol unasked ends the attempt and does not hang it', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    );
  });
  const peer = await listen(t, server);
  const tried = await tryOut(talkingTo(peer), { url: `http://127.0.0.1:${peer.port}/`, timeout_ms: 20_000 });
  assert.equal(tried.ended.kind, 'failed');
  assert.match(problemOf(tried).message, /another protocol \(101\)/);
});
