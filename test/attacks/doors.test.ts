/** Attacks by who has no business here: strangers, pages of other sites, and callers with another role. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayCall, type Route } from '../../src/protocol/route.ts';
import { ROUTES } from '../../src/protocol/routes.ts';
import { run, temporaryFolder } from '../support/leasehold.ts';
import { messagesOf, nodeScene } from '../support/node-scene.ts';
import { bytes, codeOf, hire, target } from './scene.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);
const UPGRADE =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
/** Of nothing that is there. */
const pathOf = ({ path }: Route): string => path.replace(/\{\w+\}/g, '999');
const bodyOf = ({ method }: Route): { body?: object } => (method === 'GET' ? {} : { body: {} });

test('A10: nobody calls a route without a token, but for the twelve that are open, and those tell hardly anything', async (t) => {
  const { node } = await target(t);
  const open: string[] = [];
  for (const [name, route] of ALL) {
    const { method } = route;
    const answer = await node.ask(pathOf(route), { method, token: null, ...bodyOf(route) });
    if (route.access === 'open') open.push(name);
    else if (route.rpc) assert.equal(codeOf(answer), '401 -32004', name);
    else assert.equal(codeOf(answer), '401 UNAUTHENTICATED', name);
    const wrong = await node.ask(pathOf(route), { method, token: 'lh_adm_'.padEnd(50, 'x'), ...bodyOf(route) });
    assert.equal(wrong.status, 401, `${name} with a wrong token, though it be open`);
  }
  assert.deepEqual(open, [
    'health',
    'ready',
    'agentCard',
    'login',
    'sendBytes',
    'fetchBytes',
    'deliverHook',
    'enrolWorker',
    'loopdHealth',
    'installScript',
    'releaseManifest',
    'releaseBundle',
  ]);
  for (const method of ['OPTIONS', 'TRACE', 'PUT', 'PROPFIND', 'DELETE']) {
    const { status } = await bytes(t, node, `${method} /api/v1/tasks HTTP/1.1\r\nHost: localhost`);
    assert.equal(status, 404, method);
  }
  for (const path of ['//api/v1/tasks', '/api/v1/tasks/', '/API/v1/tasks', '/api/v1/../v1/tasks', '/%61pi/v1/tasks']) {
    const { status } = await bytes(t, node, `GET ${path} HTTP/1.1\r\nHost: localhost`);
    assert.ok(status === 401 || status === 404, `${path}: ${status}`);
  }
});

test('A11: a node does not listen where others can reach it without TLS, and says what to do', async (t) => {
  const cwd = temporaryFolder(t);
  for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
    const node = run(t, ['up', '--host', host, '--port', '0'], { cwd });
    const { code } = await node.ended;
    assert.equal(code, 2, node.stdout);
    assert.match(node.stderr, /is not a loopback address, and tokens would travel in the clear/);
    assert.match(node.stderr, /--tls-cert and --tls-key, or --insecure-behind-proxy/);
    assert.equal(node.stdout, '');
  }
});

test('A12: a name that somebody else’s DNS points at us is not answered, whatever is asked and however', async (t) => {
  const { node } = await target(t);
  const { port } = new URL(node.service.address);
  const token = `Authorization: Bearer ${node.admin}`;
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    'localhost.',
    '2130706433',
    '0x7f.1',
  ]) {
    for (const path of ['/healthz', '/api/v1/tasks', '/nowhere']) {
      const { status, body } = await bytes(t, node, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${token}`);
      assert.equal(status, 421, `${host}${path}`);
      assert.doesNotMatch(body, /tasks"|status/);
    }
    assert.equal((await bytes(t, node, `GET /ws/agent HTTP/1.1\r\nHost: ${host}\r\n${UPGRADE}`)).status, 421, host);
  }
  const forwarded = `Host: evil.example\r\nX-Forwarded-Host: localhost\r\nForwarded: host=localhost`;
  assert.equal((await bytes(t, node, `GET /healthz HTTP/1.1\r\n${forwarded}`)).status, 421);
  assert.equal((await bytes(t, node, `GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example`)).status, 421);
  const two = 'Host: localhost\r\nHost: evil.example';
  assert.equal((await bytes(t, node, `GET /healthz HTTP/1.1\r\n${two}`)).status, 421);
  assert.equal((await bytes(t, node, `GET /ws/agent HTTP/1.1\r\n${two}\r\n${UPGRADE}`)).status, 421);
});

test('A13: no page speaks WebSocket with us, and a socket that does has nothing until it says a secret', async (t) => {
  const { node } = await target(t);
  const { host } = new URL(node.service.address);
  for (const origin of ['https://evil.example', 'null', `http://${host}`, `http://${host}.evil.example`, 'file://']) {
    const { status } = await bytes(
      t,
      node,
      `GET /ws/agent HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n${UPGRADE}`,
    );
    assert.equal(status, 403, origin);
  }
  const cookie = `Cookie: session=${node.admin}\r\nAuthorization: Bearer ${node.admin}`;
  const asked = await bytes(
    t,
    node,
    `GET /ws/agent HTTP/1.1\r\nHost: ${host}\r\nOrigin: https://evil.example\r\n${cookie}\r\n${UPGRADE}`,
  );
  assert.equal(asked.status, 403);
  const { worker } = await hire(node, 'box');
  await worker.quiet();
});

