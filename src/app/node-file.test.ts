import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeScene } from '../../test/support/node-scene.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { announceNode, liveNode } from './node-file.ts';

const folder = tempFolder('node-file');
let folders = 0;
const newFolder = (): string => join(folder, String(++folders));
/** Above the largest process id. */
const NOBODY = 2 ** 30;

test('a node is found by its file while it runs, and only its user can read the file', async (t) => {
  const dir = newFolder();
  assert.equal(await liveNode(dir), undefined);
  const { service } = await nodeScene(t);
  const takeBack = announceNode(dir, { url: service.address, pid: process.pid });
  assert.equal(statSync(join(dir, 'node.json')).mode & 0o777, 0o600);
  assert.equal(await liveNode(dir), service.address);
  takeBack();
  takeBack();
  assert.ok(!existsSync(join(dir, 'node.json')));
});

test('a file that a node left behind is ignored: no such process, or no answer', async (t) => {
  const dir = newFolder();
  const { service } = await nodeScene(t);
  announceNode(dir, { url: service.address, pid: NOBODY });
  assert.equal(await liveNode(dir), undefined, 'its process has ended, though somebody answers there');
  await service.close();
  announceNode(dir, { url: service.address, pid: process.pid });
  assert.equal(await liveNode(dir), undefined);
  for (const text of ['', '{', '{}', '{"url":7,"pid":1}', '{"url":"nowhere","pid":1}', 'null']) {
    writeFileSync(join(dir, 'node.json'), text);
    assert.equal(await liveNode(dir), undefined, text);
  }
});

test('another program that listens there by now gets no token', async (t) => {
  const dir = newFolder();
  const headers: unknown[] = [];
  const server = createServer((request, answer) => {
    headers.push(request.headers.authorization);
    answer.end('{"status":"well"}');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  announceNode(dir, { url: `http://127.0.0.1:${port}`, pid: process.pid });
  assert.equal(await liveNode(dir), undefined);
  assert.deepEqual(headers, [undefined]);
});

test('another process with the number of a node that was killed is not taken for it, and is not even asked', async (t) => {
  const dir = newFolder();
  let asked = 0;
  const server = createServer((_, answer) => {
    asked += 1;
    answer.setHeader('content-type', 'application/json').end('{"status":"ok"}');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const node = { url: `http://127.0.0.1:${port}`, pid: process.pid };
  announceNode(dir, node);
  assert.equal(await liveNode(dir), node.url);
  assert.equal(asked, 1);
  const file = join(dir, 'node.json');
  const said = JSON.parse(readFileSync(file, 'utf8')) as { born?: string };
  if (said.born === undefined) return t.skip('the system does not tell when a process began');
  writeFileSync(file, JSON.stringify({ ...said, born: String(Number(said.born) - 1) }));
  assert.equal(await liveNode(dir), undefined);
  assert.equal(asked, 1);
  writeFileSync(file, JSON.stringify(node));
  assert.equal(await liveNode(dir), node.url, 'a node of an older version says no start');
});

test('a node writes its address through no link that somebody has left there', () => {
  const dir = newFolder();
  const target = join(folder, 'precious');
  mkdirSync(dir);
  writeFileSync(target, 'precious');
  symlinkSync(target, join(dir, 'node.json.77'));
  announceNode(dir, { url: 'http://127.0.0.1:1', pid: 77 });
  assert.equal(readFileSync(target, 'utf8'), 'precious');
  assert.match(readFileSync(join(dir, 'node.json'), 'utf8'), /127/);
});

test('a node removes its own file and not that of the next one', () => {
  const dir = newFolder();
  const first = announceNode(dir, { url: 'http://127.0.0.1:1', pid: 1 });
  announceNode(dir, { url: 'http://127.0.0.1:2', pid: 2 });
  first();
  assert.match(readFileSync(join(dir, 'node.json'), 'utf8'), /:2"/);
});

test('a node that listens on every address is called on the loopback address', () => {
  const dir = newFolder();
  for (const [url, asked] of [
    ['http://0.0.0.0:7420', 'http://127.0.0.1:7420'],
    ['http://[::]:7420', 'http://[::1]:7420'],
    ['https://10.0.0.1:7420', 'https://10.0.0.1:7420'],
  ] as const) {
    announceNode(dir, { url, pid: 1 });
    assert.equal((JSON.parse(readFileSync(join(dir, 'node.json'), 'utf8')) as { url: string }).url, asked);
  }
});
