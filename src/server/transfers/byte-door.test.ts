/** The door of bytes behind a plain server: how many go through it, and how long. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { begun, left, sha256Of, signerOf } from '../../../test/support/files/artifact-scene.ts';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { openLocalStore } from '../../artifacts/local/local-store.ts';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { ByteDoor, type ByteDoorOptions } from './byte-door.ts';

const HOUR = 3_600_000;

interface Doorway {
  readonly door: ByteDoor;
  readonly closing: AbortController;
  /** Sends the head and these bytes, and answers what it is told in the end. */
  readonly send: (
    id: string,
    bytes: string,
    sent?: string,
    by?: string,
  ) => { readonly socket: Socket; readonly told: Promise<string> };
}

async function doorway(t: TestContext, node: NodeScene, more: Partial<ByteDoorOptions> = {}): Promise<Doorway> {
  const place = await openLocalStore(tempFolder('door'));
  const { clock } = node.engine.world;
  const door = new ByteDoor({
    artifacts: node.engine.artifacts,
    blobs: async () => place,
    signer: signerOf(node),
    now: clock.wall,
    ...more,
  });
  const closing = new AbortController();
  const server = createServer((request, response) => {
    const [, id = '', size, sha256 = '', by] = (request.url ?? '').split('/');
    const query = { size: Number(size), sha256, until: 0, sig: '', by };
    door.receive({ id, query, request, closing: closing.signal }).then(
      () => response.end('taken'),
      (error: unknown) => response.end(isEngineError(error) ? `${error.code}: ${error.message}` : String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    door,
    closing,
    send(id, bytes, sent = bytes, by = 'one') {
      const socket = connect(port, '127.0.0.1');
      const told = new Promise<string>((resolve, reject) => {
        socket.on('error', reject).once('data', (chunk) => resolve(String(chunk)));
      });
      const size = Buffer.byteLength(bytes);
      socket.write(
        `PUT /${id}/${size}/${sha256Of(bytes)}/${by} HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n${sent}`,
      );
      t.after(() => socket.destroy());
      return { socket, told };
    },
  };
}

test('nobody takes bytes that were announced a day ago, nor goes on with them', async (t) => {
  const node = await nodeScene(t, { artifactStore: tempFolder('artifacts') });
  const { wall } = node.engine.world.clock;
  const { id } = await begun(node, { bytes: 'hello' });
  const late = await doorway(t, node, { now: () => wall() + 24 * HOUR });
  assert.match(await late.send(id, 'hello').told, /NOT_FOUND/);
  const { createdAt } = (await node.engine.artifacts.pending(id)) ?? assert.fail();
  // All but a moment of its time is over.
  const last = await doorway(t, node, { now: () => createdAt + 23 * HOUR - 20 });
  assert.match(await last.send(id, 'hello', 'he').told, /INVALID_INPUT.*too long/);
  for (const now of [createdAt + 22 * HOUR, createdAt - 9000 * HOUR])
    assert.match(await (await doorway(t, node, { now: () => now })).send(id, 'hello').told, /taken/);
});

test('bytes that come again are a transfer as the first ones were: they count, and end when the node closes', async (t) => {
  const node = await nodeScene(t, { artifactStore: tempFolder('artifacts') });
  const { id } = await left(node, { bytes: 'hello' });
  const { door, closing, send } = await doorway(t, node, { most: 1 });
  const first = send(id, 'hello', 'he');
  for (let n = 0; n < 1000 && door.open === 0; n++) await new Promise((resolve) => setImmediate(resolve));
  assert.match(await send(id, 'hello').told, /TOO_MANY/);
  closing.abort();
  assert.match(await first.told, /STORE_UNAVAILABLE/);
  assert.equal(door.open, 0);
});

test('one worker takes no more than its share of the places', async (t) => {
  const node = await nodeScene(t, { artifactStore: tempFolder('artifacts') });
  const { id } = await left(node, { bytes: 'hello' });
  const { door, send } = await doorway(t, node, { most: 4, mostOfOne: 2 });
  const slow = [send(id, 'hello', 'he', 'loud'), send(id, 'hello', 'he', 'loud')];
  for (let n = 0; n < 1000 && door.open < 2; n++) await new Promise((resolve) => setImmediate(resolve));
  assert.match(await send(id, 'hello', 'hello', 'loud').told, /TOO_MANY.*this worker/);
  assert.match(await send(id, 'hello', 'hello', 'quiet').told, /taken$/);
  for (const { socket } of slow) socket.write('llo');
  for (const { told } of slow) assert.match(await told, /taken$/);
  assert.match(await send(id, 'hello', 'hello', 'loud').told, /taken$/);
});
