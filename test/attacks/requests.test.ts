/** Attacks through the requests that tasks make for others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../support/leasehold.ts';
import { target, until } from './scene.ts';

/** Somebody who must not be reached, and how often it was. */
async function canary(t: TestContext, host: string): Promise<{ port: number; heard: string[]; server: Server }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(request.url ?? '');
    response.end('the secret of the metadata service');
  });
  await once(server.listen(0, host), 'listening');
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, heard, server };
}

test('A35: a task reaches neither this machine, nor its network, nor the metadata of a cloud, however the address is written', async (t) => {
  const hidden = await canary(t, '127.0.0.1');
  const allowed = await canary(t, '127.0.0.1');
  allowed.server.removeAllListeners('request');
  allowed.server.on('request', (_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${hidden.port}/redirected` }).end('moved');
  });
  const { node } = await target(t, {
    worker: {
      name: 'built-in',
      slots: 4,
      tags: [],
      priority: 0,
      queues: [],
      handlers: [],
      allow: [],
      // Any port of a public address, and one of our own: what is refused is refused for where it leads.
      allowHttp: ['*:*', `127.0.0.1:${allowed.port}`],
      allowEnv: [],
      root: temporaryFolder(t),
    },
  });
  const at = hidden.port;
  const urls = [
    `http://127.0.0.1:${at}/`,
    `http://localhost:${at}/`,
    `http://LOCALHOST.:${at}/`,
    `http://127.1:${at}/`,
    `http://127.0.0.1.:${at}/`,
    `http://2130706433:${at}/`,
    `http://0x7f000001:${at}/`,
    `http://0x7f.1:${at}/`,
    `http://017700000001:${at}/`,
    `http://0177.0.0.1:${at}/`,
    `http://0.0.0.0:${at}/`,
    `http://0:${at}/`,
    `http://[::]:${at}/`,
    `http://[::1]:${at}/`,
    `http://[::ffff:127.0.0.1]:${at}/`,
    `http://[::ffff:7f00:1]:${at}/`,
    `http://[::127.0.0.1]:${at}/`,
    `http://[64:ff9b::7f00:1]:${at}/`,
    `http://[64:ff9b:1::7f00:1]:${at}/`,
    `http://[2002:7f00:1::]:${at}/`,
    `http://[fe80::1]:${at}/`,
    `http://[fc00::1]:${at}/`,
    `http://[fd00:ec2::254]/latest/meta-data/`,
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:169.254.169.254]/latest/meta-data/',
    'http://2852039166/latest/meta-data/',
    'http://100.100.100.200/latest/meta-data/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    `http://user:password@127.0.0.1:${at}/`,
    `http://example.org@127.0.0.1:${at}/`,
    `http://127.0.0.1:${at}\\@example.org/`,
    `http://①②⑦.⓪.⓪.①:${at}/`,
    `http://127。0。0。1:${at}/`,
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
    'ftp://127.0.0.1/',
    'data:text/plain,hello',
    `http:127.0.0.1:${at}`,
    ` http://127.0.0.1:${at}/`,
    `http://127.0.0.1:${at}/\r\nHost: evil`,
  ];
  const tasks = urls.map((url) => ({
    queue: 'http',
    handler: 'http',
    input: { url, timeout_ms: 5000 },
    maxAttempts: 1,
  }));
  tasks.push({
    queue: 'http',
    handler: 'http',
    input: { url: `http://127.0.0.1:${allowed.port}/`, timeout_ms: 20_000 },
    maxAttempts: 1,
  });
  const first = await node.ask('/api/v1/tasks', { body: { tasks } });
  assert.equal(first.status, 201, JSON.stringify(first.body));
  const ids: string[] = first.body.tasks.map((one: { id: string }) => one.id);
  const shown = async (id: string) => (await node.ask(`/api/v1/tasks/${id}`)).body;
  await until(async () => {
    const stats = await node.engine.stats('http');
    return stats.ready + stats.running + stats.scheduled === 0;
  });
  for (const [i, url] of urls.entries()) {
    const task = await shown(ids[i] as string);
    assert.equal(task.state, 'failed', `${url}: ${JSON.stringify(task.result ?? task.error)}`);
    assert.doesNotMatch(JSON.stringify(task), /secret of the metadata/, url);
    assert.doesNotMatch(
      JSON.stringify(task.error),
      /ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/,
      `${url} was not even tried`,
    );
  }
  const redirected = await shown(ids.at(-1) as string);
  assert.match(JSON.stringify(redirected.result ?? redirected.error), /302/, 'a redirect is an answer like any other');
  assert.deepEqual(hidden.heard, []);
});
