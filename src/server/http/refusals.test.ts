/** Requests that never reach a route: malformed bytes, malformed addresses, unknown callers. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { fault } from '../../core/errors.ts';
import { Problem } from '../../protocol/shapes/problem.ts';
import { errorOf, problemText } from './refusals.ts';

/** One answer to bytes on a socket, as a whole. */
async function bytes(scene: NodeScene, text: string): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(scene.service.address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) {
    answer += String(chunk);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (body.length >= length) break;
  }
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body };
}

test('whatever is refused is refused in the same form, also before it is a request', async (t) => {
  const scene = await nodeScene(t);
  const local = 'Host: localhost\r\n';
  const known = `${local}Authorization: Bearer ${scene.admin}\r\n`;
  for (const [status, text] of [
    [400, 'NOT HTTP\r\n\r\n'],
    [400, `GET /api/v1/tasks HTTP/9.9\r\n${known}\r\n`],
    [431, `GET /api/v1/tasks HTTP/1.1\r\n${known}X: ${'y'.repeat(40_000)}\r\n\r\n`],
    [400, `GET http://[ HTTP/1.1\r\n${known}\r\n`],
    [400, `GET /api/v1/tasks/%E0%A4%A HTTP/1.1\r\n${known}\r\n`],
    [400, `GET /api/v1/tasks/%"}x HTTP/1.1\r\n${known}\r\n`],
    [400, `GET /api/v1/tasks/${'x'.repeat(600)} HTTP/1.1\r\n${known}\r\n`],
    [404, `GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n${known}\r\n`],
    [404, `PROPFIND /api/v1/tasks HTTP/1.1\r\n${known}\r\n`],
    [400, `POST /api/v1/tasks HTTP/1.1\r\n${known}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n`],
    [400, `POST /api/v1/tasks HTTP/1.1\r\n${known}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`],
    [413, `POST /api/v1/tasks HTTP/1.1\r\n${known}Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n`],
    [400, `POST /api/v1/tasks HTTP/1.1\r\n${known}Content-Type: nonsense\r\nContent-Length: 2\r\n\r\n{}`],
  ] as const) {
    const answer = await bytes(scene, text);
    assert.equal(answer.status, status, `${text.slice(0, 60)}: ${answer.head}`);
    const { error } = Problem.safeParse(JSON.parse(answer.body));
    assert.equal(error, undefined, answer.body);
    assert.ok(answer.body.length < 1000, 'nothing is sent back at its length');
    assert.match(answer.head, /content-type: application\/json/i);
  }
});

test('who was not let in has nothing read of it but its headers', async (t) => {
  const scene = await nodeScene(t);
  for (const token of [null, 'wrong', (await scene.token('read')).token]) {
    const answer = await scene.ask('/api/v1/tasks', { body: '{ this is no JSON', token });
    assert.equal(answer.status, token?.startsWith('lh_') ? 403 : 401, JSON.stringify(answer.body));
  }
  const endless = `POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n`;
  assert.equal((await bytes(scene, endless)).status, 401);
});

test('a HEAD of a stream is answered with its headers and leaves nobody following', async (t) => {
  const scene = await nodeScene(t);
  const { id } = await scene.call('pushTasks', '/api/v1/tasks', { body: { queue: 'q' } });
  for (const path of ['/api/v1/events', `/api/v1/tasks/${id}/logs?follow=1`]) {
    const head = `HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${scene.admin}\r\n\r\n`;
    const next = `GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const { head: answer, body } = await bytes(scene, head + next);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /content-type: text\/event-stream/i);
    assert.match(body, /^HTTP\/1\.1 200 OK/, 'the next request of the same connection was answered');
  }
});

test('every answer has the number of its request, streams too', async (t) => {
  const scene = await nodeScene(t);
  const numbers = new Set<string | null>();
  for (const path of ['/healthz', '/api/v1/nothing', '/api/v1/events', '/api/v1/tasks/%zz']) {
    const { headers, body } = await fetch(scene.url(path), { headers: scene.headers({}) });
    await body?.cancel();
    assert.match(String(headers.get('x-request-id')), /^[0-9a-f-]{36}$/, path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    numbers.add(headers.get('x-request-id'));
  }
  assert.equal(numbers.size, 4);
});

test('of what a store or its driver said nothing is told, and of what we said all', () => {
  const cause = new Error('relation "leasehold.task" does not exist');
  for (const code of ['INTERNAL', 'STORE_UNAVAILABLE', 'STORE_BUSY', 'STORE_CORRUPT'] as const) {
    const told = errorOf(fault(code, { file: '/srv/secret.db', problem: cause.message }, { cause }));
    assert.doesNotMatch(JSON.stringify(told), /leasehold\.task|secret\.db/);
    assert.deepEqual([told.code, told.cause], [code, cause]);
  }
  assert.match(errorOf(fault('STORE_UNAVAILABLE', { problem: 'this node is closing' })).message, /closing/);
  assert.match(errorOf(fault('INVALID_INPUT', { problem: 'no JSON' }, { cause })).message, /no JSON/);
});

test('details of a refusal are sent where they are short', async (t) => {
  const scene = await nodeScene(t);
  const ask = (body: object) => scene.ask('/api/v1/tasks', { body });
  await ask({ queue: 'q', input: 1, unique: 'k' });
  const short = await ask({ queue: 'q', input: 2, unique: 'k' });
  assert.equal(short.body.error.details.key, 'k');
  const long = JSON.parse(problemText(fault('NOT_FOUND', { kind: 'task', id: 'x'.repeat(5000) })));
  assert.deepEqual(Object.keys(long.error), ['code', 'message', 'hint']);
});
