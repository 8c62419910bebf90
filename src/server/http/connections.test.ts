import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { Connections, placeOf } from './connections.ts';

test('an address with as many connections as it may have is hung up on, until one of them ends', async (t) => {
  const server = createServer();
  new Connections(3).guard(server);
  server.on('connection', (socket) => socket.writable && socket.write('hello'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  /** `hello`, or nothing. */
  const dial = async (): Promise<{ socket: Socket; heard: string }> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    const heard = await new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(String(data)));
      socket.once('close', () => resolve(''));
    });
    return { socket, heard };
  };
  const three = [await dial(), await dial(), await dial()];
  assert.deepEqual(
    three.map(({ heard }) => heard),
    ['hello', 'hello', 'hello'],
  );
  assert.equal((await dial()).heard, '');
  three[1]?.socket.destroy();
  let again = '';
  while (again === '') again = (await dial()).heard;
  assert.equal((await dial()).heard, '');
});

test('addresses are counted each for itself, and those of one IPv6 network together', () => {
  const server = new EventEmitter();
  new Connections(2).guard(server as never);
  const come = (remoteAddress: string): boolean => {
    let cut = false;
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroy: () => (cut = true) });
    server.emit('connection', socket);
    return !cut;
  };
  assert.deepEqual([come('10.0.0.1'), come('::ffff:10.0.0.1'), come('10.0.0.1')], [true, true, false]);
  assert.deepEqual([come('2001:db8::1'), come('2001:db8:0:0:ffff::9'), come('2001:db8::2')], [true, true, false]);
  assert.equal(come('2001:db8:0:1::1'), true);
});

test('0 sets no bound', () => {
  const server = new EventEmitter();
  new Connections(0).guard(server as never);
  assert.equal(server.listenerCount('connection'), 0);
});

test('a place is an IPv4 address, or the network of an IPv6 one', () => {
  for (const [address, place] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['2001:0db8:85a3:0000:0000:8a2e:0370:7334', '2001:db8:85a3:0'],
    ['', ''],
  ] as const) {
    assert.equal(placeOf(address), place);
  }
});
