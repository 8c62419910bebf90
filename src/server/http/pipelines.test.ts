import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { MOST_WAITING, Pipelines } from './pipelines.ts';

/** A server whose answers the test gives, and a connection to it. */
async function scene(t: TestContext) {
  const pipelines = new Pipelines();
  const begun: ServerResponse[] = [];
  const waiting: (() => void)[] = [];
  let handed = 0;
  const server = createServer((request, response) => {
    handed++;
    pipelines.enter(request, response, () => {
      begun.push(response);
      for (const look of waiting) look();
    });
  });
  t.after(() => server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const dial = () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    return socket;
  };
  /** Resolves when so many requests have begun. */
  const has = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => (begun.length >= count ? resolve() : undefined);
      waiting.push(look);
      look();
    });
  return { dial, begun, has, handed: () => handed };
}

const ask = (times: number): string => 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(times);

test('requests of one connection begin one after the other, those of others beside them', async (t) => {
  const { dial, begun, has } = await scene(t);
  const first = dial();
  first.write(ask(3));
  await has(1);
  dial().write(ask(1));
  await has(2);
  assert.equal(begun.length, 2, 'the second request of the first connection waits');
  begun[0]?.end('one');
  await has(3);
  begun[2]?.end('two');
  await has(4);
  begun[3]?.end('three');
  const said: string[] = [];
  first.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  while (!said.join('').includes('three')) await once(first, 'data');
  assert.match(said.join(''), /one[^]*two[^]*three/);
});

test('a connection that sends more at once is ended, and the rest of its packet is not read', async (t) => {
  const { dial, begun, handed, has } = await scene(t);
  const socket = dial();
  socket.write(ask(2000));
  await once(socket.resume(), 'close');
  assert.equal(begun.length, 1);
  assert.ok(handed() <= MOST_WAITING + 3, `${handed()} requests were handed over`);
  // The next connection may get the parser of the last one.
  for (let i = 2; i < 10; i++) {
    const next = dial();
    next.write(ask(1));
    await has(i);
    begun.at(-1)?.end('fine');
    const [chunk] = (await once(next, 'data')) as [Buffer];
    assert.match(chunk.toString(), /200 OK/);
    next.destroy();
  }
});
