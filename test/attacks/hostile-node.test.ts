/** A worker whose node is malicious: nothing that the node says writes a file, and the worker ends when it is told to. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { keyIdOf, type SigningKey, signTask } from '../../src/protocol/signed-task.ts';
import { type Running, run, temporaryFolder } from '../support/leasehold.ts';

type Request = { readonly type: string; readonly n: number; readonly max?: number };
/** The value of the answer to a request. MUTE: there is none. */
type Say = (request: Request) => unknown;
const MUTE = Symbol('no answer');

interface Fake {
  readonly url: string;
  readonly asked: string[];
  /** Resolves when the worker has asked this for the nth time. */
  readonly hears: (type: string, times?: number) => Promise<void>;
}

const TERMS = { leaseMs: 6000 };

/** A node that answers as it is told, over both links. `flood` is sent again and again. */
async function fakeNode(
  t: TestContext,
  say: Say,
  { flood, terms = TERMS }: { flood?: unknown; terms?: object } = {},
): Promise<Fake> {
  const asked: string[] = [];
  const waiting = new Set<() => void>();
  const hear = (type: string): void => {
    asked.push(type);
    for (const look of waiting) look();
  };
  const answerTo = (request: Request): object | undefined => {
    hear(request.type);
    const value = say(request);
    return value === MUTE ? undefined : { type: 'ok', re: request.n, value };
  };
  const server = createServer(
    (request, response) => void answerHttp(request, response, { hear, say, answerTo, terms }),
  );
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Request | Request[];
      for (const one of Array.isArray(said) ? said : [said]) {
        if (one.type === 'connect') {
          socket.send(JSON.stringify({ type: 'connect_ok', ...terms }));
          if (flood !== undefined) pour(socket, JSON.stringify(flood));
          continue;
        }
        const answer = answerTo(one);
        if (answer !== undefined) socket.send(JSON.stringify(answer));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    hears: (type, times = 1) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (asked.filter((one) => one === type).length >= times) resolve();
      };
      waiting.add(look);
      look();
      return promise;
    },
  };
}

function pour(socket: import('ws').WebSocket, frame: string): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.send(frame, () => setImmediate(() => pour(socket, frame)));
}

interface HttpParts {
  readonly hear: (type: string) => void;
  readonly say: Say;
  readonly answerTo: (request: Request) => object | undefined;
  readonly terms: object;
}

async function answerHttp(request: IncomingMessage, response: ServerResponse, parts: HttpParts): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { asked?: Request[]; n: number; max: number };
  const send = (value: unknown): void => void response.end(JSON.stringify(value));
  if (request.url === '/workers/join') send({ worker: 'w', session: 's', ...parts.terms });
  else if (request.url?.endsWith('/tasks')) {
    parts.hear('task_claim');
    const value = parts.say({ type: 'task_claim', n: body.n, max: body.max });
    if (value !== MUTE) send(value);
  } else {
    const answers = (body.asked ?? []).map(parts.answerTo);
    if (!answers.includes(undefined)) send({ answers });
  }
}

const grant = (over: object = {}): object => ({
  task: 7,
  attempt: 1,
  token: 'x',
  id: 'task_01a1de00-1c2a-7000-8000-00000d79a779',
  queue: 'work',
  handler: 'shell',
  payload: JSON.stringify({ argv: ['echo', 'said by the task'] }),
  tries: 1,
  maxTries: 3,
  createdAt: 1,
  suspect: false,
  ...over,
});

const LINKS = [[], ['--http']] as const;
const nameOf = (link: readonly string[]): string => (link.length === 0 ? 'WebSocket' : 'HTTP');

function worker(t: TestContext, cwd: string, { url }: Fake, link: readonly string[]): Running {
  const args = [
    'worker',
    '--join',
    url,
    '--name',
    'box',
    '--secret',
    'lh_wrk_x',
    '--allow',
    'shell',
    '--drain-timeout',
    '1s',
  ];
  return run(t, [...args, ...link], { cwd });
}

