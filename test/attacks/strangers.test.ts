/** Attacks of callers that have no token: bodies, keys, lists and first messages that cost the node more than the caller. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type TestContext, test } from 'node:test';
import { MAX_FRAME_BYTES } from '../../src/protocol/frames.ts';
import type { Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import type { Answer, NodeScene } from '../support/node-scene.ts';
import { RawWorker } from '../support/raw-worker.ts';
import { bytes, codeOf, dial, hire, target, until } from './scene.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);
const OPEN_BYTES = 4096;
const MIB = 1024 * 1024;

const headOf = (method: string, path: string, more: Readonly<Record<string, string | number>> = {}): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');

/** The first line of what comes back, of a socket that is left open. */
async function statusOf(socket: Socket): Promise<number> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return Number(chunk.toString().split(' ')[1]);
}

/** How long the event loop stood still at most while this was done, in milliseconds. */
async function longestStop(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e6;
}

const openPosts = [
  ...ALL.filter(([, { access, method }]) => access === 'open' && method === 'POST').map(([, { path }]) => path),
  '/ui/csp-report',
  '/no/such/page',
];

test('A64: a route that needs no token reads 4 KiB, and refuses a longer body before it comes', async (t) => {
  const { node } = await target(t);
  assert.deepEqual(openPosts.toSorted(), [
    '/api/v1/hooks/{name}',
    '/api/v1/workers/enrol',
    '/no/such/page',
    '/ui/csp-report',
    '/ui/login',
  ]);
  for (const path of openPosts) {
    const socket = await dial(t, node);
    // Not one byte of the body is sent: the answer does not wait for it.
    socket.write(`${headOf('POST', path, { 'Content-Length': OPEN_BYTES + 1 })}\r\n\r\n`);
    // A delivery to a trigger that is not there is refused by its head.
    assert.equal(await statusOf(socket), /page|hooks/.test(path) ? 404 : 413, path);
  }
  for (const path of ['/api/v1/workers/enrol', '/ui/login']) {
    // Without a length the byte that is too much is refused.
    const chunk = `${(OPEN_BYTES + 1).toString(16)}\r\n${'x'.repeat(OPEN_BYTES + 1)}\r\n`;
    const { status, body } = await bytes(t, node, headOf('POST', path, { 'Transfer-Encoding': 'chunked' }), chunk);
    assert.equal(status, 413, path);
    assert.match(body, /4096/);
    const fits = JSON.stringify({ code: 'x'.repeat(OPEN_BYTES - 11) });
    assert.equal(fits.length, OPEN_BYTES);
    const small = await node.ask(path, { body: fits, token: null });
    assert.ok([400, 401].includes(small.status), `${path} ${small.status}`);
  }
});

test('A64: a caller without a good token is refused before its body is read, and cut off when the body does not end', async (t) => {
  const { node } = await target(t);
  const writes = ALL.filter(([, { method, access }]) => method !== 'GET' && access !== 'open');
  assert.ok(writes.length > 20);
  const tokens = {
    none: {},
    wrong: { Authorization: `Bearer lh_adm_${'x'.repeat(43)}` },
    odd: { Authorization: 'Basic eA==' },
  };
  for (const [, { method, path }] of writes) {
    for (const [kind, headers] of Object.entries(tokens)) {
      const socket = await dial(t, node);
      socket.write(`${headOf(method, path.replace(/\{\w+\}/g, '1'), { ...headers, 'Content-Length': MIB })}\r\n\r\n{`);
      assert.equal(await statusOf(socket), 401, `${method} ${path} ${kind}`);
      socket.destroy();
    }
  }
  const socket = await dial(t, node);
  socket.write(`${headOf('POST', '/api/v1/tasks', { 'Content-Length': MIB })}\r\n\r\n{`);
  assert.equal(await statusOf(socket), 401);
  await once(socket.resume(), 'close');
});

