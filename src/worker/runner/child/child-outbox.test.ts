import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { logCost, MAX_LOG_BYTES, STREAMS, type Stream } from '../../../core/task/log.ts';
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

const said = (run: number, stream: Stream, text: string): ChildOutput & { readonly type: 'output' } => {
  return { type: 'output', run, lines: [STREAMS.indexOf(stream), text], cost: text.length + 64 };
};

test('every line leaves at once, and of the progress of a turn the first and the last value', async () => {
  const { outbox, sent } = outboxOf();
  outbox.begin(7);
  outbox.line('stdout', 'first');
  outbox.progress('0.1');
  outbox.progress('0.2');
  outbox.line('log', 'b');
  outbox.progress('0.3');
  const first = { type: 'output', run: 7, lines: [], cost: 0, progress: '0.1' };
  assert.deepEqual(sent, [said(7, 'stdout', 'first'), first, said(7, 'log', 'b')]);
  await nextTurn();
  assert.deepEqual(sent.slice(3), [{ ...first, progress: '0.3' }]);
});

test('beyond the window lines leave as well, so that they survive this process, and whoever can wait is told to', () => {
  const { outbox, texts, rooms } = outboxOf();
  outbox.begin(1);
  const fits = WINDOW / 1024;
  for (let i = 0; i < fits + 250; i++) outbox.line('stdout', KIB);
  assert.deepEqual([texts().length, outbox.full], [fits + 250, true]);
  outbox.acknowledge(1, WINDOW / 4);
  assert.deepEqual([outbox.full, rooms()], [true, 0]);
  outbox.acknowledge(1, WINDOW / 2);
  assert.deepEqual([outbox.full, rooms()], [false, 1]);
});

test('more than an attempt may log is dropped, and the worker learns how much before the handler has yielded', () => {
  const { outbox, sent, texts } = outboxOf();
  outbox.begin(1);
  const [text, n] = ['x'.repeat(1000), 12_000];
  for (let i = 0; i < n; i++) outbox.line('stdout', text);
  const kept = texts().length;
  assert.ok(kept * logCost(text) >= MAX_LOG_BYTES, `${kept} lines`);
  const told = (): number => sent.reduce((sum, { dropped }) => sum + (dropped?.[0] ?? 0), 0);
  assert.ok(told() > n - kept - 100, `${told()} of ${n - kept} were told of`);
  outbox.line('stdout', '');
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  assert.deepEqual([texts().length, told()], [kept, n + 1 - kept]);
  outbox.begin(2);
  outbox.line('stdout', 'of the next run');
  assert.equal(texts().length, kept + 1);
});

test('an acknowledgement of the run before opens no room in this one', () => {
  const { outbox } = outboxOf();
  outbox.begin(1);
  outbox.end({ ended: { kind: 'done', result: 1 }, littered: false });
  outbox.begin(2);
  for (let i = 0; i < WINDOW / 1024; i++) outbox.line('stdout', KIB);
  outbox.acknowledge(1, WINDOW);
  assert.equal(outbox.full, true);
});
