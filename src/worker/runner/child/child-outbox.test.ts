import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { logCost, MAX_LOG_BYTES, STREAMS } from '../../../core/task/log.ts';
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

test('what comes beyond the window waits, and all of it leaves with the end', () => {
  const { outbox, sent, texts } = outboxOf();
  outbox.begin(1);
  const fits = WINDOW / 1024;
  for (let i = 0; i < fits + 250; i++) outbox.line('stdout', KIB);
  assert.equal(outbox.full, true);
  assert.equal(texts().length, fits);
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  assert.equal(texts().length, fits + 250);
  assert.ok(sent.every(({ cost }) => cost <= 64 * 1024));
});

test('what waits leaves as the worker reads, in order, and then there is room', () => {
  const { outbox, texts, rooms } = outboxOf();
  outbox.begin(1);
  const fits = WINDOW / 1024;
  for (let i = 0; i < fits; i++) outbox.line('stdout', KIB);
  for (let i = 0; i < 100; i++) outbox.line('stdout', `${i}`);
  outbox.acknowledge(1, WINDOW / 4);
  assert.deepEqual(
    texts().slice(fits),
    Array.from({ length: 100 }, (_, i) => `${i}`),
  );
  assert.equal(rooms(), 0);
  outbox.acknowledge(1, WINDOW / 2);
  assert.equal(rooms(), 1);
});

test('more than an attempt may log is dropped, and the worker learns how much, after all that was kept', () => {
  const { outbox, sent } = outboxOf();
  outbox.begin(1);
  const [text, n] = ['x'.repeat(1000), 12_000];
  for (let i = 0; i < n; i++) outbox.line('stdout', text);
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  const kept = sent.reduce((sum, { lines }) => sum + lines.length / 2, 0);
  const told = sent.flatMap(({ dropped }) => (dropped === undefined ? [] : [dropped]));
  assert.ok(kept * logCost(text) >= MAX_LOG_BYTES, `${kept} lines`);
  assert.deepEqual(told, [[n - kept, (n - kept) * logCost(text)]]);
  assert.ok(sent.at(-1)?.dropped !== undefined);
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