test('A64: bodies that never end hold a bounded memory, and callers with a token are served meanwhile', {
  timeout: 120_000,
}, async (t) => {
  const { node } = await target(t);
  const { token } = await node.token('operator');
  const authorization = `Bearer ${token}`;
  const hold = async (): Promise<Socket> => {
    const socket = await dial(t, node);
    const size = 16 * MIB - 1;
    socket.write(
      `${headOf('POST', '/api/v1/tasks', { Authorization: authorization, 'Content-Length': size + 1 })}\r\n\r\n`,
    );
    socket.write(Buffer.alloc(size, 0x20));
    await until(() => socket.writableLength === 0);
    return socket.resume();
  };
  const held = [await hold(), await hold(), await hold(), await hold()];
  // The fifth body of this caller finds no room, and is told when to come again.
  const { status, head } = await (async () => {
    for (;;) {
      // A push may come before the last bytes of the fourth body, which is then the one that finds no room.
      for (const [i, socket] of held.entries()) if (socket.destroyed) held[i] = await hold();
      const pad = JSON.stringify({ queue: 'q', handler: 'h', input: 'x'.repeat(500_000) });
      const raw = await bytes(
        t,
        node,
        headOf('POST', '/api/v1/tasks', { Authorization: authorization, 'Content-Length': pad.length }),
        pad,
      );
      if (raw.status !== 201) return raw;
    }
  })();
  assert.equal(status, 429);
  assert.match(head, /retry-after: \d/);
  // Others have their own share.
  assert.equal((await node.ask('/api/v1/tasks', { body: { queue: 'q', handler: 'h' } })).status, 201);
  for (const socket of held) socket.destroy();
  await until(
    async () =>
      (await node.ask('/api/v1/tasks', { token, body: { queue: 'q', handler: 'h', input: 'x'.repeat(500_000) } }))
        .status === 201,
  );
});

test('A64: strangers hold a megabyte together, and nobody with a token notices', async (t) => {
  const { node } = await target(t);
  const body = ' '.repeat(OPEN_BYTES - 1);
  const holding: Socket[] = [];
  let refused = 0;
  for (let i = 0; i < 300; i++) {
    const socket = await dial(t, node);
    socket.on('data', (chunk) => void (refused += / 429 /.test(chunk.toString()) ? 1 : 0));
    socket.write(`${headOf('POST', '/ui/login', { 'Content-Length': OPEN_BYTES })}\r\n\r\n${body}`);
    holding.push(socket);
  }
  await until(() => refused >= 300 - 257);
  assert.ok(refused <= 300 - 256, `${refused} were refused`);
  assert.equal((await node.ask('/api/v1/tasks', { body: { queue: 'q', handler: 'h' } })).status, 201);
  for (const socket of holding) socket.destroy();
  await until(async () => (await node.ask('/ui/login', { token: null, body: { code: 'x' } })).status === 401);
});

/** A body each of more than a million keys, objects or entries. */
const crowds: Readonly<Record<string, () => string>> = {
  'a million keys': () => `{${Array.from({ length: 1_100_000 }, (_, i) => `"k${i}":1`).join()}}`,
  'a million objects': () => `{"tasks":[${'{},'.repeat(1_100_000)}{}]}`,
  'a million lists': () => `{"tasks":[${'[],'.repeat(1_100_000)}[]]}`,
  'a million keys, one to an object': () => `[${Array.from({ length: 900_000 }, (_, i) => `{"k${i}":1}`).join()}]`,
};

test('A65: a body of a million keys is refused before it is parsed, and the loop does not stop for it', {
  timeout: 120_000,
}, async (t) => {
  const { node } = await target(t);
  for (const [what, make] of Object.entries(crowds)) {
    const body = make();
    assert.ok(body.length < 16 * MIB, what);
    for (const path of ['/api/v1/tasks', '/tasks', '/a2a', '/mcp']) {
      const buffer = Buffer.from(body);
      let answer: Response | undefined;
      const stop = await longestStop(async () => {
        const headers = { authorization: `Bearer ${node.admin}`, 'content-type': 'application/json' };
        answer = await fetch(node.url(path), { method: 'POST', headers, body: buffer });
        await answer.text();
      });
      assert.ok(
        answer !== undefined && answer.status >= 400 && answer.status < 500,
        `${path}: ${what}: ${answer?.status}`,
      );
      assert.ok(stop < 1000, `${path}: ${what} stopped the loop for ${stop.toFixed()} ms`);
    }
  }
});

test('A65: a list that is longer than its shape allows is refused before its entries are looked at', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const { session } = await node.call('joinWorker', '/workers/join', {
    token: secret,
    body: { name: 'box', incarnation: 'one', slots: 1, tags: [], handlers: ['echo'] },
  });
  const many = Array.from({ length: 150_000 }, () => ({}));
  const asks = [
    { path: '/api/v1/tasks', body: { tasks: many } },
    { path: '/api/v1/tasks', body: { queue: 'q', handler: 'h', limits: many } },
    { path: '/workers/one/ask', body: { asked: many }, token: null, headers: { 'x-session-token': session as string } },
  ];
  for (const { path, ...ask } of asks) {
    const text = JSON.stringify(ask.body);
    let answer: Answer | undefined;
    const stop = await longestStop(async () => {
      answer = await node.ask(path, { ...ask, body: text });
    });
    assert.ok(answer !== undefined);
    assert.equal(codeOf(answer), '400 INVALID_INPUT', path);
    assert.match(answer.body.error.message, /more than \d+ entries/, path);
    assert.ok(stop < 1000, `${path} stopped the loop for ${stop.toFixed()} ms`);
  }
});