test('A14: what a form or a script of another page can send without asking changes nothing', async (t) => {
  const { node } = await target(t);
  const task = JSON.stringify({ queue: 'q' });
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain; x=application/json',
  ]) {
    assert.equal(
      codeOf(await node.ask('/api/v1/tasks', { body: task, headers: { 'content-type': type } })),
      '400 INVALID_INPUT',
      type,
    );
  }
  const from = (headers: Record<string, string>) => node.ask('/api/v1/tasks', { body: task, headers });
  assert.equal(codeOf(await from({ 'sec-fetch-site': 'cross-site' })), '403 FORBIDDEN');
  assert.equal(codeOf(await from({ 'sec-fetch-site': 'same-site' })), '403 FORBIDDEN', 'another port of this host');
  assert.equal(codeOf(await from({ origin: 'https://evil.example' })), '403 FORBIDDEN');
  assert.equal(codeOf(await from({ origin: 'null' })), '403 FORBIDDEN');
  const cookie = await node.ask('/api/v1/tasks', {
    token: null,
    body: task,
    headers: { cookie: `token=${node.admin}; session=${node.admin}` },
  });
  assert.equal(codeOf(cookie), '401 UNAUTHENTICATED', 'a cookie is no way in');
  assert.deepEqual(await node.engine.queues(), []);
  assert.equal((await from({ 'sec-fetch-site': 'same-origin' })).status, 201);
});

test('A15: no answer to anybody has a header that would let another page read it', async (t) => {
  const { node } = await target(t);
  const { host } = new URL(node.service.address);
  const origins = ['https://evil.example', 'null', `http://${host}`];
  for (const [name, route] of ALL) {
    for (const origin of origins) {
      const ask = { method: route.method, headers: { origin }, ...bodyOf(route) };
      if (route.stream === 'events' && origin.endsWith(host)) continue;
      const { headers } = await node.ask(pathOf(route), ask);
      for (const header of headers.keys()) assert.doesNotMatch(header, /^access-control-/, name);
    }
    const preflight = `OPTIONS ${pathOf(route)} HTTP/1.1\r\nHost: ${host}\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: ${route.method}`;
    const { status, head } = await bytes(t, node, preflight);
    assert.equal(status, 403, name);
    assert.doesNotMatch(head, /access-control/);
  }
});

