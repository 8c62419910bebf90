/** Attacks on the connection itself: slow, many, large, and never ending. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { NodeScene } from '../support/node-scene.ts';
import { RawWorker } from '../support/raw-worker.ts';
import { bytes, codeOf, comeIn, dial, hire, target, until } from './scene.ts';

const PATIENCE = { headersMs: 2000, requestMs: 4000 };

/** What came on a socket until the other side closed it. */
async function ended(socket: Socket): Promise<string> {
  const chunks = await Array.fromAsync(socket as AsyncIterable<Buffer>).catch(() => []);
  return Buffer.concat(chunks).toString();
}

/** Says something of a text now and then, and never all of it, until it is hung up on. */
function drip(t: TestContext, socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.writable) socket.write(text[at++ % text.length] ?? 'x');
  }, 100);
  socket.once('close', () => clearInterval(timer));
  t.after(() => clearInterval(timer));
}

async function isWell(node: NodeScene): Promise<boolean> {
  return (await node.ask('/readyz')).status === 200;
}

test('A34: who never finishes a head or a body is hung up on, whether it says nothing, a little, or always a little more', async (t) => {
  const { node } = await target(t, { patience: PATIENCE });
  const head = `POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${node.admin}\r\nContent-Type: application/json\r\n`;
  const silent = await dial(t, node);
  const half = await dial(t, node);
  half.write('GET /healthz HTTP/1.1\r\nHost: localh');
  const slow = await dial(t, node);
  slow.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ');
  drip(t, slow, 'abc');
  const body = await dial(t, node);
  body.write(`${head}Content-Length: 100000\r\n\r\n{"queue":"q","input":"`);
  drip(t, body, 'abc');
  const chunked = await dial(t, node);
  chunked.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  drip(t, chunked, '1\r\na\r\n');
  const said = await Promise.all([silent, half, slow, body, chunked].map(ended));
  for (const answer of said) assert.match(answer, /^$|^HTTP\/1\.1 408 /);
  assert.equal(await isWell(node), true);
  assert.deepEqual(await node.engine.queues(), []);
});

test('A34: heads that are too large, and bodies that lie about how large they are, end with their connection', async (t) => {
  const { node } = await target(t, { patience: PATIENCE });
  const local = 'Host: localhost\r\n';
  const known = `${local}Authorization: Bearer ${node.admin}\r\nContent-Type: application/json\r\n`;
  const flood = Array.from({ length: 5000 }, (_, n) => `X-${n}: ${n}`).join('\r\n');
  for (const head of [
    `GET /healthz HTTP/1.1\r\n${local}${flood}`,
    `GET /healthz HTTP/1.1\r\n${local}X: ${'y'.repeat(100_000)}`,
    `GET /${'y'.repeat(100_000)} HTTP/1.1\r\n${local}`.trimEnd(),
  ]) {
    const { status } = await bytes(t, node, head);
    // Who still sends when it is hung up on may not hear why.
    assert.ok(status === 431 || Number.isNaN(status), String(status));
  }
  const chunked = `POST /api/v1/tasks HTTP/1.1\r\n${known}Transfer-Encoding: chunked`;
  for (const chunk of ['ffffffffffffffff\r\nx', '-1\r\nx', 'zz\r\nx', '1;ext=a\r\nab']) {
    const { status } = await bytes(t, node, chunked, chunk);
    // A size that could be is waited for, as long as any.
    assert.equal(status, chunk.startsWith('ff') ? 408 : 400, chunk);
  }
  const million = `${(1024 * 1024).toString(16)}\r\n${'x'.repeat(1024 * 1024)}\r\n`;
  const huge = await dial(t, node);
  huge.write(`${chunked}\r\n\r\n`);
  const answer = ended(huge);
  for (let n = 0; n < 40 && huge.writable; n++) {
    if (!huge.write(million)) await Promise.race([once(huge, 'drain'), once(huge, 'close')]).catch(() => {});
  }
  assert.match(await answer, /^$|^HTTP\/1\.1 4(13|08) /);
  const both = `POST /api/v1/tasks HTTP/1.1\r\n${known}Transfer-Encoding: chunked\r\nContent-Length: 4`;
  assert.equal((await bytes(t, node, both, '0\r\n\r\n')).status, 400, 'no request is smuggled');
  assert.equal(
    (await bytes(t, node, `POST /api/v1/tasks HTTP/1.1\r\n${known}Content-Length: 5\r\nContent-Length: 6`, 'hello'))
      .status,
    400,
  );
  assert.equal(await isWell(node), true);
});