test('A65: a frame with more requests than a worker sends at once ends the connection, and nothing of it is done', async (t) => {
  const { node } = await target(t);
  const { worker } = await hire(node, 'box');
  const beats = Array.from({ length: 501 }, (_, i) => ({ type: 'heartbeat', n: i + 1, state: 'draining' }));
  worker.say(JSON.stringify(beats));
  assert.equal((await worker.closed).code, 1007);
  const { worker: other } = await hire(node, 'bay');
  const stop = await longestStop(async () => {
    other.say(`{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join()}}`);
    assert.equal((await other.closed).code, 1007);
  });
  assert.ok(stop < 1000, `the loop stood still for ${stop.toFixed()} ms`);
});

test('A66: the first message of a stranger has 4 KiB; a worker that shows its secret with the upgrade may say more', async (t) => {
  const { node } = await target(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const handlers = Array.from({ length: 900 }, (_, i) => `handler-${i}`);
  const stranger = await RawWorker.dial(node.service.address);
  const said = await stranger.greet({ name: 'box', secret, handlers });
  assert.equal(said.type, 'connect_rejected');
  assert.equal(said.error?.code, 'TOO_LARGE');
  await stranger.closed;
  const liar = await RawWorker.dial(node.service.address, { authorization: `Bearer lh_wrk_${'x'.repeat(43)}` });
  assert.equal((await liar.greet({ name: 'box', secret, handlers })).error?.code, 'UNAUTHENTICATED', 'not read either');
  const known = await RawWorker.dial(node.service.address, { authorization: `Bearer ${secret}` });
  await known.enter({ name: 'box', secret, handlers });
  await known.hangUp();
});

test('A66: pieces of a first message that never ends are cut off after 4 KiB', async (t) => {
  const { node } = await target(t);
  const before = process.memoryUsage().arrayBuffers;
  const sockets = await Promise.all(Array.from({ length: 50 }, () => upgraded(t, node)));
  const piece = Buffer.alloc(1024, 0x20);
  // The head of a text frame that announces as much as a known worker may send.
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, MAX_FRAME_BYTES / 65_536, 0, 0, 0, 0, 0, 0]);
  await Promise.all(
    sockets.map(async (socket) => {
      let over = false;
      socket.once('close', () => void (over = true)).resume();
      socket.write(head);
      let sent = 0;
      while (!over) {
        socket.write(piece);
        sent += piece.length;
        await new Promise((resolve) => void setImmediate(resolve));
        if (socket.writableLength > MIB)
          await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
      }
      assert.ok(sent > 0);
    }),
  );
  const grown = (process.memoryUsage().arrayBuffers - before) / MIB;
  assert.ok(grown < 100, `grown by ${grown.toFixed()} MiB`);
});

test('A66: of what follows a refused first message nothing is kept', async (t) => {
  const { node } = await target(t);
  const socket = await upgraded(t, node);
  const wrong = Buffer.from('{"type":"connect","name":"box","secret":"no"}');
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | wrong.length, 0, 0, 0, 0]), wrong]));
  const frame = Buffer.concat([
    Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, MAX_FRAME_BYTES / 65_536, 0, 0, 0, 0, 0, 0]),
    Buffer.alloc(MAX_FRAME_BYTES, 0x20),
  ]);
  const pour = (): void => {
    while (!socket.destroyed && socket.write(frame));
  };
  // It is refused first, so that what comes after it counts.
  socket.once('data', pour).on('drain', pour);
  await new Promise((resolve) => void socket.once('close', resolve));
  const taken = (socket.bytesWritten - socket.writableLength) / MIB;
  assert.ok(taken < 20, `${taken.toFixed()} MiB were read`);
});

test('A66: of more than a thousand silent sockets the oldest go, and a worker is let in', {
  timeout: 120_000,
}, async (t) => {
  const { node } = await target(t);
  const sockets: Socket[] = [];
  let gone = 0;
  for (let i = 0; i < 1050; i++) {
    const socket = await upgraded(t, node);
    socket.once('close', () => gone++).resume();
    sockets.push(socket);
  }
  await until(() => gone >= 50);
  const { worker } = await hire(node, 'box');
  await worker.hangUp();
  for (const socket of sockets) socket.destroy();
});