/** Ends it as an init system would. The drain is 1 s, the steps of the stop 4 s, the answers of the node 3 s. */
async function ends(process: Running): Promise<void> {
  const from = performance.now();
  process.child.kill('SIGTERM');
  const { code, signal } = await process.ended;
  const took = performance.now() - from;
  assert.ok(took < 15_000, `it took ${Math.round(took)} ms`);
  assert.deepEqual([code, signal], [0, null], process.stderr);
}

/** Every file below a folder. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));

for (const link of LINKS) {
  const way = nameOf(link);
  test(`${way}: a task id that is a path writes no file on the worker`, { timeout: 60_000 }, async (t) => {
    const cwd = join(temporaryFolder(t), 'a', 'b');
    mkdirSync(cwd, { recursive: true });
    const bad = [
      { task: '/../../../../../planted' },
      { task: 7.5 },
      { task: 7, attempt: '/../../../../planted' },
      { task: 7, attempt: 1, id: '../x', handler: '\u0000' },
      { task: 7, attempt: 1, payload: { not: 'text' } },
    ];
    // Logs are not answered, so that they go to disk.
    let claims = 0;
    const node = await fakeNode(t, ({ type }) => {
      if (type === 'task_progress') return MUTE;
      return type === 'task_claim' ? [grant(bad[claims++ % bad.length])] : undefined;
    });
    const process = worker(t, cwd, node, link);
    await node.hears('task_claim', 2 * bad.length);
    await ends(process);
    assert.ok(!node.asked.includes('task_progress'), 'none of these tasks has run');
    assert.deepEqual(
      filesIn(dirname(dirname(cwd))).filter((file) => file.includes('planted') || !file.includes('.leasehold')),
      [],
    );
    assert.ok(!existsSync(join(cwd, '..', 'planted')));
  });

  test(`${way}: a worker that demands signatures runs nothing else, whatever its node makes of them`, {
    timeout: 90_000,
  }, async (t) => {
    const cwd = temporaryFolder(t);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key: SigningKey = { id: keyIdOf(publicKey), key: privateKey };
    const stranger: SigningKey = { ...key, key: generateKeyPairSync('ed25519').privateKey };
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    writeFileSync(join(cwd, 'trusted.pub'), pem);
    const touch = (file: string): string => JSON.stringify({ argv: ['touch', file] });
    const signed = (file: string, by = key, over: object = {}, notAfter?: number): string =>
      JSON.stringify(signTask({ queue: 'work', handler: 'shell', payload: touch(file), ...over }, by, notAfter));
    const good = JSON.parse(signed('good')) as { $signed: object };
    const payloads = [
      touch('unsigned'),
      signed('by-a-stranger', stranger),
      signed('for-another-queue', key, { queue: 'other' }),
      signed('for-another-handler', key, { handler: 'echo' }),
      signed('too-late', key, {}, Date.now() - 1000),
      JSON.stringify({ ...good, payload: touch('another-payload') }),
      JSON.stringify({ ...good, $signed: { ...good.$signed, key: 'other' }, payload: touch('another-key') }),
      signed('good'),
    ];
    let next = 0;
    const node = await fakeNode(t, ({ type }) => {
      if (type !== 'task_claim') return type === 'lease_renew' ? ['held'] : undefined;
      const payload = payloads[next++];
      return payload === undefined ? MUTE : [grant({ task: next, payload })];
    });
    const process = worker(t, cwd, node, [...link, '--require-signed', join(cwd, 'trusted.pub'), '--slots', '1']);
    await process.says(/✓ task_.* shell +completed/);
    await node.hears('task_complete');
    await node.hears('task_failed', payloads.length - 1);
    await ends(process);
    assert.deepEqual(
      readdirSync(cwd).filter((file) => !file.startsWith('.')),
      ['good', 'trusted.pub'],
    );
  });

  test(`${way}: a worker with a list of commands runs no other, by no handler that could`, {
    timeout: 90_000,
  }, async (t) => {
    const cwd = temporaryFolder(t);
    const tasks = [
      { payload: JSON.stringify({ argv: ['touch', 'ok-1', 'more'] }) },
      { payload: JSON.stringify({ command: 'touch ok-1; touch other' }) },
      { payload: JSON.stringify({ argv: ['touch', 'ok-1'], env: { PATH: cwd } }) },
      { payload: JSON.stringify({ argv: ['sh', '-c', 'touch other'] }) },
      { handler: 'machine', payload: '{}' },
      { handler: 'agent', payload: '{}' },
      { payload: JSON.stringify({ argv: ['touch', 'ok-2'] }) },
    ];
    let next = 0;
    const node = await fakeNode(t, ({ type }) => {
      if (type !== 'task_claim') return type === 'lease_renew' ? ['held'] : undefined;
      const task = tasks[next++];
      return task === undefined ? MUTE : [grant({ task: next, ...task })];
    });
    const process = worker(t, cwd, node, [...link, '--allow-command', 'touch ok-*', '--slots', '1']);
    await process.says(/✓ task_.* shell +completed/);
    await node.hears('task_failed', tasks.length - 1);
    await ends(process);
    assert.deepEqual(
      readdirSync(cwd).filter((file) => !file.startsWith('.')),
      ['ok-2'],
    );
  });

  test(`${way}: unknown words of a newer node are ignored`, { timeout: 60_000 }, async (t) => {
    const cwd = temporaryFolder(t);
    let granted = false;
    const node = await fakeNode(
      t,
      ({ type }) => {
        if (type !== 'task_claim') return type === 'lease_renew' ? ['held'] : undefined;
        if (granted) return MUTE;
        granted = true;
        return [grant({ colour: 'red', limits: [{ name: 'x' }] })];
      },
      { terms: { ...TERMS, mood: 'good' }, flood: undefined },
    );
    const process = worker(t, cwd, node, link);
    await process.says(/✓ task_.* shell +completed/);
    await ends(process);
    assert.ok(node.asked.includes('task_complete'));
  });

  const hostile: Readonly<Record<string, { readonly say: Say; readonly flood?: unknown; readonly until: string }>> = {
    'never answers': { say: () => MUTE, until: 'task_claim' },
    'answers nonsense': { say: () => ({ entries: 'yes', state: [[]] }), until: 'task_claim' },
    'never ends a claim and never acknowledges an end': {
      say: (() => {
        let first = true;
        return ({ type }: Request): unknown => {
          if (type === 'lease_renew') return ['held'];
          if (type !== 'task_claim' || !first) return MUTE;
          first = false;
          return [grant()];
        };
      })(),
      until: 'task_claim',
    },
    'keeps granting': {
      say: (() => {
        let task = 100;
        return ({ type, max = 1 }: Request): unknown =>
          type === 'task_claim' ? Array.from({ length: max }, () => grant({ task: task++ })) : undefined;
      })(),
      until: 'task_complete',
    },
    'grants more than was asked for': {
      say: (() => {
        let task = 100;
        return ({ type, max = 1 }: Request): unknown =>
          type === 'task_claim' ? Array.from({ length: max + 5000 }, () => grant({ task: task++ })) : undefined;
      })(),
      until: 'task_claim',
    },
    ...(link.length > 0
      ? {}
      : {
          floods: {
            say: () => undefined,
            flood: Array.from({ length: 2000 }, (_, i) => ({ type: 'kill_task', task: i + 1 })),
            until: 'task_claim',
          },
          'accepts again and again': {
            say: () => MUTE,
            flood: { type: 'connect_ok', leaseMs: 1, heartbeatMs: 0 },
            until: 'task_claim',
          },
        }),
  };
  for (const [what, { say, flood, until }] of Object.entries(hostile)) {
    test(`${way}: a worker whose node ${what} ends on SIGTERM`, { timeout: 60_000 }, async (t) => {
      const node = await fakeNode(t, say, { flood });
      const process = worker(t, temporaryFolder(t), node, link);
      await node.hears(until);
      await ends(process);
    });
  }
}
