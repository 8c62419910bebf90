import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageReader } from './messages.ts';

const bytes = new TextEncoder();

test('messages are the same whatever pieces their bytes come in', () => {
  const text = 'id: 7\nevent: created\ndata: {"a":"ü€😀"}\n\n: still here\n\ndata: one\ndata: two\n\n';
  const whole = new MessageReader().read(bytes.encode(text));
  assert.deepEqual(whole, [{ id: '7', event: 'created', data: '{"a":"ü€😀"}' }, {}, { data: 'one\ntwo' }]);
  const reader = new MessageReader();
  const pieces = [...bytes.encode(text)].flatMap((byte) => reader.read(Uint8Array.of(byte)));
  assert.deepEqual(pieces, whole);
});

test('lines may end as they like, a field needs no value, and what is cut off is no message', () => {
  const reader = new MessageReader();
  assert.deepEqual(reader.read(bytes.encode('id:1\r\ndata: x\r\n\r\ndata\n\nretry: 5\n\nid: 2\ndata: half')), [
    { id: '1', data: 'x' },
    { data: '' },
    {},
  ]);
});