test('A44: each role reaches what is its own and nothing else, streams and logs included', async (t) => {
  const { node } = await target(t);
  const { id } = await node.engine.push({ queue: 'q', handler: 'secret' });
  const tokens: Record<string, string> = { admin: node.admin };
  for (const role of ['operator', 'read'] as const) tokens[role] = (await node.token(role)).token;
  const { worker, secret } = await hire(node, 'box');
  tokens['worker'] = secret;
  const allowed = { admin: 0, operator: 0, read: 0, worker: 0 };
  for (const [name, route] of ALL) {
    for (const role of ['admin', 'operator', 'read', 'worker'] as const) {
      if (route.stream === 'events') continue;
      const path = route.path.replace('{id}', role === 'worker' ? id : '999').replace(/\{\w+\}/g, '999');
      const { status } = await node.ask(path, {
        method: route.method,
        token: tokens[role] as string,
        ...bodyOf(route),
      });
      // Behind these each method asks for a role of its own.
      if (route.access === 'any') continue;
      if (mayCall(role, route.access)) allowed[role]++;
      else assert.equal(status, 403, `${role} at ${name}`);
    }
  }
  assert.ok(allowed.admin > allowed.operator && allowed.operator > allowed.read && allowed.read > 5);
  const own = ALL.filter(([, { access }]) => access === 'worker' || access === 'open');
  assert.equal(allowed.worker, own.length, 'its own, and what is open');
  const as = (token: string | undefined, path: string) =>
    fetch(node.url(path), { headers: { authorization: `Bearer ${token}` } });
  for (const path of [
    `/api/v1/tasks/${id}/logs`,
    `/api/v1/tasks/${id}/logs?follow=1`,
    '/api/v1/events',
    '/metrics',
    '/openapi.json',
  ]) {
    assert.equal((await as(secret, path)).status, 403, path);
  }
  const stream = await as(tokens['read'], '/api/v1/events?after=0');
  const heard = messagesOf(stream);
  assert.equal((await heard.next()).value?.data.task, id);
  await heard.return(undefined);

  // A worker that runs one task reads nothing of another one by counting up numbers.
  const other = await node.engine.push({ queue: 'private', handler: 'other' });
  const private_ = await node.engine.workers.register({ name: 'own', incarnation: 'own', slots: 1 });
  const [grant] = await node.engine.claim({ worker: private_, max: 1, queues: ['private'] });
  assert.ok(grant);
  await node.engine.complete(grant, { salary: 4711 });
  await node.engine.push({ queue: 'w', handler: 'echo' });
  const lease = await worker.claimOne();
  const proof = { task: lease.task, attempt: lease.attempt, token: lease.token };
  const counted = Array.from({ length: 50 }, (_, n) => n + 1);
  const found = await worker.told('results', { lease: proof, tasks: counted });
  assert.doesNotMatch(JSON.stringify(found), /4711/);
  assert.deepEqual(
    found.filter((one: { state: string }) => one.state !== 'gone').map((one: { task: number }) => one.task),
    [lease.task],
  );
  const entries = [
    { key: 'c', kind: 'child', child: { queue: 'w', handler: 'echo' } },
    // What only looks like a child is none.
    { key: 'spawn:x#0', kind: 'value', value: JSON.stringify({ task: other.task }) },
  ];
  const turned = await worker.told('task_turn', { lease: proof, entries, then: { go: 'on' } });
  const { task } = JSON.parse(turned.entries[0]);
  const [stranger] = await worker.told('results', { lease: proof, tasks: [other.task] });
  assert.equal(stranger.state, 'gone');
  const [child] = await worker.told('results', { lease: proof, tasks: [task] });
  assert.equal(child.state, 'ready', 'its own child it sees');
  assert.equal(other.task, 2);
});

test('A56: health tells nothing, figures need a token, and names in them are bounded', async (t) => {
  const { node } = await target(t);
  for (let n = 0; n < 250; n++) await node.engine.push({ queue: `customer-${n}`, handler: 'h' });
  for (const path of ['/healthz', '/readyz']) {
    const { body } = await node.ask(path, { token: null });
    assert.deepEqual(Object.keys(body), ['status'], path);
  }
  assert.equal((await node.ask('/metrics', { token: null })).status, 401, 'on loopback as well');
  const { body: page } = await node.ask('/metrics', { token: (await node.token('read')).token });
  const labels = new Set([...String(page).matchAll(/leasehold_queue_tasks\{queue="([^"]*)"/g)].map(([, name]) => name));
  assert.equal(labels.size, 201);
  assert.ok(labels.has('(others)'));
  const before = String(page).split('\n').length;
  for (let n = 0; n < 50; n++) await node.ask(`/nowhere-${n}`);
  const after = String((await node.ask('/metrics')).body).split('\n').length;
  assert.ok(after - before < 60, `addresses that are none make no figures of their own: ${after - before}`);
});

test('A57: what is told to call is where the node is, or what was configured, and never what somebody has called', async (t) => {
  const ask = async (publicUrl: string | undefined, headers: Record<string, string>) => {
    const node = await nodeScene(t, publicUrl === undefined ? {} : { publicUrl });
    const made = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box', code: true }, headers });
    const { servers } = await node.call('openapi', '/openapi.json', { headers });
    return { join: String(made.join), server: servers[0].url as string, address: node.service.address };
  };
  const poison = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
    'x-original-url': 'https://evil.example/',
    'x-host': 'evil.example',
  };
  const own = await ask(undefined, poison);
  assert.ok(own.join.endsWith(`leasehold worker --join ${own.address}`), own.join);
  assert.equal(own.server, own.address);
  const configured = await ask('https://tasks.example.org', poison);
  assert.ok(configured.join.endsWith('leasehold worker --join https://tasks.example.org'));
  assert.equal(configured.server, 'https://tasks.example.org');

  const { node } = await target(t, { names: ['also.example.org'] });
  const head = `GET /openapi.json HTTP/1.1\r\nHost: also.example.org\r\nAuthorization: Bearer ${node.admin}`;
  const { status, body } = await bytes(t, node, head);
  assert.equal(status, 200);
  assert.doesNotMatch(body, /also\.example\.org/, 'not even a name that is ours');
});