test('A72: a body of a stranger has few keys, which are counted before they are named', async (t) => {
  const { node } = await target(t);
  const body = JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, 1])));
  for (const path of ['/ui/login', '/api/v1/workers/enrol']) {
    const answer = await node.ask(path, { token: null, body });
    assert.equal(codeOf(answer), '400 INVALID_INPUT');
    assert.match(answer.body.error.message, /more than 20 keys/);
  }
});

test('A72: of a body that was refused no more is read than its caller needs to hear why', async (t) => {
  const { node } = await target(t);
  const asks = [
    headOf('POST', '/ui/login', { 'Content-Length': 256 * MIB }),
    headOf('POST', '/api/v1/tasks', { 'Content-Length': 256 * MIB }),
    headOf('POST', '/no/such/page', { 'Transfer-Encoding': 'chunked' }),
    headOf('GET', '/healthz', { 'Content-Length': 256 * MIB }),
  ];
  const chunk = `100000\r\n${' '.repeat(MIB)}\r\n`;
  for (const head of asks) {
    const socket = await dial(t, node);
    socket.write(`${head}\r\n\r\n`);
    let said = '';
    socket.on('data', (data: Buffer) => void (said += data.toString()));
    // As fast as it is taken. What the system buffers is a few MiB.
    const pour = (): void => {
      while (!socket.destroyed && socket.bytesWritten < 200 * MIB && socket.write(chunk));
    };
    socket.on('drain', pour);
    pour();
    await new Promise((resolve) => void socket.once('close', resolve));
    assert.match(said, /^HTTP\/1\.1 (?:200|401|404|413) /, head);
    const taken = (socket.bytesWritten - socket.writableLength) / MIB;
    assert.ok(taken < 50, `${taken.toFixed()} MiB were read of ${head}`);
  }
});

test('A73: a connection that sends many requests at once is ended, and nobody waits for them', async (t) => {
  const { node } = await target(t);
  const one = `${headOf('GET', '/healthz')}\r\n\r\n`;
  const odd = `${headOf('GET', '/%zz')}\r\n\r\n`;
  for (const requests of [one.repeat(500), odd.repeat(500), `${one}${odd.repeat(500)}`]) {
    const socket = await dial(t, node);
    let answers = 0;
    socket.on('data', (data: Buffer) => void (answers += data.toString().match(/HTTP\/1\.1 /g)?.length ?? 0));
    socket.write(requests);
    await once(socket, 'close');
    assert.ok(answers <= 10, `${answers} answers`);
  }
  // A client that sends two at once gets both.
  const socket = await dial(t, node);
  socket.write(one.repeat(2));
  let said = '';
  for await (const data of socket) {
    said += String(data);
    if (said.match(/"status":"ok"/g)?.length === 2) break;
  }
});

test('A74: guesses wait when there are many, and nobody with a good token does', async (t) => {
  const strangers = { perSecond: 0.001, burst: 3, refusedMs: 3_600_000, answeredMs: 3_600_000 };
  const { node } = await target(t, { strangers });
  const { token } = await node.token('operator');
  const guess = (): Promise<Answer> => node.ask('/api/v1/tasks', { token: `lh_adm_${'x'.repeat(43)}` });
  for (let i = 0; i < 3; i++) assert.equal(codeOf(await guess()), '401 UNAUTHENTICATED');
  const waiting = [
    guess(),
    node.ask('/ui/login', { token: null, body: { code: 'x' } }),
    node.ask('/api/v1/workers/enrol', { token: null, body: { code: 'x' } }),
    node.ask('/no/such/page', { token: null }),
    node.ask('/healthz', { token: null }),
  ];
  let answered = 0;
  for (const one of waiting)
    one.then(
      () => answered++,
      () => {},
    );
  for (const good of [node.admin, token]) {
    assert.equal((await node.ask('/api/v1/tasks', { token: good })).status, 200);
    assert.equal((await node.ask('/healthz', { token: good })).status, 200);
    // What a known caller does wrong is answered at once too.
    assert.equal((await node.ask('/api/v1/tasks', { token: good, body: {} })).status, 400);
  }
  assert.equal(answered, 0);
  // The server does not wait for them when it ends.
});

/** A WebSocket as bytes, on which nothing was said. */
async function upgraded(t: TestContext, node: NodeScene): Promise<Socket> {
  const socket = await dial(t, node);
  socket.write(
    'GET /ws/agent HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  assert.match(chunk.toString(), /^HTTP\/1\.1 101 /);
  return socket;
}
