import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '../../client/client.ts';
import { isEngineError } from '../../core/errors.ts';
import { nodeFetch } from './node-fetch.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const INIT = { method: 'GET', headers: {}, signal: new AbortController().signal, redirect: 'error' } as const;

test('a body arrives whole with its length, and the answer is read in pieces', async (t) => {
  const url = await serve(t, (request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => {
      response.statusCode = 201;
      response.write(`${request.method} ${request.headers['content-length']} `);
      response.end(text);
    });
  });
  const answer = await nodeFetch(url, { ...INIT, method: 'POST', body: '"ü"' });
  assert.deepEqual([answer.ok, answer.status], [true, 201]);
  const reader = answer.body?.getReader();
  let text = '';
  for (let next = await reader?.read(); next?.value !== undefined; next = await reader?.read()) {
    text += Buffer.from(next.value).toString('utf8');
  }
  assert.equal(text, 'POST 4 "ü"');
});

test('a redirect is not followed, and what sends one is not a node', async (t) => {
  const asked: unknown[] = [];
  const url = await serve(t, (request, response) => {
    asked.push(request.url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  await assert.rejects(
    new Client({ url, token: 'secret', fetch: nodeFetch, patienceMs: 0 }).call('health'),
    (error) => {
      assert.ok(isEngineError(error, 'NODE_UNREACHABLE'));
      return error.details?.hopeless === true;
    },
  );
  assert.deepEqual(asked, ['/healthz']);
});

test('an abort ends a request that waits, and one that is being read', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.url === '/begun') response.write('begun');
  });
  const waiting = new AbortController();
  const never = nodeFetch(`${url}/never`, { ...INIT, signal: waiting.signal });
  waiting.abort();
  await assert.rejects(never, { name: 'AbortError' });
  const reading = new AbortController();
  const reader = (await nodeFetch(`${url}/begun`, { ...INIT, signal: reading.signal })).body?.getReader();
  assert.equal((await reader?.read())?.value?.length, 5);
  const rest = reader?.read();
  reading.abort();
  await assert.rejects(rest as Promise<unknown>);
});

test('nobody who listens is said by the code of the system', async (t) => {
  const url = await serve(t, () => {});
  const closed = `http://127.0.0.1:${Number(new URL(url).port) === 1 ? 2 : 1}`;
  await assert.rejects(nodeFetch(closed, INIT), { code: 'ECONNREFUSED' });
});

test('asking a node loads no second HTTP stack', async (t) => {
  const url = await serve(t, (_request, response) => void response.end('{}'));
  const program = `
    import { nodeFetch } from ${JSON.stringify(new URL('./node-fetch.ts', import.meta.url).href)};
    await nodeFetch(${JSON.stringify(url)}, { method: 'GET', headers: {}, signal: new AbortController().signal, redirect: 'error' });
    console.log(process.moduleLoadList.some((name) => name.includes('undici')));
    process.exit();`;
  const { stdout: child } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  assert.equal(child, 'false\n');
});