test('A34: one address has so many connections and no more, and others of its own are welcome again when some end', async (t) => {
  const { node } = await target(t, { maxConnections: 20 });
  const sockets: Socket[] = [];
  for (let n = 0; n < 20; n++) sockets.push(await dial(t, node));
  const more = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = await dial(t, node).catch(() => undefined);
      if (socket === undefined) return '';
      socket.on('error', () => {});
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      return ended(socket);
    }),
  );
  assert.deepEqual([...new Set(more)], [''], 'nobody of the rest is answered');
  const upgrade = new WebSocket(`${node.service.address.replace('http', 'ws')}/ws/agent`);
  await assert.rejects(once(upgrade, 'open'));
  for (const socket of sockets) socket.destroy();
  await until(async () => (await node.ask('/healthz', { token: null }).catch(() => undefined))?.status === 200);
});

test('A34: one token has so many streams and no more', async (t) => {
  const { node } = await target(t, { maxStreams: 3 });
  const { token } = await node.token('read');
  const gone = new AbortController();
  t.after(() => gone.abort());
  const open = (): Promise<Response> =>
    fetch(node.url('/api/v1/events'), { headers: { authorization: `Bearer ${token}` }, signal: gone.signal });
  assert.deepEqual(await Promise.all([open(), open(), open()].map(async (one) => (await one).status)), [200, 200, 200]);
  const refused = await node.ask('/api/v1/events', { token });
  assert.equal(codeOf(refused), '429 TOO_MANY');
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.equal((await node.ask('/api/v1/tasks', { token })).status, 200, 'and asks for everything else as before');
  gone.abort();
  const later = new AbortController();
  t.after(() => later.abort());
  await until(async () => {
    const again = await fetch(node.url('/api/v1/events'), {
      headers: { authorization: `Bearer ${token}` },
      signal: later.signal,
    });
    return again.status === 200;
  });
});

test('A34: a flood of pings costs its sender its connection, or nothing; nobody else notices', async (t) => {
  const { node } = await target(t);
  const { worker } = await hire(node, 'flood');
  const quiet = await hire(node, 'quiet');
  const before = process.memoryUsage().rss;
  // Answers that it never reads.
  worker.socket.pause();
  const payload = Buffer.alloc(125, 'x');
  for (let n = 0; n < 300_000 && worker.socket.readyState === worker.socket.OPEN; n++) {
    worker.socket.ping(payload, true, () => {});
    if (n % 10_000 === 0) await quiet.worker.quiet();
  }
  await quiet.worker.quiet();
  assert.equal(await isWell(node), true);
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
  assert.ok(grown < 400, `${grown.toFixed()} MiB, those of the sender in this process included`);
  worker.socket.terminate();
});

test('A34: nothing is unpacked: compression is not agreed to, and a frame that claims it ends its connection', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'bomb' } });
  const socket = new WebSocket(`${node.service.address.replace('http', 'ws')}/ws/agent`, { perMessageDeflate: true });
  const worker = new RawWorker(socket);
  await once(socket, 'open');
  assert.equal(socket.extensions, '');
  await worker.enter({ name: 'bomb', secret });
  // RSV1 set, masked with zeros: what a client that does not care would send.
  const raw = (socket as unknown as { _socket: Socket })._socket;
  raw.write(Buffer.concat([Buffer.from([0xc1, 0x84, 0, 0, 0, 0]), Buffer.from([0xff, 0xff, 0xff, 0xff])]));
  assert.notEqual((await worker.closed).code, 1000);
  const packed = await node.ask('/api/v1/tasks', { body: '{"queue":"q"}', headers: { 'content-encoding': 'gzip' } });
  assert.ok(packed.status === 201 || packed.status === 400, 'a body is taken as it is');
  assert.equal(await isWell(node), true);
});

test('A34: a frame that is announced larger than any may be, and pieces that never end, are cut off', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'large' } });
  const enter = (): Promise<RawWorker> => comeIn(node, { name: 'large', secret, incarnation: 'one' });
  const announced = await enter();
  const raw = (announced.socket as unknown as { _socket: Socket })._socket;
  raw.write(Buffer.from([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
  await announced.closed;
  const pieces = await enter();
  const piece = 'x'.repeat(512 * 1024);
  for (let n = 0; n < 20 && pieces.socket.readyState === pieces.socket.OPEN; n++) {
    pieces.socket.send(piece, { fin: false }, () => {});
    await new Promise((resolve) => void setImmediate(resolve));
  }
  assert.notEqual((await pieces.closed).code, 1000);
  assert.equal(await isWell(node), true);
});
