import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { STREAMS } from '../../../core/task/log.ts';
import { ChildOutbox } from './child-outbox.ts';
import { WINDOW } from './flow-control.ts';
import type { ChildOutput, FromChild } from './messages.ts';

function outboxOf(): { outbox: ChildOutbox; sent: ChildOutput[]; texts: () => readonly string[]; rooms: () => number } {
  const sent: ChildOutput[] = [];
  let rooms = 0;
  const outbox = new ChildOutbox(
    (message: FromChild) => sent.push(message as ChildOutput),
    () => rooms++,
  );
  const texts = (): readonly string[] => sent.flatMap(({ lines }) => lines.filter((part) => typeof part === 'string'));
  return { outbox, sent, texts, rooms: () => rooms };
}

const KIB = 'x'.repeat(1024 - 64);

test('the first words of a turn leave at once, and what follows in it is one message, in order', async () => {
  const { outbox, sent } = outboxOf();
  outbox.begin(7);
  outbox.line('stdout', 'first');
  assert.equal(sent.length, 1, 'a handler that blocks from here on was heard');
  outbox.line('stdout', 'a');
  outbox.progress('0.1');
  outbox.line('log', 'b');
  outbox.progress('0.2');
  assert.equal(sent.length, 1);
  await nextTurn();
  const lines = [STREAMS.indexOf('stdout'), 'a', STREAMS.indexOf('log'), 'b'];
  assert.deepEqual(sent.slice(1), [{ type: 'output', run: 7, lines, cost: 2 + 2 * 64, progress: '0.2' }]);
});

test('the outcome carries what was said last', () => {
  const { outbox, sent } = outboxOf();
  outbox.begin(1);
  outbox.line('log', 'a');
  outbox.line('log', 'b');
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  assert.equal(sent.length, 2);
  assert.deepEqual(sent[1]?.lines, [STREAMS.indexOf('log'), 'b']);
});

test('a handler that never yields sends as it goes, and gathers no more than a batch', () => {
  const { outbox, sent } = outboxOf();
  outbox.begin(1);
  for (let i = 0; i < 640; i++) outbox.line('stdout', KIB);
  assert.equal(sent.length, 10);
});

test('what comes beyond the window is dropped, and a line says how much', () => {
  const { outbox, texts } = outboxOf();
  outbox.begin(1);
  const fits = WINDOW / 1024;
  for (let i = 0; i < fits + 25; i++) outbox.line('stdout', KIB);
  assert.equal(outbox.full, true);
  outbox.flush();
  assert.equal(texts().length, fits);
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  assert.deepEqual(texts().slice(fits), ['[… 25 lines dropped …]']);
});

test('lines are taken again when the worker has read half of the window, after a line that tells of the gap', async () => {
  const { outbox, texts, rooms } = outboxOf();
  outbox.begin(1);
  const fits = WINDOW / 1024;
  for (let i = 0; i < fits + 2; i++) outbox.line('stdout', KIB);
  outbox.acknowledge(1, WINDOW / 4);
  outbox.line('stdout', 'lost');
  assert.equal(rooms(), 0);
  outbox.acknowledge(1, WINDOW / 4);
  assert.equal(rooms(), 1);
  outbox.line('stdout', 'kept');
  await nextTurn();
  assert.deepEqual(texts().slice(fits), ['[… 3 lines dropped …]', 'kept']);
});

test('an acknowledgement of the run before opens no room in this one', () => {
  const { outbox, texts } = outboxOf();
  outbox.begin(1);
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  outbox.begin(2);
  outbox.acknowledge(1, WINDOW);
  for (let i = 0; i < WINDOW / 1024 + 1; i++) outbox.line('stdout', KIB);
  outbox.flush();
  assert.equal(texts().length, WINDOW / 1024);
});
